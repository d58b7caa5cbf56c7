"""
Places for new rows
===================

A map is fitted to some rows, and others come later. PCA projects them. MDS and t-SNE have no
formula for a new row, and are often said to be for the rows of the fit alone. But what they
minimise can be minimised for one more row, with all places of the fit held where they are: for a
row :math:`x` and a map :math:`z_1, \\dots, z_n`,

.. math:: \\min_z \\sum_i \\bigl( \\|x - x_i\\| - \\|z - z_i\\| \\bigr)^2
          \\quad \\text{(MDS)}, \\qquad
          \\min_z \\sum_i p_i \\log \\frac{p_i}{q_i(z)} \\quad \\text{(t-SNE)},

with :math:`p` and :math:`q` the affinities of :math:`x` and of its place to the rows of the fit.
Isomap is kernel PCA of distances along the data, and places a new row by the same formula, from its
shortest ways to the rows of the fit, which go through its neighbours. Do new rows come to lie where
they belong?
"""

# %%
# Digits that no fit has seen
# ---------------------------
# Four maps are fitted to 500 digits, and 250 others are placed. The class of a place is that of
# most of its ten nearest places of the fit. For rows of the fit the same is asked with the row
# itself left out.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from eigenlens import MDS, PCA, TSNE, Isomap
from eigenlens.measure import knn_accuracy

digits = load_digits()
X, X_new, y, y_new = train_test_split(
    digits.data / 16,
    digits.target,
    train_size=500,
    test_size=250,
    stratify=digits.target,
    random_state=0,
)


def named(places, new):
    """Return the share of rows whose class their neighbours name: of the fit, and of new ones."""
    together = np.concatenate([places, new]), np.concatenate([y, y_new])
    is_new = np.arange(len(y), len(y) + len(y_new))
    return (
        knn_accuracy(places, y, n_neighbors=10),
        knn_accuracy(*together, n_neighbors=10, held_out=is_new),
    )


models = {
    "PCA": PCA(2).fit(X),
    "MDS": MDS(random_state=0).fit(X),
    "Isomap": Isomap(n_neighbors=10).fit(X),
    "t-SNE": TSNE(random_state=0).fit(X),
}
places = {name: model.transform(X) for name, model in models.items()}
placed = {name: model.transform(X_new) for name, model in models.items()}
shares = {"64 pixels": named(X, X_new)}
shares |= {name: named(places[name], placed[name]) for name in models}
for name, (fitted, new) in shares.items():
    print(f"{name:9}: class named of {fitted:.0%} of the fit, of {new:.0%} of the new rows")

figure, panels = plt.subplots(2, 2, figsize=(8, 8), layout="constrained")
colours = plt.get_cmap("tab10").colors
for panel, name in zip(panels.flat, models, strict=True):
    for digit in range(10):
        panel.scatter(*places[name][y == digit].T, s=8, color=colours[digit], alpha=0.35, lw=0)
        new = placed[name][y_new == digit]
        panel.scatter(*new.T, s=26, color=colours[digit], marker=f"${digit}$", lw=0.3)
    panel.set(title=f"{name}: {shares[name][1]:.0%} of the new", xticks=[], yticks=[])

# %%
# Each map places new rows about as well as those that it was fitted to. By PCA a third of either is
# named wrongly, for want of room in the plane; by t-SNE about as few as from all 64 pixels.
#
# Where a row goes does not depend on which others come with it, and the map stays as it is. A row
# of the fit gets the place that it has: by PCA and Isomap to rounding, by MDS as nearly as the fit
# has come to its minimum. t-SNE, whose fit minimises something else, knows such a row again, and
# gives its place.

moved, drift = {}, {}
for name, model in models.items():
    size = np.abs(places[name]).max()
    alone = np.concatenate([model.transform(X_new[[i]]) for i in range(5)])
    moved[name] = np.abs(alone - placed[name][:5]).max() / size
    drift[name] = np.abs(places[name] - getattr(model, "embedding_", places[name])).max() / size
    print(
        f"{name:6}: alone or with others {moved[name]:.0e} apart, rows of the fit {drift[name]:.0e}"
    )

# %%
# Rows that do not belong
# -----------------------
# Negatives of the new digits, black for white, are no digits. In the 64 pixels they are about five
# times as far from the nearest row of the fit as the digits are. MDS keeps that: it puts all of
# them on a ring around the map, and each is further from its nearest place than any new digit. PCA
# projects them into the midst of the others. t-SNE puts most of them among digits as well: a row's
# affinities add up to one however far it is, so how far is what the map is not told. Whether a row
# belongs is to be asked of the row and not of its place.

strange = 1 - X_new


def to_nearest(A, B):
    """Return the distance of each row of A from the nearest of B."""
    return np.linalg.norm(A[:, None] - B, axis=2).min(axis=1)


away = {"64 pixels": (to_nearest(X_new, X), to_nearest(strange, X))}
figure, panels = plt.subplots(1, 4, figsize=(9.5, 2.9), layout="constrained")
for panel, (name, model) in zip(panels, models.items(), strict=True):
    negatives = model.transform(strange)
    away[name] = to_nearest(placed[name], places[name]), to_nearest(negatives, places[name])
    panel.scatter(*places[name].T, s=4, color="0.55", label="rows of the fit")
    panel.scatter(*negatives.T, s=10, color="#D55E00", marker="x", lw=0.8, label="negatives")
    panel.set(title=name, xticks=[], yticks=[], aspect="equal", adjustable="datalim")
figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=2)
for name, (ours, theirs) in away.items():
    print(
        f"{name:9}: negatives are {np.median(theirs) / np.median(ours):.1f} times as far from the"
        f" nearest, {np.mean(theirs > ours.max()):.0%} of them further than any new digit"
    )
plt.show()
