"""
Covariance by hand, with holes and with large means
===================================================

The covariance of two columns of :math:`n` rows is the mean product of their distances from their
means, the correlation is the same in units of the deviations:

.. math::

    c_{xy} = \\frac{1}{n - 1} \\sum_i (x_i - \\bar x)(y_i - \\bar y), \\qquad
    r_{xy} = \\frac{c_{xy}}{\\sqrt{c_{xx} \\, c_{yy}}}.

With :math:`n - 1` it is right on average over samples, with :math:`n` too small by one part in
:math:`n`, because the means were fitted to the same rows. It is done here by plain sums, by
``numpy`` and by eigenlens, and then where it is harder: entries are missing, or means are far
larger than deviations.
"""

# %%
# A line with noise
# -----------------
# In :math:`y = 4 + 3x + e`, with :math:`x` and :math:`e` of variance 1, the covariance matrix is
# known: :math:`c_{xx} = 1`, :math:`c_{xy} = 3`, :math:`c_{yy} = 3^2 + 1 = 10`, and so the
# correlation is :math:`3 / \sqrt{10} \approx 0.95`. Three ways give the same numbers to the last
# digits, and they are as near to these as 100 rows come.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import correlation, covariance
from eigenlens.plot import EllipseDisplay

rng = np.random.default_rng(0)
n = 100
x = rng.standard_normal(n)
y = 4 + 3 * x + rng.standard_normal(n)


def sums(a, b):
    """Return the sum of products of the distances of two columns from their means."""
    return sum((a - sum(a) / len(a)) * (b - sum(b) / len(b)))


X = np.column_stack([x, y])
by_hand = np.array([[sums(a, b) / (n - 1) for b in (x, y)] for a in (x, y)])
r_by_hand = sums(x, y) / np.sqrt(sums(x, x) * sums(y, y))
C, R = covariance(X), correlation(X)
print(f"covariance by hand {by_hand[0, 1]:.6f}, numpy {np.cov(X.T)[0, 1]:.6f}, ours {C[0, 1]:.6f}")
print(f"correlation: {r_by_hand:.6f}, {np.corrcoef(X.T)[0, 1]:.6f}, {R[0, 1]:.6f}")
print(f"with 1/n: {covariance(X, ddof=0)[0, 1]:.6f}")

# %%
# The ellipse of the covariance has its axes along the eigenvectors, and the eigenvalues are the
# variances along them. The long axis is steeper than the line of least squares: it has the least
# squared distances at right angles to itself, the other line has the least along y.

figure, panel = plt.subplots(figsize=(4.6, 5.8), layout="constrained")
display = EllipseDisplay.from_data(X, names=["x", "y"], ax=panel)
panel.set_title("y = 4 + 3x + noise, and its covariance", loc="left")
long_axis = display.axes[0, 1] / display.axes[0, 0]
print(f"slope of the long axis {long_axis:.2f}, of least squares {C[0, 1] / C[0, 0]:.2f}")

# %%
# Holes
# -----
# NaN is an entry that nobody observed. ``numpy`` makes the whole row of the matrix NaN. Here every
# entry comes from the rows that have both columns: with a third of y missing, the variance of x
# is that of all rows, and the covariance that of the rows which are complete.

holes = X.copy()
holes[rng.permutation(n)[: n // 3], 1] = np.nan
complete = holes[~np.isnan(holes).any(axis=1)]
C_holes = covariance(holes)
print(
    f"{len(complete)} complete rows: covariance {C_holes[0, 1]:.3f}, numpy {np.cov(holes.T)[0, 1]}"
)

# %%
# Large means
# -----------
# Written out, the sum of products gives the formula of many textbooks,
# :math:`c_{xy} = \overline{xy} - \bar x \bar y`, which needs one pass over the rows. It is the
# difference of two numbers as large as the product of the means, each of them rounded. In single
# precision, with 7 digits, means of 1000 leave one or two of them, and means of 10 000 none:
# their product is near :math:`10^8`, where the numbers of single precision are 8 apart, and the
# answer should be 2.83.
#
# eigenlens takes provisional means off first, in one pass too, and is as right for means of ten
# million as for means of one. The truth here is that of the entries after rounding to single
# precision, in double precision.


def textbook(X):
    a, b = X.T
    return np.mean(a * b) - np.mean(a) * np.mean(b)


means = 10.0 ** np.arange(8)
shifted = [(X + mean).astype(np.float32) for mean in means]
truth = np.array([np.cov(table.T, dtype=np.float64, ddof=0)[0, 1] for table in shifted])
errors = {
    "textbook": np.abs(np.array([textbook(table) for table in shifted]) / truth - 1),
    "eigenlens": np.abs([covariance(table, ddof=0)[0, 1] for table in shifted] / truth - 1),
}
print(f"means of 1e4: textbook {textbook(shifted[4]):.2f}, truth {truth[4]:.2f}")
print(f"largest relative error of eigenlens: {errors['eigenlens'].max():.0e}")

figure, panel = plt.subplots(figsize=(7, 3.8), layout="constrained")
for (name, error), look in zip(errors.items(), ("s--", "o-"), strict=True):
    panel.loglog(means, np.maximum(error, 1e-9), look, label=name)  # some are exactly 0
panel.axhline(1, color="#5b6573", linewidth=0.8)
panel.text(1, 1.3, "nothing is right", va="bottom", color="#5b6573")
panel.set(xlabel="mean of the columns", ylabel="relative error", title="Single precision")
panel.legend()
plt.show()
