"""
The axes of a two-dimensional Gaussian
======================================

A thousand points are drawn from a Gaussian whose mean and covariance are known,

.. math::

    \\mu = (-1, 2), \\qquad \\Sigma = \\begin{pmatrix} 4 & 2 \\\\ 2 & 2 \\end{pmatrix}.

The eigenvalues of :math:`\\Sigma` are :math:`3 \\pm \\sqrt 5`, about 5.24 and 0.76, and the first
eigenvector has the slope :math:`(\\sqrt 5 - 1) / 2`, about 0.62. What does PCA find of this in the
points, what is lost when a point is reduced to a single number, and what happens when one of the
two variances is made much larger?
"""

# %%
# Mean, covariance and axes
# -------------------------
# The mean of the points and the covariance that a fit describes are as near to the true ones as a
# thousand points come. The first component has 88 % of their variance, where that of the Gaussian
# has :math:`(3 + \sqrt 5) / 6`, about 87 %.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, StandardScaler
from eigenlens.plot import EllipseDisplay

MEAN, COVARIANCE = np.array([-1.0, 2.0]), np.array([[4.0, 2.0], [2.0, 2.0]])


def gaussian(covariance, n=1000):
    """Return points of a Gaussian, of one and the same draw for all covariances."""
    draw = np.random.default_rng(0).standard_normal((n, 2))
    return MEAN + draw @ np.linalg.cholesky(covariance).T


X = gaussian(COVARIANCE)
pca = PCA().fit(X)
slope = pca.components_[0, 1] / pca.components_[0, 0]
print(f"mean {pca.mean_.round(2)}")
print(f"covariance {pca.get_covariance().round(2).tolist()}")
print(f"variances {pca.explained_variance_.round(2)}, slope of the first axis {slope:.2f}")
print(f"share of the first component {pca.explained_variance_ratio_[0]:.3f}")

# %%
# The arrows are the components, each as long as the deviation along it, and they are the axes of
# the ellipse of the covariance. The scores are the points in these axes: the mean is moved to the
# origin, the plane is turned, and what comes out is uncorrelated. Distances stay what they were.

scores = pca.transform(X)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
EllipseDisplay.from_data(X, names=["column 1", "column 2"], ax=left)
left.set_title("The points and their principal axes", loc="left")
right.plot(*scores.T, ".", color="#0072B2", markersize=4, alpha=0.5)
right.axhline(0, color="0.55", linewidth=0.8)
right.axvline(0, color="0.55", linewidth=0.8)
right.set_title("The same points in these axes", loc="left")
right.set(xlabel="score 1", ylabel="score 2")
right.set_aspect("equal", adjustable="datalim")
print(f"correlation of the scores {abs(np.corrcoef(scores.T)[0, 1]):.0e}")

# %%
# By hand
# -------
# A few lines of ``numpy`` do the same: centre, take the covariance, take its eigenvectors, put the
# largest eigenvalue first. The sign of an eigenvector is free, and eigenlens takes the one whose
# largest entry is positive. With this rule the two answers agree to rounding.


def pca_by_hand(X):
    """Return the variances and the components, as rows, from the eigenvectors of the covariance."""
    centred = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / (len(X) - 1))
    components = vectors[:, ::-1].T
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return values[::-1], components * signs[:, None]


variances, components = pca_by_hand(X)
by_hand = (X - X.mean(axis=0)) @ components.T
apart = {
    "variances": np.abs(variances - pca.explained_variance_).max(),
    "components": np.abs(components - pca.components_).max(),
    "scores": np.abs(by_hand - scores).max(),
}
print("apart by at most", {name: f"{size:.0e}" for name, size in apart.items()})

# %%
# One number for each point
# -------------------------
# With one component, a point is replaced by the foot of its perpendicular on the first axis,
#
# .. math:: \tilde x_i = \bar x + \bigl(v_1^\top (x_i - \bar x)\bigr) \, v_1,
#     \qquad x_i - \tilde x_i = \bigl(v_2^\top (x_i - \bar x)\bigr) \, v_2.
#
# What is left of the point is its second score. So the sum of squared errors over :math:`n - 1` is
# the variance of the second score, and that is the second eigenvalue, the one left out.
#
# For a line in any other direction the same holds with the variances along it and across it. They
# add up to the total, 6.1 in these points, as Pythagoras says of each of them. The line along which
# the variance is largest is therefore the one from which the points are least far.

restored = PCA(1).fit(X).inverse_transform(scores[:, :1])
squared_error = np.sum((X - restored) ** 2) / (len(X) - 1)
angles = np.radians(np.arange(181))
lines = np.array([np.cos(angles), np.sin(angles)])
normals = np.array([-np.sin(angles), np.cos(angles)])
along, across = (np.var(X @ directions, axis=0, ddof=1) for directions in (lines, normals))
first_angle = np.degrees(np.arctan(slope))
print(f"squared error {squared_error:.4f}, second variance {pca.explained_variance_[1]:.4f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for point, foot in zip(X[:80], restored[:80], strict=True):
    left.plot(*np.transpose([point, foot]), color="#E69F00", linewidth=1)
left.plot(*X[:80].T, ".", color="#0072B2", label="80 of the points")
left.plot(*restored[:80].T, ".", color="#D55E00", markersize=4, label="one component")
left.set(title="Feet of perpendiculars", xlabel="column 1", ylabel="column 2", aspect="equal")
left.legend(loc="upper left")
right.plot(np.degrees(angles), along, "--", color="#009E73", label="variance along the line")
right.plot(np.degrees(angles), across, color="#D55E00", label="squared error, across it")
right.axvline(first_angle, color="0.55", linewidth=1)
right.text(first_angle + 3, 2.8, "first\naxis", color="0.35")
right.set(title="Lines through the mean", xlabel="angle of the line, degrees")
right.set(ylabel="variance", xticks=range(0, 181, 30), ylim=(0, 7))
right.legend(loc="upper right", ncols=2, fontsize="small")

# %%
# One variance made larger
# ------------------------
# Now the variance of column 1 goes from 4 to 400, and the covariance of the two stays 2. The first
# axis turns to column 1, and its share, after a slight dip, rises to more than 99 %. It looks as if
# one number now said more of a point. But the squared error rises too, from 0.7 to 1.9, and 2 is
# all the variance that column 2 has. The share grew because the total did: what a share of the
# variance is worth depends on whose variance it is.
#
# Standardised columns tell it: of these, the first component has the share :math:`(1 + r) / 2` with
# the correlation :math:`r`, which falls from about 0.7 to 0.07. The share falls with it, to little
# more than one half: the two columns have next to nothing in common.

sizes = np.geomspace(4, 400, 9)
shares, standard, turned, errors = [], [], [], []
for size in sizes:
    points = gaussian([[size, 2], [2, 2]])
    model = PCA(1).fit(points)
    x, y = model.components_[0]
    left_over = points - model.inverse_transform(model.transform(points))
    turned.append(np.degrees(np.arctan2(y, x)))
    shares.append(model.explained_variance_ratio_[0])
    errors.append(np.sum(left_over**2) / (len(points) - 1))
    scaled = StandardScaler().fit_transform(points)
    standard.append(PCA(1).fit(scaled).explained_variance_ratio_[0])
for i in (0, -1):
    print(
        f"variance {sizes[i]:3.0f}: axis at {turned[i]:4.1f} degrees, share {shares[i]:.3f}"
        f" ({standard[i]:.3f} of standardised columns), squared error {errors[i]:.2f}"
    )

# %%
# The lines are what the eigenvalues and eigenvectors of the true covariance say, the dots are what
# PCA found.

half = np.hypot((sizes - 2) / 2, 2)  # between the mean of the eigenvalues and either of them
largest, smallest = (sizes + 2) / 2 + half, (sizes + 2) / 2 - half
expected_angle = np.degrees(np.arctan2(4, sizes - 2) / 2)
figure, panels = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
panels[0].semilogx(sizes, expected_angle, color="0.55")
panels[0].plot(sizes, turned, "o", color="#0072B2")
panels[0].set(title="Angle of the first axis", ylabel="degrees to column 1", ylim=(0, 35))
panels[1].semilogx(sizes, 100 * largest / (sizes + 2), color="0.55")
panels[1].plot(sizes, 100 * np.array(shares), "o", color="#0072B2", label="columns as they are")
panels[1].plot(sizes, 50 * (1 + np.sqrt(2 / sizes)), color="0.55")
panels[1].plot(sizes, 100 * np.array(standard), "D", color="#E69F00", label="standardised")
panels[1].set(title="Share of the first component", ylabel="% of the variance", ylim=(0, 105))
panels[1].legend(loc="lower left")
panels[2].semilogx(sizes, smallest, color="0.55")
panels[2].plot(sizes, errors, "o", color="#D55E00")
panels[2].axhline(2, color="0.55", linestyle=":")
panels[2].text(4, 2.05, "variance of column 2", va="bottom", color="0.35")
panels[2].set(title="What one component leaves", ylabel="squared error", ylim=(0, 2.6))
for panel in panels:
    panel.set_xlabel("variance of column 1")
plt.show()
