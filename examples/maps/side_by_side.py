"""
Seven maps of the same digits
=============================

No plane has room for all that is to be said of images with 64 pixels, so a map leaves something
out, and methods differ in what. Each minimises something of its own. With :math:`z_i` the place of
row :math:`x_i`:

- PCA, the part of the variance that is lost, and kernel PCA the same after a map :math:`\\phi`;
- MDS, the stress :math:`\\sum (|x_i - x_j| - |z_i - z_j|)^2`;
- Isomap, the error of inner products that stand for ways along the data;
- LLE (Roweis, Saul 2000), :math:`\\sum |z_i - \\sum_j w_{ij} z_j|^2`, with weights that put each
  row together from its neighbours;
- t-SNE, the divergence between neighbours in the table and in the plane;
- LDA, which is told the classes, the scatter within them for a given scatter in all.

LLE and LDA are those of scikit-learn. Is each the best at its own?
"""

# %%
# Seven maps
# ----------
# Of each: the share of the ten nearest neighbours that it keeps, the rank correlation of its
# distances with those in the table, and how often the ten nearest places name the class.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors

from eigenlens import MDS, PCA, TSNE, Isomap, KernelPCA
from eigenlens.measure import embedding_quality, neighbour_preservation, normalised_stress

K = 10  # neighbours
GAMMA = 0.2  # the kernel is about 0.4 for two images of one digit, and 0.15 for others
digits = load_digits()
X, y = digits.data[:500] / 16, digits.target[:500]

models = {
    "PCA": PCA(2),
    "kernel PCA": KernelPCA(2, kernel="rbf", gamma=GAMMA, random_state=0),
    "MDS": MDS(random_state=0),
    "Isomap": Isomap(n_neighbors=K, random_state=0),
    "LLE": LocallyLinearEmbedding(n_neighbors=K, eigen_solver="dense"),
    "t-SNE": TSNE(random_state=0),
    "LDA": LinearDiscriminantAnalysis(n_components=2),
}
places = {name: model.fit_transform(X, y) for name, model in models.items()}
quality = {name: embedding_quality(X, Z, y=y, n_neighbors=K) for name, Z in places.items()}
for name, kept in quality.items():
    print(
        f"{name:10}: neighbours kept {kept.neighbour_preservation:.2f},"
        f" distances {kept.shepard_correlation:.2f}, classes {kept.knn_accuracy:.2f}"
    )

figure, panels = plt.subplots(2, 4, figsize=(10, 5.6), layout="constrained")
colours = plt.get_cmap("tab10").colors
for panel, (name, Z) in zip(panels.flat, places.items(), strict=False):
    for digit in range(10):
        panel.scatter(*Z[y == digit].T, s=16, color=colours[digit], marker=f"${digit}$", lw=0.2)
    kept = quality[name]
    panel.set_title(name)
    panel.set_xlabel(
        f"neighbours {kept.neighbour_preservation:.2f}, distances {kept.shepard_correlation:.2f}"
        f"\nclasses {kept.knn_accuracy:.0%}"
    )
    panel.set(xticks=[], yticks=[])
framed = np.pad(X[:25].reshape(25, 8, 8), ((0, 0), (1, 1), (1, 1)))
panels[1, 3].imshow(framed.reshape(5, 5, 10, 10).swapaxes(1, 2).reshape(50, 50), cmap="gray_r")
panels[1, 3].set(title="25 of the 500 rows", xticks=[], yticks=[])

# %%
# t-SNE keeps most neighbours, and so most of the classes, though it was not told them; how far its
# clusters are from each other says little. MDS is best at distances. LLE has put all zeros onto one
# spot and the sixes far from the others: its condition is that places have a given variance, and
# one or two clusters far away provide it at little cost.
#
# Each at its own
# ---------------
# Each criterion is now computed for all maps. That of t-SNE depends on how large a map is drawn, so
# the share of neighbours that are kept stands for it. Three others are one formula: with :math:`U`
# an orthonormal basis of the centred places and :math:`G` a matrix of inner products, between rows,
# between rows in feature space, or between classes, the share of :math:`G` in the plane of
# :math:`U` is :math:`\operatorname{tr} U^\top G U`. It is divided by the most that any plane could
# have, so that 1 is the best.


def centred(G):
    return G - G.mean(axis=0) - G.mean(axis=1)[:, None] + G.mean()


def basis(Z):
    return np.linalg.qr(Z - Z.mean(axis=0))[0]


def share_of(G):
    most = np.linalg.eigvalsh(G)[-2:].sum()
    return lambda Z: np.trace(basis(Z).T @ G @ basis(Z)) / most


def missed(Z):
    """Return the share of the inner products that ways along the data stand for, and Z misses."""
    G, ZZ = centred(-(models["Isomap"].dist_matrix_ ** 2) / 2), centred(Z @ Z.T)
    return 1 - np.sum(G * ZZ) ** 2 / np.sum(G**2) / np.sum(ZZ**2)


near = NearestNeighbors(n_neighbors=K).fit(X).kneighbors(return_distance=False)
steps = X[near] - X[:, None]
products = steps @ steps.transpose(0, 2, 1)
ridge = 1e-3 * np.trace(products, axis1=1, axis2=2)[:, None, None]  # that of scikit-learn
weights = np.linalg.solve(products + ridge * np.eye(K), np.ones((len(X), K, 1)))
weights /= weights.sum(axis=1, keepdims=True)


def broken(Z):
    """Return how far places are from those put together from their neighbours, as rows were."""
    U = basis(Z) * np.sqrt(len(Z))
    return np.sqrt(np.mean((U - np.sum(weights * U[near], axis=1)) ** 2))


indicators = np.eye(10)[y] / np.sqrt(np.bincount(y))
largest_is_best = {
    "variance kept": share_of(centred(X @ X.T)),
    "variance of features kept": share_of(centred(rbf_kernel(X, gamma=GAMMA))),
    "neighbours kept": lambda Z: neighbour_preservation(X, Z, n_neighbors=K),
    "scatter between classes": share_of(centred(indicators @ indicators.T)),
}
smallest_is_best = {
    "stress": lambda Z: normalised_stress(X, Z),
    "ways along the data missed": missed,
    "error of local weights": broken,
}
table, goodness = {}, {}
for criteria, sign in ((largest_is_best, 1), (smallest_is_best, -1)):
    for what, criterion in criteria.items():
        table[what] = np.array([criterion(Z) for Z in places.values()])
        goodness[what] = np.argsort(np.argsort(sign * table[what]))  # 6 for the best of the seven
best = {what: list(places)[np.argmax(ranks)] for what, ranks in goodness.items()}
for what, row in table.items():
    print(f"{what:26}", *(f"{value:.3f}" for value in row), f" best: {best[what]}")

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.imshow(list(goodness.values()), cmap="Blues", vmax=9, aspect="auto")
for (i, j), value in np.ndenumerate(list(table.values())):
    is_best = list(places)[j] == best[list(table)[i]]
    ax.text(j, i, f"{value:.2f}", ha="center", va="center", weight="bold" if is_best else "normal")
ax.axhline(len(largest_is_best) - 0.5, color="black", linewidth=0.8)
ax.set_xticks(range(len(places)), places)
ax.set_yticks(range(len(table)), table)
ax.set_title("Above the line large numbers are good, below it small ones")

# %%
# Six of the seven methods are the best at their own. Kernel PCA is ahead of PCA in feature space
# and behind it in the table. MDS keeps distances best, and little more than half as many neighbours
# as t-SNE. LDA is the better of the two linear maps of the table and no more: LLE and t-SNE, which
# have not seen a class, have a larger share of their scatter between classes. A linear map to a
# plane is too stiff to keep ten classes apart. A map is to be judged by what it was made for, and
# chosen by what one asks.

plt.show()
