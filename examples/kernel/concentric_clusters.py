"""
Three rings, one inside the other
=================================

No line tells concentric rings apart, so no linear component does. A kernel
:math:`k(x, y) = \\phi(x)^\\top \\phi(y)` is an inner product after a map :math:`\\phi`, and kernel
PCA (Schoelkopf, Smola, Mueller 1998) is PCA of the points where that map takes them:

.. math:: \\max_{v} \\; \\sum_i \\bigl( v^\\top (\\phi(x_i) - \\bar\\phi) \\bigr)^2
          \\quad \\text{with} \\quad \\|v\\| = 1.

Only values of the kernel are needed, never the map. A kernel that is made for the question needs
fewer components than one that is good in general: here the question is how far a point is from the
middle, and one component answers it.
"""

# %%
# A plane above, a circle below
# -----------------------------
# Give each point :math:`(a, b)` a third coordinate, :math:`a^2 + b^2`. A plane across this
# paraboloid cuts off the inner ring. Seen from above, the cut is a circle.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenlens import PCA, KernelPCA
from eigenlens.plot import KernelComponentsDisplay, KernelLiftDisplay

rng = np.random.default_rng(0)
radii = np.array([1, 2.8, 5])
ring = np.repeat([0, 1, 2], 150)
angle = rng.uniform(0, 2 * np.pi, len(ring))
X = radii[ring, None] * np.column_stack([np.cos(angle), np.sin(angle)])
X += 0.25 * rng.standard_normal(X.shape)

lift = KernelLiftDisplay.from_data(X, np.where(ring == 0, "inner ring", "others"), names=["a", "b"])

# %%
# The kernel of the lift
# ----------------------
# The inner product of two lifted points is :math:`x^\top y + \|x\|^2 \|y\|^2`. Kernel PCA takes it
# as a function of two points, or as the matrix between all of them. The scores are the same.


def lifted_product(x, y):
    return x @ y + (x @ x) * (y @ y)


squares = np.sum(X**2, axis=1)
K = X @ X.T + np.outer(squares, squares)
from_matrix = KernelPCA(2, kernel="precomputed").fit_transform(K)
from_function = KernelPCA(2, kernel=lifted_product).fit_transform(X)
apart = np.abs(from_matrix - from_function).max()
print(f"scores by matrix and by function differ by {apart:.0e} at most")

# %%
# Four pairs of components
# ------------------------
# What is counted is the share of points that a linear classifier puts into their ring when it is
# shown two scores.


def separated(scores):
    lines = make_pipeline(StandardScaler(), LogisticRegression(C=1e4, max_iter=5000))
    return lines.fit(scores, ring).score(scores, ring)


broad = KernelPCA(2, kernel="rbf", gamma=1 / 5).fit(X)
scores = {
    "linear PCA": PCA(2).fit_transform(X),
    "rbf kernel, gamma = 1/2": KernelPCA(2, kernel="rbf", gamma=1 / 2).fit_transform(X),
    "rbf kernel, gamma = 1/5": broad.transform(X),
    "kernel of the lift": from_matrix,
}
shares = {name: separated(Z) for name, Z in scores.items()}
names = ("inner", "middle", "outer")
looks = list(zip(names, ("#0072B2", "#E69F00", "#009E73"), "oDs", strict=True))

figure, panels = plt.subplots(2, 2, figsize=(7.5, 7), layout="constrained")
for panel, (name, Z) in zip(panels.flat, scores.items(), strict=True):
    for r, (label, colour, marker) in enumerate(looks):
        panel.scatter(*Z[ring == r].T, s=9, color=colour, marker=marker, label=label)
    panel.set(title=f"{name}: {shares[name]:.0%} told apart", xticks=[], yticks=[])
    panel.set(xlabel="component 1", ylabel="component 2")
handles = panels[0, 0].get_legend_handles_labels()
figure.legend(*handles, title="ring", loc="outside lower center", ncols=3, markerscale=2)
for name, share in shares.items():
    print(f"{name}: {share:.0%} of the points are told apart")

# %%
# Linear PCA only turns the plane, and its lines do hardly better than a guess. The wider of the two
# Gaussian kernels tells all points apart. The narrower one does not: in these two scores the outer
# ring lies on top of the middle one. With the kernel of the lift the first component is the height
# on the paraboloid, up to a little tilt, and this number alone is enough:

firsts = [from_matrix[ring == r, 0] for r in range(3)]
for r in range(3):
    print(f"{names[r]} ring: first score from {firsts[r].min():.1f} to {firsts[r].max():.1f}")

# %%
# What the components look like
# -----------------------------
# Along a line of these maps all points have the same score. The lines of the first component of the
# wider Gaussian kernel close around the inner ring; the second says on which side a point is.

KernelComponentsDisplay.from_estimator(broad, X, np.take(names, ring), names=["a", "b"])
plt.show()
