"""
Where a new point goes
======================

A component of kernel PCA is a combination of the images of the points of the fit, so a new point
:math:`x_0` is placed by its kernel with those points, :math:`k_0`, and nothing else. Let :math:`K`
be the kernel between the points of the fit, :math:`M = \\frac{1}{n} 1 1^\\top` the operator that
takes means, and :math:`U D^2 U^\\top` the centred kernel :math:`(I - M) K (I - M)` by its
eigenvectors. Then

.. math:: z_0 = A \\, (I - M) \\Bigl( k_0 - \\tfrac{1}{n} K 1 \\Bigr), \\qquad A = D^{-1} U^\\top.

Two means are taken off: :math:`\\frac{1}{n} K 1` is the product of the mean of the fit, in the
feature space, with each of its points, and :math:`I - M` takes the mean off the points themselves.
Both are means of the points of the fit: the new ones, of which there may be only one, do not come
in (Schoelkopf, Smola, Mueller 1998).
"""

# %%
# The formula by hand
# -------------------
# Three rings are the fit. The formula is a few lines, with an eigenvalue problem in the middle.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier

from eigenlens import KernelPCA

GAMMA = 1 / 5
rng = np.random.default_rng(0)


def rings(count):
    """Return points of three rings, and which ring each is from."""
    ring = np.repeat([0, 1, 2], count)
    angle = rng.uniform(0, 2 * np.pi, len(ring))
    X = np.take([1, 2.8, 5], ring)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + 0.25 * rng.standard_normal(X.shape), ring


X, ring = rings(150)
new, ring_of_new = rings(30)

n = len(X)
centring = np.eye(n) - 1 / n
K = rbf_kernel(X, X, gamma=GAMMA)
squares, U = np.linalg.eigh(centring @ K @ centring)
U, D = U[:, [-1, -2]], np.sqrt(squares[[-1, -2]])  # the largest first
A = (U / D).T
K_new = rbf_kernel(new, X, gamma=GAMMA).T  # a column k_0 for each new point
by_hand = (A @ centring @ (K_new - K.mean(axis=1, keepdims=True))).T

# %%
# ``transform`` does the same
# ---------------------------
# Eigenvectors have no sign of their own; those of the formula are turned the way of the model.

model = KernelPCA(2, kernel="rbf", gamma=GAMMA, eigen_solver="dense").fit(X)
placed = model.transform(new)
signs = np.sign(np.sum(U * model.eigenvectors_, axis=0))
difference = np.abs(signs * by_hand - placed).max()
print(f"by hand and by transform: scores differ by {difference:.0e} at most")

# %%
# New points of a ring fall where the points of this ring are: the nearest point of the fit, as seen
# in the two scores, tells the ring of each.

scores = model.transform(X)
nearest = KNeighborsClassifier(n_neighbors=1).fit(scores, ring)
right = nearest.score(placed, ring_of_new)
print(f"{right:.0%} of the new points are beside points of their ring")

# %%
# Without the means of the fit
# ----------------------------
# Two things go wrong easily. To leave the centring out shifts all new points, by the product of the
# mean with the components. To take off the mean of the new points, in place of that of the fit,
# makes the place of a point depend on its company. The thirty points of the
# inner ring, sent without the others, come to lie in the middle of the picture, on the wrong ring.

not_centred = signs * (A @ K_new).T
few = ring_of_new == 0
K_few = K_new[:, few]
own_mean = signs * (A @ centring @ (K_few - K_few.mean(axis=1, keepdims=True))).T
wrong = {
    "centring left out": (not_centred, ring_of_new),
    "their own mean": (own_mean, ring_of_new[few]),
}
ways = {"means of the fit": (placed, ring_of_new)} | wrong
rights = {way: nearest.score(Z, truth) for way, (Z, truth) in ways.items()}

figure, panels = plt.subplots(
    1, 3, figsize=(9, 3.8), sharex=True, sharey=True, layout="constrained"
)
colours = "#0072B2", "#E69F00", "#009E73"
for panel, (way, (Z, truth)) in zip(panels, ways.items(), strict=True):
    for r, name in enumerate(("inner ring", "middle ring", "outer ring")):
        panel.scatter(*scores[ring == r].T, s=8, color=colours[r], alpha=0.25, linewidths=0)
        look = {"s": 24, "color": colours[r], "edgecolors": "black", "linewidths": 0.6}
        panel.scatter(*Z[truth == r].T, label=name, **look)
    panel.set(title=f"{way}: {rights[way]:.0%}", xlabel="component 1", xticks=[], yticks=[])
    print(f"{way}: {rights[way]:.0%} beside their ring")
panels[0].set_ylabel("component 2")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()
