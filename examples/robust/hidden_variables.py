"""
Which variables are linked, given those nobody saw
==================================================

Two of several jointly Gaussian variables that are independent given all others have a zero in the
inverse of the covariance, the precision matrix :math:`\\Lambda`. Leave out some variables, and
those they act on seem linked, all with all: with observed variables :math:`o` and hidden ones
:math:`h`,

.. math:: \\Sigma_o^{-1} = \\underbrace{\\Lambda_o}_{\\text{sparse}}
   - \\underbrace{\\Lambda_{oh} \\, \\Lambda_h^{-1} \\, \\Lambda_{ho}}_{\\text{low rank}}

(the Schur complement). The rank of the second part is the number of hidden variables, and the first
has the true links (Chandrasekaran, Parrilo, Willsky 2012). Robust PCA takes the two apart.
"""

# %%
# The model
# ---------
# Fifty variables on a ring, each linked to its neighbours, and two hidden ones that act on all.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import RobustPCA

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
print(f"{np.count_nonzero(precision[pairs])} pairs are not zero, {sum(linked)} are linked")
print(f"its parts: {model.rank_} hidden variables, links exactly right: {exact}")

parts = {
    "precision": scaled(precision),
    "links: sparse": model.sparse_,
    "hidden: low rank": model.low_rank_,
}
figure, panels = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained")
for panel, (title, part) in zip(panels, parts.items(), strict=True):
    drawn = panel.imshow(part, cmap="PuOr_r", vmin=-0.3, vmax=0.3)
    panel.set(title=title, xticks=[], yticks=[], xlabel="observed variables")
figure.colorbar(drawn, ax=panels, shrink=0.8, extend="both")

# %%
# With samples
# ------------
# The inverse of a sample covariance has noise in all entries, of deviation :math:`1 / \sqrt{n}` for
# :math:`n` samples once the diagonal is 1. A pair counts as linked if it is beyond four of these.
# The precision as it is calls far too many pairs linked: each test is right, and what it finds is
# the hidden variables.

factor = np.linalg.cholesky(np.linalg.inv(precision))
table = rng.standard_normal((SAMPLES, OBSERVED)) @ factor.T


def sample_precision(count):
    return scaled(np.linalg.inv(np.cov(table[:count], rowvar=False)))


def stand_out(rest, count=SAMPLES):
    """Return how many pairs stand out of the noise, and how many of these are linked."""
    beyond = np.abs(rest[pairs]) > 4 / np.sqrt(count)
    return int(sum(beyond)), int(sum(beyond & linked))


sample = sample_precision(SAMPLES)
noise = 1 / np.sqrt(SAMPLES)
free = RobustPCA(center=False, noise=noise, random_state=0).fit(sample)
given = RobustPCA(n_components=HIDDEN, center=False, random_state=0).fit(sample)
called = {
    "precision as it is": stand_out(sample),
    f"less rank {free.rank_}, found": stand_out(sample - free.low_rank_),
    f"less rank {given.rank_}, given": stand_out(sample - given.low_rank_),
}
for name, (beyond, right) in called.items():
    print(f"{name}: {beyond} pairs stand out, {right} of {sum(linked)} links")

# %%
# How many samples
# ----------------
# With 500 samples about two thirds of the links stand out, with 1000 about nine of ten, and with
# 5000 all of them; hardly any pair that is not linked.

fewer = {}
for count in (500, 1000, 5000):
    sample = sample_precision(count)
    fit = RobustPCA(n_components=HIDDEN, center=False, random_state=0).fit(sample)
    fewer[count] = stand_out(sample - fit.low_rank_, count)
    print(f"{count} samples: {fewer[count][0]} pairs stand out, {fewer[count][1]} of them linked")

bars = called | {f"the same, {count} samples": found for count, found in fewer.items()}
beyond, right = np.transpose(list(bars.values()))
figure, axis = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
axis.barh(list(bars), right, color="#0072B2", label="linked")
axis.barh(list(bars), beyond - right, left=right, color="#E69F00", label="not linked")
axis.axvline(sum(linked), color="black", linestyle="--", linewidth=1, label="all links")
axis.invert_yaxis()
axis.set(xlabel="pairs that stand out of the noise")
axis.legend(loc="lower right")

# %%
# What this is not
# ----------------
# It takes a sample precision apart, by least squares and absolute values. It does not maximise the
# likelihood, does not know that the sparse part is positive definite and the hidden one has no
# negative eigenvalue, and needs more samples than variables, or there is no inverse. The estimator
# of Chandrasekaran et al. does all that. With noise, the rank that is found is not the number of
# hidden variables either.

plt.show()
