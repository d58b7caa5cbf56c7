"""
Monomials are almost the same column
====================================

A polynomial in two variables is fitted through a design matrix: a column of ones and the monomials
:math:`x^i y^j`. Its correlation matrix

.. math:: R_{jk} = \\frac{C_{jk}}{\\sqrt{C_{jj} \\, C_{kk}}}

shows two things that go wrong with it. The column of ones has no variance, so that its row of
:math:`R` is 0/0. And the other columns rise together: the matrix is so near to singular that
coefficients computed from it are lost in double precision at a degree that looks harmless.
"""

# %%
# A column without variance
# -------------------------
# 1000 points, drawn evenly from the unit square, and all monomials up to degree 5. The covariance
# has zeros where the ones are, which is right. The correlation is undefined there: NaN.
# ``numpy.corrcoef`` warns of a division, twice, and does not say which column it was.
# :func:`eigenlens.correlation` names it, and says what to do.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.polynomial.polynomial import polyvander

from eigenlens import correlation, covariance
from eigenlens.plot import CorrelationDisplay


def exponents(degree):
    """Return all pairs of exponents whose sum is at most the degree."""
    return [(total - j, j) for total in range(degree + 1) for j in range(total + 1)]


def design(powers, degree):
    """Return the products of powers of x and of y; `powers` makes a table of those of one."""
    in_x, in_y = powers(x, degree), powers(y, degree)
    return np.column_stack([in_x[:, i] * in_y[:, j] for i, j in exponents(degree)])


def correlated(function, *table):
    """Return a correlation matrix, and what was said about it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return function(*table), [str(warning.message) for warning in said]


x, y = np.random.default_rng(0).uniform(size=(2, 1000))
X = design(polyvander, 5)
C = covariance(X)
R, ours = correlated(correlation, X)
R_numpy, theirs = correlated(np.corrcoef, X.T)
print(f"largest covariance with the ones: {np.abs(C[0]).max():g}, correlation: {R[0, 1]}")
print(f"numpy: {'; '.join(theirs)}")
print(f"eigenlens: {'; '.join(ours)}")

# %%
# Ones have a mean without rounding. A constant like 0.1 may not: ``numpy`` then finds a variance
# of about 1e-30, says nothing, and gives a correlation with :math:`x` that is rounding alone. In
# eigenlens a column that varies by no more than the rounding of its mean is constant.

tenth = np.column_stack([np.full(1000, 0.1), x])
of_rounding, silence = correlated(np.corrcoef, tenth.T)
of_constant, warned = correlated(correlation, tenth)
print(f"a column of 0.1 and x: numpy {of_rounding[0, 1]:.0e}, eigenlens {of_constant[0, 1]}")

# %%
# Columns that rise together
# --------------------------
# Without the ones, 20 columns are left. Powers of :math:`x` alone go together, and so do powers of
# :math:`y`; mixed ones go with both. Neighbours such as :math:`x^4` and :math:`x^5` are correlated
# by more than 0.99, and three eigenvalues of the twenty hold 95 % of their sum.

eigenvalues = np.linalg.eigvalsh(R[1:, 1:])[::-1]
share = np.cumsum(eigenvalues) / eigenvalues.sum()
print(f"largest correlation: {np.triu(R[1:, 1:], 1).max():.3f}")
print(f"three eigenvalues: {share[2]:.1%} of the sum, the last one: {eigenvalues[-1]:.0e}")

names = ["x" * i + "y" * j or "1" for i, j in exponents(5)]
display = CorrelationDisplay.from_data(X, names=names)
display.ax_.set_title("Correlation of monomials, xxy for $x^2 y$")

# %%
# How near to singular
# --------------------
# The ratio of the largest eigenvalue to the smallest is the condition: where coefficients are
# computed from correlations, an error of these may come back that many times larger. It is ten
# million at degree 5 and grows some 40 times with each degree: two degrees beyond the right end of
# the picture, double precision has nothing left. (A fit by QR or the SVD of the columns themselves
# has the root of it, and loses half as many digits.) This is a fault of the columns and not of
# polynomials. Products of Legendre polynomials span the same functions, and are uncorrelated but
# for the chance in where points lie: at degree 5 their condition is 2.


def condition(powers, degree):
    found = np.linalg.eigvalsh(correlation(design(powers, degree)[:, 1:]))  # without the ones
    return found[-1] / found[0]


def legendre(x, degree):
    return legvander(2 * x - 1, degree)  # they are orthogonal from -1 to 1


degrees = np.arange(2, 10)
conditions = {}
for name, powers in {"monomials": polyvander, "Legendre polynomials": legendre}.items():
    conditions[name] = [condition(powers, degree) for degree in degrees]
    print(f"condition at degree 5, {name}: {conditions[name][3]:.1e}")

figure, panel = plt.subplots(figsize=(7, 3.8), layout="constrained")
for (name, values), look in zip(conditions.items(), ("o-", "s--"), strict=True):
    panel.semilogy(degrees, values, look, label=name)
panel.axhline(1 / np.finfo(float).eps, color="#5b6573", linewidth=0.8)
panel.text(2, 1.5 / np.finfo(float).eps, "double precision ends", va="bottom", color="#5b6573")
panel.set(xlabel="degree", ylabel="condition of the correlation", ylim=(0.5, 1e18))
panel.legend(loc="center left")
plt.show()
