"""
What the news is about
======================

A hundred words, and which of them occur in each of many documents. A principal component weighs all
hundred words at once. A sparse one is a short list, which reads as a topic. As a penalty,

.. math:: \\min_{Y, D} \\; \\tfrac12 \\|X - Y D\\|^2 + \\alpha \\|D\\|_1
          \\quad \\text{with} \\quad \\|Y_k\\| \\le 1,

asks for components :math:`D` with few weights that still explain the table :math:`X`. Zhang,
d'Aspremont and El Ghaoui (2012) read topics of news off components that maximise a penalised
variance.
"""

# %%
# The table
# ---------
# Without further data, the documents are the docstrings of scikit-learn's classes. With
# ``EIGENLENS_DATA``, they are 16 242 postings to newsgroups (S. Roweis). All columns are 0 or 1, so
# none outweighs another by its units, and nothing is scaled: scaling would count a rare word as
# much as a common one.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, SparsePCA, datasets, sparse_path
from eigenlens.plot import LoadingsDisplay, SparsePathDisplay

table = datasets.news()
X, words = table.X, table.words
k = 20 if table.source == "news postings" else 10
print(f"{table.source}: {len(X)} documents, {len(words)} words, {X.mean():.1%} of the table is 1")

# %%
# Dense and sparse
# ----------------
# No loading of PCA is zero, so that each component is about everything. An l1 penalty of 2 leaves
# one loading in eighteen of the news, and one in twelve of the docstrings.

dense = PCA(k).fit(X)
sparse = SparsePCA(k, alpha=2).fit(X)
print(f"fewest words in a principal component: {(dense.components_ != 0).sum(axis=1).min()}")
print(f"loadings of sparse components that are not zero: {np.mean(sparse.components_ != 0):.1%}")

figure, panels = plt.subplots(2, figsize=(8, 4.6), layout="constrained", sharex=True)
for panel, name, model in zip(panels, ("PCA", "sparse PCA"), (dense, sparse), strict=True):
    shown = panel.imshow(model.components_, cmap="PuOr_r", vmin=-0.8, vmax=0.8, aspect="auto")
    panel.set(title=name, ylabel="component", yticks=[0, k - 1], yticklabels=[1, k])
panels[1].set(xlabel="word, in alphabetical order", xticks=[])
figure.colorbar(shown, ax=panels, label="loading")

# %%
# Topics
# ------
# The largest loading of a component is positive by convention, so the positive words are what it
# is about. Nobody asked for subjects, and they come out: computers, religion, sport and space in
# the news; parallel jobs, linear models, classifiers and random states in the docstrings. Other
# components are one or two common words. The four longest lists are drawn, with the heaviest words.

topics = [words[component > 0].tolist() for component in sparse.components_]
for number, topic in enumerate(topics, start=1):
    print(f"component {number}: {', '.join(topic)}")
longest = np.sort(np.argsort([-len(topic) for topic in topics], kind="stable")[:4])
LoadingsDisplay.from_estimator(sparse, names=words, components=tuple(longest), most=10)

# %%
# How sparse?
# -----------
# Along a path of penalties: the variance that is explained, against the number of loadings. Twenty
# single words explain 43 % of the variance of the news, and twenty components of a hundred words
# each 51 %. Docstrings have a vocabulary in common, and single words do less well: ten components
# with a fifth of the loadings explain seven tenths of what those of PCA do.

path = sparse_path(X, k)
SparsePathDisplay.from_path(path, dense=dense)
dense_share = dense.explained_variance_ratio_.sum()
few = np.flatnonzero(path.total_nonzero <= dense.components_.size / 4)[-1]
print(f"{path.total_nonzero[0]} loadings explain {path.total_ratio[0]:.1%} of the variance,")
print(f"{path.total_nonzero[few]} of them {path.total_ratio[few]:.1%},")
print(f"and all {dense.components_.size} of PCA {dense_share:.1%}")
plt.show()
