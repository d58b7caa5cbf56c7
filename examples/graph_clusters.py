"""
Clusters of a graph
===================

People who know each other within groups, and hardly anyone outside: with members of a group side by
side, the table of who knows whom is blocks of ones, and its rank is the number of groups. Missing
acquaintances within a group and stray ones across are errors in few places. Robust PCA finds the
blocks, whatever the order of people, and the groups can be read off. Their number is not asked for.

``--draw`` saves a picture (needs matplotlib)::

    python examples/graph_clusters.py --draw graph.png
"""

# %%
# The graph
# ---------
# Four groups in random order. One pair of ten is wrong: a link too many or one too few.

import argparse

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score

from eigenlens import RobustPCA

parser = argparse.ArgumentParser(description="Clusters of a graph by robust PCA.")
parser.add_argument("--draw", metavar="PICTURE", help="save a picture here")
options = parser.parse_args()

rng = np.random.default_rng(0)
groups = rng.permutation(np.repeat(range(4), [70, 55, 45, 30]))
n = len(groups)
blocks = (groups[:, None] == groups).astype(float)
wrong = np.triu(rng.random((n, n)) < 0.1, 1)
wrong |= wrong.T
graph = np.where(wrong, 1 - blocks, blocks)
print(f"{n} people, {np.triu(graph, 1).sum():.0f} links, {np.triu(wrong).sum()} pairs are wrong")

# %%
# The blocks
# ----------
# Each one counts as known to himself. Blocks have no mean to take off, hence ``center=False``.

model = RobustPCA(center=False, random_state=0).fit(graph)
linked = model.low_rank_ > 0.5
count, found = connected_components(linked)
print(f"rank {model.rank_}, {count} groups of {np.sort(np.bincount(found))[::-1]} people")
print(f"agreement with the truth (adjusted Rand index): {adjusted_rand_score(groups, found):.2f}")
missed = np.sum((model.sparse_ != 0) != wrong) // 2
print(f"pairs that are taken for wrong and are right, or the other way round: {missed}")

# %%
# Without the decomposition
# -------------------------
# In the graph itself everybody is linked with everybody by some chain of stray links.

print(f"connected parts of the graph as it is: {connected_components(graph)[0]}")

# %%
# How far it goes
# ---------------
# A small group among large ones is the first to be lost: its block is the smallest singular value,
# and the nearest to a sparse table.

for size in (20, 15, 10, 5):
    smaller = np.delete(np.arange(n), np.flatnonzero(groups == 3)[size:])
    fit = RobustPCA(center=False, random_state=0).fit(graph[np.ix_(smaller, smaller)])
    print(f"with {size} people in the smallest group: rank {fit.rank_}")

# %%
# The graph as it came, in the order of the groups that were found, and its two parts.

if options.draw:
    import matplotlib.pyplot as plt

    order = np.argsort(found, kind="stable")
    parts = {
        "graph": graph,
        "the same, in order": graph[np.ix_(order, order)],
        "low rank": model.low_rank_[np.ix_(order, order)],
        "sparse": model.sparse_[np.ix_(order, order)],
    }
    figure, panels = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained")
    for panel, (title, part) in zip(panels, parts.items(), strict=True):
        panel.imshow(part, cmap="RdBu_r", vmin=-1, vmax=1)
        panel.set(title=title, xticks=[], yticks=[])
    figure.savefig(options.draw, dpi=120)
