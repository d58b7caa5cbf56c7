"""What a change of the table does to a fitted model, as the mathematics says.

A change is ``X' = scale X[rows] C + 1 shift'``: rows in another order or repeated, columns mixed,
moved or added by C, all numbers multiplied, a row added to all. Each fitted attribute follows by
what it is: how many of its axes are rows or columns of X, the power of the unit that it has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compare import HOW_FOUND, difference, fitted
from .register import Shape, require
from .tables import without_a_way_back

__all__ = ["CHANGES", "Change", "Move", "assert_moved"]

POWERS = (1.0, 0.0, 0.5)  # of the unit, that what is learned of a table can have


@dataclass(frozen=True, slots=True)
class Move:
    """How an attribute follows a change of the table.

    Attributes
    ----------
    axes : str
        A letter for each axis: ``n`` rows of X, ``d`` its columns, ``k`` components, which may
        turn round with it; any other for what stays.
    degree : float or None
        The power of the scale that it is multiplied by. None: one of `POWERS`, as the method has
        it; what `inverse_transform` gives tells whether it is the right one.
    place : bool or None
        Whether its columns are places, to which a shift is added. None: as the method has it.
    copies : float
        The power of m that it is multiplied by if all rows are there m times.
    spread : float
        The power of variances with n - 1 in the denominator that it has, if all rows are there m
        times.
    """

    axes: str = ""
    degree: float | None = 0.0
    place: bool | None = False
    copies: float = 0.0
    spread: float = 0.0


MOVES: dict[str, Move] = {
    "transform": Move(".k", None),
    "inverse_transform": Move(".d", 1, place=True),
    "components_": Move("kd", None, None),
    "embedding_": Move("nk", None),
    "mean_": Move("d", 1, place=True),
    "var_": Move("d", 2),
    "explained_variance_": Move("", 2, spread=1),
    "projected_variance_": Move("", 2, spread=1),
    "total_variance_": Move("", 2, spread=1),
    "noise_variance_": Move("", 2, spread=1),
    "spectrum_": Move("", 2, spread=1),
    "singular_values_": Move("", 1, copies=0.5),
    "eigenvalues_": Move("", 2, copies=1),
    "eigenvectors_": Move("nk", copies=-0.5),
    "scores_": Move("nk", 1),
    "sparse_": Move("nd", 1),
    "noise_": Move("", 1),
    "labels_": Move("n"),
    "inertia_": Move("", 2, copies=1),
    "reconstruction_err_": Move("", 1, copies=0.5),
    "dist_matrix_": Move("nn", 1),
    "dissimilarity_matrix_": Move("nn", 1),
    "stress_": Move("", 2, copies=2),
    "n_samples_": Move("", copies=1),
    "n_samples_seen_": Move("", copies=1),
}
"""What follows a change: attributes, and what methods return. All other attributes stay."""

STAYS = Move()

ELSEWHERE: frozenset[str] = HOW_FOUND | {
    "error_",  # the history
    "n_steps_",  # how many it took
    "nbrs_",  # keeps the rows
    "n_features_in_",
}
"""Attributes that tell how an answer was found, and are not compared."""


@dataclass(frozen=True)
class Change:
    """One way to change a table.

    Attributes
    ----------
    rows : ndarray of int
    columns : ndarray of shape (d, at least d)
    scale : float
    shift : ndarray of shape (d,) or float
    turned : bool
        Whether columns are mixed, so that the rule for signs sees other numbers.
    """

    rows: NDArray
    columns: NDArray
    scale: float = 1.0
    shift: NDArray | float = 0.0
    turned: bool = False

    def table(self, X: NDArray) -> NDArray:
        """Return the table changed."""
        return self.new(X[self.rows])

    def new(self, X: NDArray) -> NDArray:
        """Return new rows as they are beside the changed table."""
        return self.scale * _mixed(X, self.columns) + self.shift

    def moved(self, value: Any, move: Move, n: int) -> Iterator[Any]:
        """Yield what the attribute of a fit to n rows may be after the change."""
        at = np.asarray(value)
        if at.dtype.kind not in "fiub":
            yield value
            return
        for axis, letter in enumerate(move.axes):
            if letter == "n" and at.shape[axis] == n:  # not where they are landmarks
                at = np.take(at, self.rows, axis=axis)
            elif letter == "d":
                at = np.moveaxis(_mixed(np.moveaxis(at, axis, -1), self.columns), -1, axis)
        m = len(self.rows) / n
        if m != 1:
            at = at * m**move.copies * (m * (n - 1) / (m * n - 1)) ** move.spread
        for degree in POWERS if move.degree is None and self.scale != 1 else (move.degree or 0.0,):
            scaled = at if self.scale == 1 else at * self.scale**degree
            if move.place is not False:
                yield scaled + self.shift
            if not move.place:
                yield scaled


def _mixed(rows: NDArray, columns: NDArray) -> NDArray:
    """Return ``rows @ columns``; without arithmetic where they only change places."""
    if not np.isin(columns, (0, 1)).all():
        return rows @ columns
    out = np.zeros((*rows.shape[:-1], columns.shape[1]), dtype=rows.dtype)
    source, target = columns.nonzero()
    out[..., target] = rows[..., source]
    return out


def shift(shape: Shape) -> Change:
    """Add a row to all rows."""
    n, d = shape
    return Change(np.arange(n), np.eye(d), shift=10 * np.random.default_rng(6).random(d))


def scale(shape: Shape, by: float = 3.0) -> Change:
    """Multiply all numbers."""
    return Change(np.arange(shape[0]), np.eye(shape[1]), scale=by)


def rotation(shape: Shape) -> Change:
    """Turn the rows."""
    n, d = shape
    Q = np.linalg.qr(np.random.default_rng(2).standard_normal((d, d)))[0]
    return Change(np.arange(n), Q, turned=True)


def row_order(shape: Shape) -> Change:
    """Put the rows in another order."""
    return Change(np.random.default_rng(3).permutation(shape[0]), np.eye(shape[1]))


def column_order(shape: Shape) -> Change:
    """Put the columns in another order."""
    n, d = shape
    return Change(np.arange(n), np.eye(d)[:, np.random.default_rng(4).permutation(d)])


def zero_columns(shape: Shape) -> Change:
    """Put columns of zeros before, between and behind the columns."""
    n, d = shape
    return Change(np.arange(n), np.insert(np.eye(d), [0, d // 2, d], 0.0, axis=1))


def repeated_rows(shape: Shape) -> Change:
    """Put the table below itself."""
    n, d = shape
    return Change(np.tile(np.arange(n), 2), np.eye(d))


CHANGES = {
    change.__name__: change
    for change in (shift, scale, rotation, row_order, column_order, zero_columns, repeated_rows)
}
"""The changes of a table by the claim that is named after each."""


def assert_moved(
    model: Any,
    other: Any,
    change: Change,
    tables: tuple[NDArray, NDArray],
    tolerance: float,
    *,
    moves: Mapping[str, Move] = MOVES,
    ignore: Collection[str] = (),
) -> None:
    """Raise unless `other`, fitted to a changed table, is `model` as the change moves it.

    Parameters
    ----------
    model, other : fitted estimators
    change : Change
    tables : (ndarray, ndarray)
        The table of `model`, and new rows.
    tolerance : float
        Relative to the largest entry of what is compared.
    moves : mapping
        How attributes, and what methods return, follow; others stay as they are.
    ignore : collection of str
        Attributes that the mathematics says more of than a :class:`Move` can.
    """
    X, new = tables
    scores, found = model.transform(new), other.transform(change.new(new))
    k, moved = scores.shape[1], found.shape[1]
    require(k == moved, f"the number of components is off by {abs(k - moved)}")
    signs = np.ones(k)
    if change.turned and hasattr(model, "components_"):
        signs = _signs(change.new(model.components_).T, other.components_.T)
    elif change.turned:
        signs = _signs(scores, found)

    def hold(name: str, before: Any, after: Any) -> None:
        move = moves.get(name, STAYS)
        if "k" in move.axes:
            after = after * (signs[:, None] if move.axes[0] == "k" else signs)
        apart = min(difference(want, after) for want in change.moved(before, move, len(X)))
        message = f"{name} is off by {apart:.1e} of its size, allowed {tolerance:.1e}"
        require(apart <= tolerance, message)

    hold("transform", scores, found)
    for name in fitted(model):
        if name not in ELSEWHERE and name not in ignore:
            hold(name, getattr(model, name), getattr(other, name))
    if hasattr(model, "inverse_transform"):
        with without_a_way_back():
            back = model.inverse_transform(scores), other.inverse_transform(found)
            hold("inverse_transform", *back)


def _signs(A: NDArray, B: NDArray) -> NDArray:
    """Return for each column 1, or -1 where those of A and B point away from each other."""
    return np.where(np.einsum("ij,ij->j", A, B) < 0, -1.0, 1.0)
