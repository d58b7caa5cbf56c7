"""
How many errors are too many
============================

Principal component pursuit takes a table apart into low rank and sparse, without being told the
rank, the number of errors or their places. Up to some rank and some share of errors it finds both
parts exactly, and beyond that it fails. The border is sharp: a phase transition, drawn here as in
figure 1 of Candes, Li, Ma and Wright (2011), whose tables have 400 rows where these have 60.

Give a path to save the picture, or none to see it (needs matplotlib)::

    python examples/phase_transition.py phase.png
"""

# %%
# What makes a table recoverable
# ------------------------------
# The singular vectors of the low-rank part must be spread out: mu is at least 1, and near it if
# every row and column has its share in every direction. A row with a direction of its own is as
# good as an error, and nothing in the rest of the table can say which of the two it is.

import sys

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import datasets
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
# Errors that agree in sign are no harder, and at this size easier. Holes are the easiest by far,
# because their places are known.

fractions = np.linspace(0.05, 0.55, 6)
titles = {
    "random": "errors, random signs",
    "coherent": "errors, signs of the table",
    "completion": "holes",
}
regions = {
    problem: recovery_region(
        n=60, ranks=fractions, densities=fractions, problem=problem, trials=1, random_state=0
    )
    for problem in titles
}
for problem, region in regions.items():
    print(f"{titles[problem]}: {region.recovered.mean():.0%} of the grid is recovered")

# %%
# Bright is recovered in every trial, dark in none; the line is half way.

figure, panels = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
for panel, region in zip(panels, regions.values(), strict=True):
    PhaseDiagramDisplay.from_region(region, bar=panel is panels[-1], ax=panel)
    panel.set(aspect="equal")
    panel.label_outer()
if len(sys.argv) == 2:
    figure.savefig(sys.argv[1], dpi=120)
else:
    plt.show()
