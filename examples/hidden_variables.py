"""
Which variables are linked, given those nobody saw
==================================================

Two variables that do not act on each other, given all others, have a zero in the inverse of the
covariance, the precision matrix. Leave out some variables, and those they act on seem linked, all
with all. The precision of the observed ones is then a sparse matrix, of true links, minus one of
low rank, whose rank is the number of hidden variables (Chandrasekaran, Parrilo, Willsky 2012).
Robust PCA takes the two apart.

``--draw`` saves a picture (needs matplotlib)::

    python examples/hidden_variables.py --draw precision.png
"""

# %%
# The model
# ---------
# Fifty variables on a ring, each linked to its neighbours, and two hidden ones that act on all.

import argparse

import numpy as np

from eigenlens import RobustPCA

parser = argparse.ArgumentParser(description="Links between variables, despite hidden ones.")
parser.add_argument("--draw", metavar="PICTURE", help="save a picture here")
options = parser.parse_args()

OBSERVED, HIDDEN, SAMPLES = 50, 2, 20_000
rng = np.random.default_rng(0)
ring = np.arange(OBSERVED), np.roll(np.arange(OBSERVED), 1)
strengths = rng.uniform(0.1, 0.3, OBSERVED) * rng.choice([-1, 1], OBSERVED)
links = np.eye(OBSERVED)
links[ring] = links[ring[::-1]] = strengths
paths = np.linalg.qr(rng.standard_normal((OBSERVED, HIDDEN)))[0]
hidden = 0.9 / np.linalg.norm(paths.T @ np.linalg.inv(links) @ paths, 2) * paths @ paths.T
precision = links - hidden
pairs = np.triu_indices(OBSERVED, 1)
linked = links[pairs] != 0


def scaled(matrix):
    """Return the matrix with ones on its diagonal: partial correlations, up to their sign."""
    root = np.sqrt(np.diag(matrix))
    return matrix / root / root[:, None]


# %%
# With the true precision
# -----------------------
# No entry of it is zero. Its sparse part has the links and the diagonal, and nothing else.

model = RobustPCA(center=False, random_state=0).fit(scaled(precision))
exact = np.array_equal(model.sparse_[pairs] != 0, linked)
print(
    f"true precision: {np.count_nonzero(precision[pairs])} pairs are not zero, {sum(linked)} linked"
)
print(f"its parts: {model.rank_} hidden variables, links exactly right: {exact}")

# %%
# With samples
# ------------
# The inverse of a sample covariance has noise in all entries, of deviation 1 / sqrt(samples) once
# the diagonal is 1. A pair counts as linked if it is beyond four of these. The precision as it is
# calls far too many pairs linked: each test is right, and what it finds is the hidden variables.

table = rng.multivariate_normal(np.zeros(OBSERVED), np.linalg.inv(precision), size=SAMPLES)


def sample_precision(count):
    return scaled(np.linalg.inv(np.cov(table[:count], rowvar=False)))


def report(name, rest, count=SAMPLES):
    """Print how many of the pairs that stand out of the noise are linked."""
    beyond = np.abs(rest[pairs]) > 4 / np.sqrt(count)
    print(f"{name}: {sum(beyond)} pairs stand out, {sum(beyond & linked)} of {sum(linked)} links")


sample = sample_precision(SAMPLES)
report("sample precision as it is", sample)
free = RobustPCA(center=False, noise=1 / np.sqrt(SAMPLES), random_state=0).fit(sample)
report(f"less a low-rank part of rank {free.rank_}, which was found", sample - free.low_rank_)
given = RobustPCA(n_components=HIDDEN, center=False, random_state=0).fit(sample)
report(f"less a low-rank part of rank {given.rank_}, which was given", sample - given.low_rank_)

# %%
# What this is not
# ----------------
# It takes a sample precision apart, by least squares and absolute values. It does not maximise the
# likelihood, does not know that the sparse part is positive definite and the hidden one too, and
# needs more samples than variables, or there is no inverse. The estimator of Chandrasekaran et al.
# does all that. With noise, the rank that is found is not the number of hidden variables either.

for count in (500, 1000, 5000):
    sample = sample_precision(count)
    fit = RobustPCA(n_components=HIDDEN, center=False, random_state=0).fit(sample)
    report(f"{count} samples", sample - fit.low_rank_, count)

# %%
# The true precision, and its two parts.

if options.draw:
    import matplotlib.pyplot as plt

    parts = {"precision": scaled(precision), "links": model.sparse_, "hidden": model.low_rank_}
    figure, panels = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
    for panel, (title, part) in zip(panels, parts.items(), strict=True):
        panel.imshow(part, cmap="RdBu_r", vmin=-0.3, vmax=0.3)
        panel.set(title=title, xticks=[], yticks=[])
    figure.savefig(options.draw, dpi=120)
