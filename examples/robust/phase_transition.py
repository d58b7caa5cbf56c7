"""
How many errors are too many
============================

Principal component pursuit takes a table apart into low rank and sparse, without being told the
rank, the number of errors or their places. Up to some rank and some share of errors it finds both
parts exactly, and beyond that it fails: a phase transition, which is the sharper the larger the
table. It is drawn here as in figure 1 of Candes, Li, Ma and Wright (2011), but coarsely: one table
of 40 rows for each of twenty places, where theirs have 400.

The problem that is solved for each table :math:`M` is

.. math:: \\min_{L, S} \\; \\|L\\|_* + \\lambda \\|S\\|_1 \\quad \\text{with} \\quad L + S = M,

which is convex, and has a solution on both sides of the border. What changes there is whether its
solution is the pair that the table was made of.
"""

# %%
# What makes a table recoverable
# ------------------------------
# The singular vectors of the low-rank part must be spread out. With :math:`U` those of the
# :math:`n` rows, and :math:`r` the rank,
#
# .. math:: \mu = \frac{n}{r} \max_i \|U^\top e_i\|^2
#
# is 1 if every row has the same share in the directions, and :math:`n / r` if a row has one of its
# own. The same is asked of the columns, and the rank that can be recovered is at least in
# proportion to :math:`n / (\mu \log^2 n)`. A row with a direction of its own is as good as an
# error, and nothing in the rest of the table can say which of the two it is.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import RobustPCA, datasets
from eigenlens.measure import incoherence, recovery_region
from eigenlens.plot import PhaseDiagramDisplay

L = datasets.planted_pursuit(60, 60, rank=3, random_state=0).low_rank
print(f"a random table of rank 3: mu = {incoherence(L).left:.1f} of its rows")
L[17] = np.eye(60)[5]
found = incoherence(L)
print(f"with one row of its own kind: mu = {found.left:.1f}, because of row {found.row}")

# %%
# The transition
# --------------
# Errors with random signs, errors with the signs of the low-rank part, and holes instead of errors.
# Where there are holes and no errors, a weight of 1 keeps the sparse part at zero. A table counts
# as recovered if its low-rank part is off by less than a thousandth, so that a looser tolerance
# than the usual one is enough.

ranks, densities = np.linspace(0.05, 0.35, 4), np.linspace(0.05, 0.45, 5)
titles = {
    "random": "errors, random signs",
    "coherent": "errors, signs of the table",
    "completion": "holes",
}
regions = {}
for problem, title in titles.items():
    pursuit = RobustPCA(lam=1 if problem == "completion" else "auto", center=False, tol=1e-4)
    regions[problem] = recovery_region(
        pursuit, n=40, ranks=ranks, densities=densities, problem=problem, trials=1, random_state=0
    )
    print(f"{title}: {regions[problem].recovered.mean():.0%} of the grid is recovered")

# %%
# Errors that agree in sign are no harder, and at this size easier. Holes are the easiest by far,
# because their places are known. In the picture, bright is recovered and dark is not; the line is
# half way between.

figure, panels = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for panel, region in zip(panels, regions.values(), strict=True):
    PhaseDiagramDisplay.from_region(region, bar=panel is panels[-1], ax=panel)
    panel.set(aspect="equal")
    panel.label_outer()
plt.show()
