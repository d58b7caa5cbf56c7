"""
Four ways to a sparse component
===============================

PCA can be asked for in more than one way, with the same answer. Ask for few weights as well, and
the answers part (Zou and Xue 2018). With :math:`C` the correlation matrix of a table :math:`X`:

- SCoTLASS (Jolliffe, Trendafilov, Uddin 2003) takes directions of most variance, each orthogonal to
  those before, and bounds the sum of their weights,

  .. math:: \\max_v \\; v^\\top C v \\quad \\text{with} \\quad \\|v\\|_2 = 1, \\; \\|v\\|_1 \\le t.

- l0 counts the weights instead, :math:`\\|v\\|_0 \\le n`.
- SPCA (Zou, Hastie, Tibshirani 2006) reconstructs the table from scores of few columns,

  .. math:: \\min_{A, B} \\; \\|X - X B A^\\top\\|^2 + \\alpha \\|B\\|_1 \\quad \\text{with} \\quad
            A^\\top A = I.

- The dictionary does so along directions of few columns, whatever the scores are,

  .. math:: \\min_{Y, D} \\; \\tfrac12 \\|X - Y D\\|^2 + \\alpha \\|D\\|_1
            \\quad \\text{with} \\quad \\|Y_k\\| \\le 1.

Which columns do they take, and what are these good for?
"""

# %%
# One component
# -------------
# Ten measures of the cell nuclei of 569 tumours, which scikit-learn carries. Single columns all
# have a variance of 1 in :math:`C`, so paths begin at two, and go to all ten. With the four goes
# what is often done by hand: the first principal component with its small weights set to zero.
#
# What components are good for can be asked in more than one way too. One is the variance of the
# scores. Another is how much of all columns a regression on the scores explains. Principal
# components have the most of both, and of both the same.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, SparsePCA, StandardScaler, correlation, datasets, sparse_path

cancer = datasets.breast_cancer()
columns = [name.removeprefix("mean ") for name in cancer.names[:10]]
X = StandardScaler().fit_transform(cancer.X[:, :10])
C = correlation(X)
pca = PCA(3).fit(X)
given = {"precomputed": True, "n_samples": len(X), "random_state": 0}
formulations = {"l0": "l0", "SCoTLASS": "scotlass", "dictionary": "l1", "SPCA": "elastic-net"}


def of_scores(V):
    """Return the variance of the scores; of each, what those before it do not explain."""
    return np.sum(np.diag(np.linalg.cholesky(V @ C @ V.T)) ** 2) / np.trace(C)


def of_regression(V):
    """Return the variance of all columns that a regression on the scores explains."""
    return np.trace(C @ V.T @ np.linalg.solve(V @ C @ V.T, V @ C)) / np.trace(C)


numbers = np.arange(2, 11)
single = {
    name: sparse_path(C, 1, formulation=way, n_nonzero=numbers, **given)
    for name, way in formulations.items()
}
proved = all(certificate.holds for certificate in single["l0"].certificates)
print(f"no other columns do better than those of l0: {proved}")

first = pca.components_[0]
rank = np.argsort(np.argsort(-np.abs(first)))
cut = np.where(rank < numbers[:, None], first, 0)[:, None]
cut /= np.linalg.norm(cut, axis=2, keepdims=True)
found = {name: path.components for name, path in single.items()} | {"PCA, cut": cut}

looks = {
    "l0": ("#0072B2", "o-"),
    "SCoTLASS": ("#E69F00", "s-"),
    "dictionary": ("#009E73", "v--"),
    "SPCA": ("#D55E00", "D-"),
    "PCA, cut": ("0.55", ".:"),
}
titles = {of_scores: "variance of the scores", of_regression: "explained by a regression"}
shares = {(name, what): np.array([*map(what, found[name])]) for name in found for what in titles}
figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for (name, what), share in shares.items():
    print(f"{name:10} {titles[what]:25}", *(f"{part:5.1%}" for part in share))
    colour, style = looks[name]
    panel = panels[list(titles).index(what)]
    panel.plot(numbers, 100 * share, style, color=colour, markersize=5, label=name)
    panel.set(title=titles[what], xlabel="columns in the component", ylabel="% of the variance")
panels[0].legend()

# %%
# On the left l0 is the highest: the best there is, as its certificate says. SPCA is the lowest. On
# the right SPCA is the highest, or within half a point of the component that was cut, and up to
# four columns l0 and SCoTLASS are the lowest. Each does well what it is made for.
#
# From five columns on SCoTLASS and the dictionary are one and the same. For a single component both
# ask for :math:`v \propto S(C v, \delta)`: all weights are shrunk by :math:`\delta`, and zero where
# nothing is left (Witten, Tibshirani, Hastie 2009). This costs variance. On the same columns, but
# with weights fitted again to these alone, SCoTLASS has all that l0 has, whatever the number.


def refitted(v):
    """Return the variance of the best direction in the same columns."""
    return np.linalg.eigvalsh(C[np.ix_(v != 0, v != 0)])[-1] / np.trace(C)


again = np.array([refitted(V[0]) for V in found["SCoTLASS"]])
print("SCoTLASS refitted, of l0:", *(f"{part:.1%}" for part in again / shares["l0", of_scores]))

# %%
# Three components
# ----------------
# With three columns each, the reason can be read. Radius, perimeter and area say nearly the same,
# so that their sum has a large variance: l0, SCoTLASS and the dictionary begin with them. To
# foretell the other columns one of the three is enough, and SPCA puts concave points beside it, and
# a little of concavity.
#
# Components of SCoTLASS are orthogonal, and still two of their scores correlate by 0.7. Scores of
# l0 are the least correlated, as each component is to add what those before do not explain.

models = {
    name: SparsePCA(3, formulation=way, n_nonzero=3, **given).fit(C)
    for name, way in formulations.items()
}
alike = {}
for name, model in models.items():
    V = model.components_
    S = V @ C @ V.T
    cosine, correlated = V @ V.T, S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    alike[name] = [np.abs(np.triu(R, 1)).max() for R in (cosine, correlated)]
    print(f"{name:10} cosines up to {alike[name][0]:.2f}, correlations up to {alike[name][1]:.2f}")

boards = {"PCA": pca} | models
figure, panels = plt.subplots(5, figsize=(7.5, 6), sharex=True, layout="constrained")
for panel, (name, model) in zip(panels, boards.items(), strict=True):
    shown = panel.imshow(model.components_, cmap="PuOr_r", vmin=-1, vmax=1, aspect="auto")
    panel.set(ylabel=name, yticks=range(3), yticklabels=[1, 2, 3], xticks=range(10))
panels[-1].set_xticklabels(columns, rotation=40, ha="right", rotation_mode="anchor")
figure.colorbar(shown, ax=panels, label="weight")

# %%
# Three components on their paths
# -------------------------------
# Paths of l0 and SCoTLASS go by numbers of columns; those of the others by penalties, which deal
# out columns as they like. (Orthogonal components with four or five columns each are hard to come
# by here, and are left out.) To the two questions comes that of the dictionary: how near rows are
# to sums of components, whatever the scores.


def of_span(V):
    """Return the variance of the projections of rows onto the span of the components."""
    return np.trace(np.linalg.solve(V @ V.T, V @ C @ V.T)) / np.trace(C)


titles[of_span] = "variance in the span"
alphas = np.geomspace(1000, 1, 7)
paths = {
    "l0": sparse_path(C, 3, formulation="l0", n_nonzero=numbers, **given),
    "SCoTLASS": sparse_path(C, 3, formulation="scotlass", n_nonzero=[2, 3, *range(6, 11)], **given),
    "dictionary": sparse_path(C, 3, **given),
    "SPCA": sparse_path(C, 3, formulation="elastic-net", alphas=alphas, tol=1e-4, **given),
}
dense = pca.explained_variance_ratio_.sum()
three = {}
figure, panels = plt.subplots(1, 3, figsize=(9, 4), sharey=True, layout="constrained")
for panel, (what, title) in zip(panels, titles.items(), strict=True):
    panel.axhline(100 * dense, color="0.55", linewidth=0.8, linestyle="--", label="PCA")
    for name, path in paths.items():
        three[name, what] = np.array([what(V) for V in path.components])
        colour, style = looks[name]
        share = 100 * three[name, what]
        panel.plot(path.total_nonzero, share, style, color=colour, markersize=4, label=name)
    panel.set(title=title, xlabel="nonzero weights", xlim=(0, 31), ylim=(25, 92))
panels[0].set_ylabel("% of the variance")
panels[-1].legend(loc="lower right")

# %%
# In the middle SPCA is ahead again: with eight weights its three scores explain as much as those of
# PCA with thirty, but for a point. On the right it is the dictionary from twelve weights on. With
# fourteen it comes within a point of PCA. There it is ahead of l0 on the left too, as it gives most
# of its weights to two components, where l0 had to deal them evenly.

plt.show()
