"""
PCA by the singular value decomposition
=======================================

Take the mean off every column of a table. What is left has a singular value decomposition, and its
first terms are the closest table of rank :math:`k` (Eckart, Young 1936):

.. math::

    X - 1 \\bar x^\\top = \\sum_j \\sigma_j u_j v_j^\\top, \\qquad
    \\min_{\\operatorname{rank} B \\le k} \\|X - 1 \\bar x^\\top - B\\|^2
    = \\sigma_{k+1}^2 + \\dots + \\sigma_d^2.

The :math:`v_j` are the principal components and the :math:`\\sigma_j u_j` the scores. In the plane
this is a line that is close to points, in space a plane. What is close, and why the mean comes off
first, is drawn here. The last part is on why not to go by the covariance.
"""

# %%
# A line close to points
# ----------------------
# Forty points lie along the diagonal, with noise of deviation 0.8 in both columns. Least squares
# looks for the line with the least squared errors in :math:`y`, at the given :math:`x`. PCA looks
# for the one with the least squared distances: neither column is there to explain the other.
#
# Each line wins by its own measure. Least squares takes all noise for noise in :math:`y`, and its
# line is too flat, of slope 0.7. With the columns exchanged it is too steep, of slope 1.3. The line
# of PCA is between the two, and has the slope of the diagonal.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA
from eigenlens.measure import largest_angle
from eigenlens.plot import PlaneDisplay, ScoresDisplay

rng = np.random.default_rng(2)
cloud = 1.5 * rng.standard_normal((40, 1)) + 0.8 * rng.standard_normal((40, 2))
x, y = cloud.T
mean, (direction,) = cloud.mean(axis=0), PCA(1).fit(cloud).components_
slopes = {
    "PCA": direction[1] / direction[0],
    "least squares": np.polyfit(x, y, 1)[0],
    "columns exchanged": 1 / np.polyfit(y, x, 1)[0],
}
vertical, perpendicular = {}, {}
for name, slope in slopes.items():
    errors = (y - mean[1]) - slope * (x - mean[0])
    vertical[name] = np.sum(errors**2)
    perpendicular[name] = vertical[name] / (1 + slope**2)
    print(
        f"{name:17}: slope {slope:.2f}, squared errors in y {vertical[name]:.1f},"
        f" squared distances {perpendicular[name]:.1f}"
    )

figure, panels = plt.subplots(1, 2, figsize=(9, 5), sharey=True, layout="constrained")
colours = {"least squares": "#E69F00", "PCA": "#0072B2"}
for panel, (name, colour) in zip(panels, colours.items(), strict=True):
    slope = slopes[name]
    normal = np.array([-slope, 1]) if name == "PCA" else np.array([0, 1])
    feet = cloud - np.outer((y - mean[1] - slope * (x - mean[0])) / (normal @ [-slope, 1]), normal)
    for point, foot in zip(cloud, feet, strict=True):
        panel.plot(*np.transpose([point, foot]), color=colour, linewidth=1)
    panel.axline(mean, slope=slope, color=colour, linewidth=2)
    panel.plot(*cloud.T, ".", color="black")
    panel.set(title=f"{name}: slope {slope:.2f}", xlabel="x", aspect="equal")
panels[0].set_ylabel("y")

# %%
# A plane close to points in space
# --------------------------------
# Two hundred points of a spiral, on a plane that is tilted in space, with noise of deviation 0.2 in
# all three directions. The plane of two components is within two degrees of the true one. The
# scores are the coordinates in it, and show the spiral as it is, up to a turn or a reflection.

turn = np.sort(rng.uniform(1, 4, 200)) * np.pi
spiral = turn[:, None] / 3 * np.column_stack([np.cos(turn), 0.6 * np.sin(turn)])
basis = np.array([[1, -1, 1], [1, 1, 0]]) / np.sqrt([[3], [2]])
points = [-4, 6, 9] + spiral @ basis + 0.2 * rng.standard_normal((200, 3))
part = np.repeat(["inner", "middle", "outer"], [70, 70, 60])
plane = PCA(2).fit(points)
off = np.degrees(largest_angle(plane.components_, basis))
print(f"plane of two components: {off:.1f} degrees off the true one")

figure = plt.figure(figsize=(9, 4.2), layout="constrained")
figure.get_layout_engine().set(wspace=0.15)
space, flat = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
PlaneDisplay.from_estimator(plane, points, part, names=["x", "y", "z"], ax=space)
ScoresDisplay.from_estimator(plane, points, part, ax=flat)
for panel in (space, flat):
    panel.get_legend().remove()
space.set_title("Points, and the closest plane", y=0.95)
flat.set(title="Coordinates in this plane", aspect="equal")
handles = flat.get_legend_handles_labels()
figure.legend(*handles, title="part of the spiral", loc="outside lower center", ncols=3)

# %%
# No table of rank two is closer
# ------------------------------
# The error of rank :math:`k` is the root of the sum of squares of the singular values left out.
# Here it is measured, and beside it stands what the singular values say.

full = PCA().fit(points)
centred = points - full.mean_
measured, expected = [], []
for k in range(4):
    V = full.components_[:k]
    measured.append(np.linalg.norm(centred - centred @ V.T @ V))
    expected.append(np.sqrt(np.sum(full.singular_values_[k:] ** 2)))
    print(f"rank {k}: error {measured[k]:.4f}, by singular values {expected[k]:.4f}")

# %%
# PCA and the decomposition by numpy give the same components and the same scores, to rounding, once
# each pair of vectors has the same sign: which it has, neither of them can say.

U, sigma, Vt = np.linalg.svd(centred, full_matrices=False)
signs = np.sign(np.sum(Vt * full.components_, axis=1))
apart = {
    "components": np.abs(signs[:, None] * Vt - full.components_).max(),
    "scores": np.abs(signs * U * sigma - full.transform(points)).max(),
}
for what, difference in apart.items():
    print(f"{what} by the SVD of numpy and by PCA: {difference:.0e} apart at most")

# %%
# The rows of a table of rank two lie on a plane through the origin, and of all tables with rows on
# one plane the closest is the projection onto it. So to try tables of rank two is to try planes.
# Ten thousand of them are drawn, half of them in any direction and half of them tilted by less than
# six degrees. None is closer.

normal = full.components_[2]
anywhere = rng.standard_normal((5000, 3))
nearby = normal + 0.02 * rng.standard_normal((5000, 3))
normals = np.concatenate([anywhere, nearby])
normals /= np.linalg.norm(normals, axis=1, keepdims=True)
tried = np.linalg.norm(centred @ normals.T, axis=0)
tilts = np.degrees(np.arccos(np.abs(normals @ normal)))
print(
    f"{np.sum(tried < measured[2])} of {len(tried)} planes are closer than that of two components"
)
print(f"tilted by less than six degrees: {np.sum(tilts < 6)}")

# %%
# The mean comes off first
# ------------------------
# Without centring, planes go through the origin and not through the mean. The first direction of
# the SVD then points to where the points are, and not along which they differ: here it is within a
# degree of the mean. What is left by two directions is about five times what the two of PCA leave,
# because one of them was spent on the mean.
#
# The mean need not be far off for this. The left picture below moves it away from the origin: at
# five units, which is less than the spiral is wide, the first direction is near it.

V = np.linalg.svd(points, full_matrices=False)[2]
to_mean = np.degrees(largest_angle(V[:1], full.mean_[None]))
uncentred = np.linalg.norm(points - points @ V[:2].T @ V[:2])
print(f"first direction without centring: {to_mean:.1f} degrees from the mean")
print(f"error of two: {uncentred:.1f} without centring, {measured[2]:.1f} with it")

distances = np.linspace(0, 30, 61)
towards = full.mean_ / np.linalg.norm(full.mean_)
to_axis, from_mean = [], []
for distance in distances:
    first = np.linalg.svd(centred + distance * towards, full_matrices=False)[2][:1]
    to_axis.append(np.degrees(largest_angle(first, full.components_[:1])))
    from_mean.append(np.degrees(largest_angle(first, towards[None])))

# %%
# Why not by the covariance
# -------------------------
# The components are eigenvectors of the covariance too. But a product like :math:`X^\top X` squares
# the singular values, and what is below the root of the rounding, :math:`10^{-8}` of the largest
# one, is lost when :math:`1 + \sigma^2` is rounded to 1. The example is that of Laeuchli (1961),
# here stacked on its negative so that the mean is zero:
#
# .. math:: X = \begin{pmatrix} L \\ -L \end{pmatrix}, \qquad
#     L = \begin{pmatrix} 1 & 1 & 1 \\ e & & \\ & e & \\ & & e \end{pmatrix},
#     \qquad \sigma_2 = \sigma_3 = \sqrt 2 \, e.
#
# With :math:`e = 10^{-9}` nothing of the small singular values is right by the covariance, and at
# least five digits are by the SVD, which never forms the product. Both certificates hold, as they
# bound errors relative to the largest variance. ``svd_solver="auto"`` takes the SVD for tables as
# small as this one, and for tall ones the covariance, which takes less time: ask for ``"full"``
# where the smallest variances matter.


def laeuchli(e):
    half = np.vstack([np.ones(3), e * np.eye(3)])
    return np.vstack([half, -half])


sizes = 10.0 ** -np.arange(1, 13)
solvers = {"covariance_eigh": "s--", "full": "o-"}
small = {solver: [] for solver in solvers}
certified = {solver: [] for solver in solvers}
for e in sizes:
    for solver in solvers:
        model = PCA(svd_solver=solver).fit(laeuchli(e))
        small[solver].append(model.singular_values_[1:])
        certified[solver].append(model.certificate_.holds)
relative = {
    solver: np.abs(np.array(found) / (np.sqrt(2) * sizes[:, None]) - 1).max(axis=1)
    for solver, found in small.items()
}
chosen = [PCA.choose_solver(shape, 3) for shape in ((8, 3), (100_000, 3))]
for solver in solvers:
    print(f"e = 1e-9, {solver}: relative error {relative[solver][8]:.0e}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.plot(distances, to_axis, color="#0072B2", label="angle to the first component")
left.plot(distances, from_mean, "--", color="#D55E00", label="angle to the mean")
left.set(title="First direction without centring", xlabel="distance of the mean from the origin")
left.set(ylabel="degrees", ylim=(-3, 93))
left.legend(loc="center right")
for (solver, look), colour in zip(solvers.items(), ("#D55E00", "#0072B2"), strict=True):
    right.loglog(sizes, np.maximum(relative[solver], 1e-16), look, color=colour, label=solver)
right.set(title="Smallest singular values of Laeuchli's table", xlabel="e", ylabel="relative error")
right.invert_xaxis()
right.legend(title="svd_solver", loc="upper left")
plt.show()
