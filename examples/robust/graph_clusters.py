"""
Clusters of a graph
===================

People who know each other within groups, and hardly anyone outside: with members of a group side by
side, the table of who knows whom is blocks of ones, and its rank is the number of groups. Missing
acquaintances within a group and stray ones across are errors in few places. For the graph as a
table :math:`A` of 0 and 1, with ones on the diagonal, robust PCA

.. math:: \\min_{L, S} \\; \\|L\\|_* + \\lambda \\|S\\|_1 \\quad \\text{with} \\quad L + S = A

finds the blocks, whatever the order of people, and the groups can be read off. Their number is not
asked for (Chen, Jalali, Sanghavi, Xu 2014).
"""

# %%
# The graph
# ---------
# Four groups in random order. One pair of ten is wrong: a link too many or one too few.

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score

from eigenlens import RobustPCA

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
# The mean is a part of the blocks and not to be taken off, hence ``center=False``. What is above a
# half in the low-rank part is a link, and groups are what such links connect. Every pair that was
# wrong is found, and no other.

model = RobustPCA(center=False, random_state=0).fit(graph)
count, found = connected_components(model.low_rank_ > 0.5)
agreement = adjusted_rand_score(groups, found)
missed = np.sum((model.sparse_ != 0) != wrong) // 2
print(f"rank {model.rank_}, {count} groups of {np.sort(np.bincount(found))[::-1]} people")
print(f"agreement with the truth (adjusted Rand index): {agreement:.2f}")
print(f"pairs that are taken for wrong and are right, or the other way round: {missed}")

order = np.argsort(found, kind="stable")
parts = {
    "graph": graph,
    "in order of the groups": graph[np.ix_(order, order)],
    "low rank": model.low_rank_[np.ix_(order, order)],
    "sparse": model.sparse_[np.ix_(order, order)],
}
figure, panels = plt.subplots(1, 4, figsize=(9, 3.2), layout="constrained")
for panel, (title, part) in zip(panels, parts.items(), strict=True):
    drawn = panel.imshow(part, cmap="PuOr_r", vmin=-1, vmax=1)
    panel.set(title=title, xticks=[], yticks=[], xlabel="people")
panels[0].set_ylabel("people")
figure.colorbar(drawn, ax=panels, location="bottom", shrink=0.4, aspect=30, ticks=[-1, 0, 1])

# %%
# Without the decomposition
# -------------------------
# In the graph itself everybody is linked with everybody by some chain of stray links.

chains = connected_components(graph)[0]
print(f"connected parts of the graph as it is: {chains}")

# %%
# How far it goes
# ---------------
# A small group among large ones is the first to be lost: its block is the smallest singular value,
# and the nearest to a sparse table. Here 20 of its 30 members are enough and 15 are not: their
# links are then taken for stray ones, and three groups are left.

smaller = {}
for size in (20, 15, 10, 5):
    kept = np.delete(np.arange(n), np.flatnonzero(groups == 3)[size:])
    smaller[size] = RobustPCA(center=False, random_state=0).fit(graph[np.ix_(kept, kept)])
    print(f"with {size} people in the smallest group: rank {smaller[size].rank_}")
plt.show()
