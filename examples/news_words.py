"""
What the news is about
======================

A hundred words, and which of them occur in each of 16 242 postings to newsgroups. A principal
component weighs all hundred words at once; a sparse one is a short list, which reads as a topic.

The table (S. Roweis) is not part of this package. Save it as an ``.npz`` file with the arrays ``X``
(postings by words, 0 or 1) and ``words``, and give its path::

    python examples/news_words.py 20news_w100.npz
"""

# %%
# The table
# ---------
# All columns are 0 or 1, so none outweighs another by its units, and nothing is scaled: scaling
# would count a rare word as much as a common one.

import sys

import numpy as np

from eigenlens import PCA, SparsePCA, sparse_path

if len(sys.argv) != 2:
    sys.exit("Give the path of the table: python examples/news_words.py 20news_w100.npz")
with np.load(sys.argv[1]) as file:
    X, words = file["X"].astype(float), file["words"]
print(f"{X.shape[0]} postings, {X.shape[1]} words, {X.mean():.1%} of the table is not zero")

# %%
# Principal components
# --------------------
# No loading is zero, so that each component is about everything.

dense = PCA(n_components=20).fit(X)
print(f"words in each principal component: {np.count_nonzero(dense.components_, axis=1).min()}")

# %%
# Sparse components
# -----------------
# An l1 penalty of 2 leaves one loading in eighteen. The largest loading of a component is positive
# by convention, so the positive words are what it is about. Computers, religion, sport and space
# come out without being asked for; some components are a single common word.

sparse = SparsePCA(n_components=20, alpha=2).fit(X)
topics = [words[component > 0].tolist() for component in sparse.components_]
for number, topic in enumerate(topics, start=1):
    print(f"component {number}: {', '.join(topic)}")
print(f"nonzero loadings: {np.mean(sparse.components_ != 0):.1%}")

# %%
# How sparse?
# -----------
# Along a path of penalties: the variance that is explained, against the number of loadings. Twenty
# single words explain 43 % of the variance, twenty components of a hundred words each 51 %.

path = sparse_path(X, 20)
for count, share in zip(path.total_nonzero, path.total_ratio, strict=True):
    print(f"{count:4d} loadings explain {share:.1%} of the variance")
print(f"{dense.components_.size:4d} loadings explain {dense.explained_variance_ratio_.sum():.1%}")
