"""
Which kernel unrolls a twisted sheet
====================================

A sheet that is rolled up has two coordinates, of which one runs along the roll. Kernel PCA with the
Gaussian kernel is often said to unroll it. It does not, at any of the widths tried here. With a
wide kernel it is nearly linear PCA; for a narrow one all points beyond its width are equally far,
so that its first components are waves over the roll. A kernel that knows distances *along* the
sheet does. With :math:`D` the lengths of shortest ways from neighbour to neighbour, and :math:`J`
the centring,

.. math:: K = -\\tfrac{1}{2} \\, J D^2 J

(the square taken entry by entry) holds the inner products of the sheet laid out flat. Kernel PCA of
this matrix is Isomap (Tenenbaum, de Silva, Langford 2000).
"""

# %%
# Two sheets
# ----------
# The Swiss roll turns one and a half times, and its sides come near each other. The S is bent, but
# hides nothing from the side. The truth is the length along each of the curves.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import shortest_path
from sklearn.datasets import make_s_curve, make_swiss_roll
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import kneighbors_graph

from eigenlens import PCA, Isomap, KernelPCA

roll, t = make_swiss_roll(800, random_state=0)
along_roll = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2  # length of the spiral r = t
bent, along_bent = make_s_curve(800, random_state=0)
sheets = {"Swiss roll": (roll, along_roll), "S-curve": (bent, along_bent)}


def rbf_scores(X, gamma, n_components=2):
    model = KernelPCA(n_components, kernel="rbf", gamma=gamma, random_state=0)
    return model.fit_transform(X)


def geodesic_scores(X, n_neighbors=10):
    """Return the scores of kernel PCA for distances along the graph of neighbours."""
    graph = kneighbors_graph(X, n_neighbors, mode="distance")
    D = shortest_path(graph, directed=False)
    with warnings.catch_warnings(action="ignore"):  # some eigenvalues are a little below zero,
        model = KernelPCA(2, kernel="precomputed", eigen_solver="dense")  # ways not being straight
        return model.fit_transform(-(D**2) / 2)  # the model centres it


def told(scores, truth):
    """Return the largest correlation of a score with the truth, in absolute value."""
    return max(abs(np.corrcoef(column, truth)[0, 1]) for column in scores.T)


# %%
# Three kernels
# -------------
# A gamma of 0.04 is one that is often shown for the roll. Colours are the length along the sheet: a
# picture that unrolls it has them in order from one side to the other.

WIDTHS = {"Swiss roll": 0.04, "S-curve": 0.3}
figure, rows = plt.subplots(2, 4, figsize=(9.5, 5), layout="constrained")
found = {}
for row, (name, (X, along)) in zip(rows, sheets.items(), strict=True):
    gamma = WIDTHS[name]
    found[name] = {
        "linear PCA": PCA(2).fit_transform(X),
        f"rbf, gamma {gamma}": rbf_scores(X, gamma),
        "geodesic": geodesic_scores(X),
    }
    views = {f"{name}, from the side": X[:, [0, 2]]} | found[name]
    for panel, (title, points) in zip(row, views.items(), strict=True):
        panel.scatter(*points.T, s=5, c=along, cmap="cividis")
        panel.set(title=title, xticks=[], yticks=[])
        panel.title.set_fontsize("medium")
        if title in found[name]:
            panel.set_xlabel(f"correlation {told(points, along):.2f}")
    for title, scores in found[name].items():
        print(f"{name}, {title}: a score follows the sheet with {told(scores, along):.2f}")

# %%
# Only the geodesic kernel lays both sheets out flat. On the S-curve linear PCA is ahead of the
# Gaussian kernel, and both are far from useless; on the roll neither says where a point is.

# %%
# No width unrolls the roll
# -------------------------
# What two components of the Gaussian kernel do not show is still there. With enough of them a plane
# through the scores gives the length along the roll (predicted for rows that were left out): the
# kernel has made it linear, but has spread it over many components.

gammas = np.geomspace(0.001, 1, 7)
by_width = [told(rbf_scores(roll, gamma), along_roll) for gamma in gammas]
counts = np.array([2, 5, 10, 20, 30, 50])
many = rbf_scores(roll, 0.04, counts[-1])
by_count = []
for k in counts:
    predicted = cross_val_predict(LinearRegression(), many[:, :k], along_roll, cv=5)
    by_count.append(np.corrcoef(predicted, along_roll)[0, 1])
print(f"over all widths: {max(by_width):.2f} at most")
print(f"{counts[-2]} components, gamma 0.04: {by_count[-2]:.2f} by linear regression")

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True, layout="constrained")
left.semilogx(gammas, by_width, "o-", color="#0072B2")
left.set(title="the better of two scores", xlabel="gamma", ylabel="correlation with the length")
left.set_ylim(0, 1.04)
right.plot(counts, by_count, "s-", color="#D55E00")
right.set(title="a regression on many, gamma 0.04", xlabel="components")

# %%
# Isomap is kernel PCA
# --------------------
# ``Isomap`` finds neighbours and ways by itself, and does the rest in the same way.

isomap = Isomap(n_neighbors=10, n_components=2, random_state=0).fit_transform(roll)
geodesic = found["Swiss roll"]["geodesic"]
signs = np.sign(np.sum(isomap * geodesic, axis=0))
difference = np.abs(signs * isomap - geodesic).max() / np.abs(geodesic).max()
print(f"Isomap and kernel PCA of geodesic distances differ by {difference:.0e}")

# %%
# The choice is now that of the neighbours. With 12 in place of 10, three edges go through the air
# to the next turn, and the shortest ways take them.

straight, cut = told(geodesic, along_roll), told(geodesic_scores(roll, 12), along_roll)
print(f"with 12 neighbours the correlation falls from {straight:.2f} to {cut:.2f}")
plt.show()
