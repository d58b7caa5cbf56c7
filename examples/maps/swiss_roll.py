"""
A Swiss roll laid out flat
==========================

A sheet of paper is rolled up: a point with the angle :math:`t` and the height :math:`h` is at
:math:`(t \\cos t, h, t \\sin t)`. On the sheet it has the coordinates

.. math:: \\Bigl( \\int_0^t \\sqrt{1 + s^2} \\, ds, \\; h \\Bigr),

which are known here, so that a map can be held against the truth. PCA and MDS look at straight
distances, through the air. LLE and Isomap look at neighbours only, and from there along the sheet.
What do they find, and how can it go wrong?
"""

# %%
# Five maps of one sheet
# ----------------------
# How well a map knows the length along the roll is the correlation of that length with the best
# linear function of its two coordinates, and likewise for the height. Whether it also has the right
# distances along the sheet, its stress against the true coordinates says.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from sklearn.datasets import make_swiss_roll
from sklearn.linear_model import LinearRegression
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.neighbors import kneighbors_graph

from eigenlens import MDS, PCA, Isomap
from eigenlens.measure import normalised_stress

X, t = make_swiss_roll(800, random_state=0)
length = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
sheet = np.column_stack([length, X[:, 1]])


def known(Z):
    """Return the correlations of the true length and height with the best linear functions of Z."""
    told = LinearRegression().fit(Z, sheet).predict(Z)
    return np.array([np.corrcoef(told[:, j], sheet[:, j])[0, 1] for j in (0, 1)])


K = 10
models = {
    "PCA": PCA(2),
    "MDS": MDS(random_state=0),
    "LLE": LocallyLinearEmbedding(n_neighbors=K, eigen_solver="dense"),
    "modified LLE": LocallyLinearEmbedding(n_neighbors=K, method="modified", eigen_solver="dense"),
    "Isomap": Isomap(n_neighbors=K),
}
maps = {name: model.fit_transform(X) for name, model in models.items()}
truth = {name: known(Z) for name, Z in maps.items()}
stress = {name: normalised_stress(sheet, Z) for name, Z in maps.items()}
for name, (along, height) in truth.items():
    print(f"{name:12}: length {along:.2f}, height {height:.2f}, stress {stress[name]:.2f}")

figure, panels = plt.subplots(2, 3, figsize=(9, 5.4), layout="constrained")
for panel, (name, Z) in zip(panels.flat, {"the sheet": sheet, **maps}.items(), strict=True):
    drawn = panel.scatter(*Z.T, s=6, c=length, cmap="cividis")
    panel.set(title=name, xticks=[], yticks=[])
    if name in truth:
        panel.set_xlabel("length {:.2f}, height {:.2f}".format(*truth[name]))
panels[0, 0].set(xlabel="length", ylabel="height")
figure.colorbar(drawn, ax=panels, label="length along the roll", fraction=0.03)

# %%
# PCA and MDS press the turns of the roll onto each other. LLE (Roweis, Saul 2000) has the length
# and little of the height. Its modified form (Zhang, Wang 2006) has both, but not in one scale.
# Isomap has both, and the distances: it is the only one of the five that is made from ways along
# the sheet.
#
# One edge too many
# -----------------
# That a neighbour is near along the sheet is an assumption. With 11 neighbours in place of 10, one
# edge of some 5000 goes through the air, from one turn to the next. Many of the shortest ways take
# it, and the map is folded. The same graph without the edge gives the sheet back.

graph = kneighbors_graph(X, 11, mode="distance")
i, j = graph.nonzero()
stretch = np.linalg.norm(sheet[i] - sheet[j], axis=1) / graph.data
(cut,) = np.flatnonzero(stretch > 2)
folded = Isomap(n_neighbors=11).fit_transform(X)
mended = graph.copy()
mended.data[cut] = 0
mended.eliminate_zeros()
given = Isomap(metric="precomputed", n_neighbors=None, radius=np.inf)
healed = given.fit_transform(mended)
others = np.delete(stretch, cut).max()
print(f"along the sheet: {stretch[cut]:.0f} times as long as through the air, others {others:.2f}")
print("with it length {:.2f}, height {:.2f}".format(*known(folded)))
print("without it length {:.2f}, height {:.2f}".format(*known(healed)))

# %%
# How many neighbours are too many can be seen without the truth. The residual variance is the
# share of the variance of ways that distances in the map do not explain, and it leaps at 11. With
# too few, ways are crooked, which is seen in the height, and with 4 the graph falls into pieces.

try:
    Isomap(n_neighbors=4, disconnected="error").fit(X)
except ValueError as error:
    error_text = str(error)
    print(f"4 neighbours: {error_text}")

numbers = (5, 6, 8, 10, 11, 12, 16, 20)
tried = [Isomap(n_neighbors=k).fit(X) for k in numbers]
residual = np.array([model.residual_variance_ for model in tried])
heights = np.array([known(model.embedding_)[1] for model in tried])

figure, (side, fold, curve) = plt.subplots(1, 3, figsize=(10, 3.9), layout="constrained")
edges = X[:, [0, 2]][np.column_stack([i, j])]
side.add_collection(LineCollection(edges, color="0.75", linewidth=0.4, zorder=0))
side.plot(*edges[cut].T, color="#D55E00", linewidth=3)
side.set(title="the graph of 11 neighbours", xticks=[], yticks=[], aspect="equal")
for panel, points in ((side, X[:, [0, 2]]), (fold, folded)):
    panel.scatter(*points.T, s=6, c=length, cmap="cividis")
fold.set(title="Isomap with 11 neighbours", xticks=[], yticks=[])
fold.set_xlabel("length {:.2f}, height {:.2f}".format(*known(folded)))
curve.plot(numbers, heights, "o-", color="#0072B2", label="correlation with the height")
curve.plot(numbers, residual, "s--", color="#D55E00", label="residual variance")
curve.set(title="Isomap", xlabel="neighbours", xticks=[5, 8, 11, 16, 20])
figure.legend(*curve.get_legend_handles_labels(), loc="outside lower right", ncols=2)

# %%
# Landmarks
# ---------
# Ways between all pairs are more than a map of two dimensions needs. Ways from ten rows (landmarks:
# de Silva, Tenenbaum 2003) place all 800 about as well, and of 5000 rows they take 0.4 MB in place
# of 200.

counts = (3, 5, 10, 20, 50, 100)
by_landmarks = np.empty((3, len(counts)))
for (seed, c), _ in np.ndenumerate(by_landmarks):
    few = Isomap(n_neighbors=K, n_landmarks=counts[c], random_state=seed)
    by_landmarks[seed, c] = normalised_stress(sheet, few.fit_transform(X))
many, _ = make_swiss_roll(5000, random_state=0)
model = Isomap(n_neighbors=K, n_landmarks=10, random_state=0).fit(many)
print(f"ways from 10 of 5000 rows: {model.dist_matrix_.nbytes / 1e6:.1f} MB")

figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.semilogx(counts, by_landmarks.T, "o-", color="#0072B2", markersize=4, linewidth=1)
ax.axhline(stress["Isomap"], color="#D55E00", linestyle="--", label="ways between all rows")
ax.set_xticks(counts, counts)
ax.minorticks_off()
ax.set(xlabel="landmarks (three draws)", ylabel="stress against the sheet", ylim=(0, None))
ax.legend()
plt.show()
