"""
One wrong number
================

PCA looks for the direction :math:`v` of largest variance, and in a variance each row counts by its
square,

.. math:: \\max_{\\|v\\| = 1} \\; \\sum_i \\bigl((x_i - \\bar x)^\\top v\\bigr)^2.

One row that is far enough off outweighs all others together, so one wrong number can turn the first
component anywhere: its breakdown point is zero. ``RobustPCA`` counts errors by their size instead,
entry by entry (Candes, Li, Ma, Wright 2011) or row by row (Xu, Caramanis, Sanghavi 2010). An error
that is twice as large then pulls no harder.
"""

# %%
# In the plane
# ------------
# Sixty points along a line, with some noise, and one of them moved off by 10. PCA turns to the one
# point. The robust direction stays with the other 59, within a degree.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, RobustPCA, datasets
from eigenlens.measure import largest_angle

METHODS = {
    "PCA": PCA(n_components=1),
    "robust, entries": RobustPCA(random_state=0),
    "robust, rows": RobustPCA(outliers="rows", random_state=0),
}
COLOURS = dict(zip(METHODS, ("#D55E00", "#0072B2", "#009E73"), strict=True))
STYLES = dict(zip(METHODS, ("-", "-", "--"), strict=True))


def degrees_off(model, truth):
    """Return the angle between the first component and the true first direction."""
    return np.degrees(largest_angle(model.components_[:1], truth.components[:1]))


def with_outlier(truth, size, direction, row=7):
    X = truth.X.copy()
    X[row] += size * direction
    return X


line = datasets.planted_subspace(60, 2, rank=1, noise=0.1, random_state=0)
across = line.components[0, ::-1] * [-1, 1]
plane = with_outlier(line, 10, across)

figure, ax = plt.subplots(figsize=(6.5, 5), layout="constrained")
ax.scatter(*plane.T, s=18, color="0.55", label="rows, one of them moved")
in_plane = {}
for name, method in METHODS.items():
    model = method.fit(plane)
    in_plane[name] = degrees_off(model, line)
    print(f"{name}: {in_plane[name]:.1f} degrees off")
    ax.axline(
        model.mean_,
        model.mean_ + model.components_[0],
        color=COLOURS[name],
        linestyle=STYLES[name],
        label=f"{name}: {in_plane[name]:.1f} degrees off",
    )
ax.set(aspect="equal", xlabel="column 1", ylabel="column 2", title="One point of sixty is moved")
ax.legend()

# %%
# The larger, the worse
# ---------------------
# A table of 100 rows and 10 columns with one strong direction. First a single entry is made larger
# and larger, in the column that the direction uses least; then a whole row is moved off, at a right
# angle to the direction. The other entries have deviations of 0.1 to 0.6.

table = datasets.planted_subspace(100, 10, rank=1, noise=0.1, random_state=0)
first = table.components[0]
entry = np.eye(10)[np.argmin(np.abs(first))]
sideways = np.random.default_rng(1).standard_normal(10)
sideways -= (sideways @ first) * first
wrong = {"one entry": entry, "one row": sideways / np.linalg.norm(sideways)}

sizes = np.array([0, 1, 3, 5, 7, 10, 15, 30, 100, 1000])
angles = {
    what: {
        name: [degrees_off(method.fit(with_outlier(table, size, off)), table) for size in sizes]
        for name, method in METHODS.items()
    }
    for what, off in wrong.items()
}
for what, curves in angles.items():
    for name, curve in curves.items():
        print(
            f"{what}, {name}: {curve[0]:.1f} degrees off at first, {curve[-1]:.1f} at the end,"
            f" {np.ptp(curve):.1f} between the extremes"
        )

# %%
# The two lines at the bottom are flat: from no outlier at all to one of 1000. PCA holds on for a
# while, up to about 5, and is then lost. At the left end it is the best of the three: where nothing
# is wrong and noise is Gaussian, squares are the right measure, and robustness costs about one
# degree.

figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, (what, curves) in zip(panels, angles.items(), strict=True):
    for name, curve in curves.items():
        look = {"color": COLOURS[name], "linestyle": STYLES[name], "marker": ".", "label": name}
        ax.plot(sizes, curve, **look)
    ax.set_xscale("symlog", linthresh=1)
    ax.set(title=f"{what} is wrong", xlabel="size of the outlier", ylim=(-3, 93))
panels[0].set(ylabel="first component, degrees off")
panels[0].legend(loc="center left")
plt.show()
