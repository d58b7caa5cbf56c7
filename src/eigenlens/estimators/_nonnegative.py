"""What the non-negative factorisations share: parameters, checks, starts, and the way back."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._base import Estimator
from .._compat import Interval, StrOptions, check_array
from ..data.blocks import Blocks
from ..ops.finite import SPARSE_HOLES
from ..solvers.blocked import Blocked
from ..solvers.divergence import divergence, saturated
from ..solvers.nndsvd import FORMED, INITS, at_random, nndsvd
from ..solvers.nonnegative import encode
from ..solvers.parts import Parts, Penalty
from ..solvers.unit import Unit

__all__ = ["Factors", "Nonnegative"]

DENSE = 0.4  # share of cells filled from which a dense table is faster, and hardly larger
ZEROS = (
    "When beta_loss <= 0 and X contains zeros, the solver may diverge. Please add small values to "
    "X, or use a positive beta_loss."
)
BETA = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}


@dataclass(frozen=True, kw_only=True)
class Factors(Parts):
    """Codes and parts, and how well they fit; the last two for the Kullback-Leibler loss."""

    n_components: int
    reconstruction_err: float
    deviance: float | None
    log_likelihood: float | None


class Nonnegative(Estimator):
    """Base of methods that take X apart into parts that add up: codes W and parts H."""

    kind = "parts"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None, StrOptions({"auto"})],
        "init": [StrOptions({"random", "custom", *INITS}), None],
        "beta_loss": [StrOptions(set(BETA)), Real],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "alpha_W": [Interval(Real, 0, None, closed="left")],
        "alpha_H": [Interval(Real, 0, None, closed="left"), StrOptions({"same"})],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "verbose": ["verbose"],
    }

    _min_samples = 1

    n_components: int | str | None
    init: str | None
    beta_loss: str | float
    tol: float
    max_iter: int
    alpha_W: float
    alpha_H: float | Literal["same"]
    l1_ratio: float
    components_: NDArray
    n_components_: int
    n_iter_: int
    _codes: NDArray

    @property
    def _beta(self) -> float:
        """The exponent of the loss."""
        return float(BETA.get(self.beta_loss, self.beta_loss))  # type: ignore[arg-type]

    @property
    def _n_components(self) -> int:
        """The private name under which scikit-learn keeps `n_components_`."""
        return self.n_components_

    @property
    def _remedy(self) -> str:  # type: ignore[override]
        if self.n_iter_ < self.max_iter:
            return "It was stopped before that, by a callback or by the rule of its updates."
        return (
            f"Maximum number of iterations {self.max_iter} reached. Increase it to improve "
            "convergence."
        )

    def _check(self, X: Any, *, reset: bool, whole: bool = True, **rules: Any) -> Any:
        X = super()._check(X, reset=reset, whole=whole, **rules)
        if isinstance(X, Blocks):  # looked at by the first pass
            return X
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values = X.data if sparse.issparse(X) else X
        if values.size and np.fmin.reduce(values, axis=None) < 0:
            raise ValueError(self._where_negative(X))
        return X

    def _where_negative(self, X: Any) -> str:
        if isinstance(X, Blocks):
            shape, number, row, column, least = X.fold(_below_zero, combine=_first_below_zero)
        else:
            shape, number, row, column, least = _below_zero(X)
        return (
            f"Negative values in data passed to {type(self).__name__} (input X): {number} of "
            f"{shape[0] * shape[1]} entries, the first in row {row}, column {column}, the least "
            f"{least:g}. Parts add up, so X must not be below zero: set such entries to 0 if they "
            "are noise, shift the column if its zero is arbitrary, or use PCA or SparsePCA, which "
            "take any numbers."
        )

    # ------------------------------------------------------------------------------------ the fit

    def _table(self, X: Any) -> tuple[Any, NDArray | None]:
        """Return `X` as solvers take it, with zeros in its holes, and where it was observed."""
        square, observed = _square(X), None
        if np.isnan(square) and self._ensure_all_finite() == "allow-nan":
            X, observed = self._holes(X)
            square = _square(X)
        if not np.isfinite(square):
            self._explain_non_finite(X)
        if self._beta <= 0 and (X.min() == 0 if observed is None else (X == 0)[observed].any()):
            raise ValueError(ZEROS)
        if sparse.issparse(X) and X.nnz > DENSE * X.shape[0] * X.shape[1]:
            X = X.toarray()
        return (X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(X)), observed

    def _surveyed(self, X: Blocks) -> Blocked:
        """Return a table in blocks as solvers take it, after a pass that `_table` has no need of.

        A second, if it is sparse and hardly so, and a start needs the products of its columns.
        """
        wanted = self.init != "random" and len(X.names) <= FORMED
        found = Blocked.over(X, with_products=wanted)
        n, d = found.shape
        if n == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {d})) while a minimum of 1 is required "
                f"by {type(self).__name__}."
            )
        if found.negative:
            raise ValueError(self._where_negative(X))
        if not np.isfinite(found.square):
            self._explain_non_finite(X)
        if self._beta <= 0 and found.nonzero < n * d:
            raise ValueError(ZEROS)
        if found.sparse and found.filled > DENSE * n * d:
            return Blocked.over(X, with_products=wanted, dense=True)
        return found

    def _holes(self, X: Any) -> tuple[NDArray, NDArray]:
        """Return `X` with zeros for NaN, and where it has none."""
        if sparse.issparse(X):
            raise ValueError(SPARSE_HOLES)
        observed = ~np.isnan(X)
        return np.where(observed, X, X.dtype.type(0)), observed

    def _penalties(self, n: float, d: int) -> tuple[Penalty, Penalty]:
        """Return the penalties on W and H for n rows and d columns, in scikit-learn's units."""
        alpha_H = self.alpha_W if self.alpha_H == "same" else float(self.alpha_H)
        l1, l2 = self.l1_ratio, 1.0 - self.l1_ratio
        return (
            Penalty(d * self.alpha_W * l1, d * self.alpha_W * l2),
            Penalty(n * alpha_H * l1, n * alpha_H * l2),
        )

    def _on_codes(self) -> Penalty:
        """Return the penalty on the codes of new rows."""
        return self._penalties(0.0, self.n_features_in_)[0]

    def _n_parts(self, X: Any, H: NDArray | None) -> int:
        """Return how many parts are asked for; a start that is given may answer that."""
        if self.n_components == "auto" and self.init == "custom" and H is not None:
            return len(H)
        return X.shape[1] if self.n_components in (None, "auto") else int(self.n_components)

    def _start(
        self,
        X: Any,
        k: int,
        rng: np.random.Generator,
        W: Any,
        H: Any,
        weight: NDArray | None = None,
        observed: NDArray | None = None,
    ) -> tuple[Any, NDArray]:
        """Return W and H to begin with."""
        n, d = X.shape
        if self.init == "custom":
            H, W = (
                self._require_factor(A, shape, name)
                for name, A, shape in (("H", H, (k, d)), ("W", W, (n, k)))
            )
            for name, A in (("H", H), ("W", W)):
                if A.max() == 0:
                    raise ValueError(
                        f"Array passed to NMF (input {name}) is full of zeros, from which nothing "
                        "can grow. Give numbers above zero."
                    )
            if H.dtype != X.dtype or W.dtype != X.dtype:
                raise TypeError(
                    f"H and W should have the same dtype as X, {X.dtype}. Got H.dtype = {H.dtype} "
                    f"and W.dtype = {W.dtype}. Give both as {X.dtype}."
                )
            return W, H
        if W is not None or H is not None:
            warnings.warn(
                "When init!='custom', provided W or H are ignored. Set  init='custom' to use them "
                "as initialization.",
                RuntimeWarning,
                stacklevel=8,
            )
        # the draws of scikit-learn for the same seed
        draws = rng if self.random_state is None else check_random_state(self.random_state)
        if self.init == "random" or (self.init is None and k > min(n, d)):
            return at_random(X, k, draws, observed)
        if k > min(n, d):
            raise ValueError(
                f"init = '{self.init}' can only be used when n_components <= min(n_samples, "
                f"n_features), and {k} > {min(n, d)}. Ask for fewer, or take init='random'."
            )
        fill = self.init or "nndsvda"
        return nndsvd(X, k, draws, fill=fill, weight=weight, observed=observed)

    def _require_factor(self, A: Any, shape: tuple[int, int], name: str) -> NDArray:
        """Return a factor that was given; raise if it cannot be used, in scikit-learn's words."""
        whom = f"NMF (input {name})"
        if A is None:
            raise ValueError(f"init='custom' needs {name}. Give {name}=, of shape {shape}.")
        A = check_array(A, dtype=[np.float64, np.float32])
        for i, what in enumerate(("first", "second")):
            if A.shape[i] != shape[i]:
                raise ValueError(
                    f"Array with wrong {what} dimension passed to {whom}. Expected {shape[i]}, but "
                    f"got {A.shape[i]}."
                )
        if A.min() < 0:
            raise ValueError(f"Negative values in data passed to {whom}. Give none below zero.")
        return np.asarray(A)

    def _described(
        self,
        found: Parts,
        X: Any,
        Z: Any,
        weight: NDArray | None,
        observed: NDArray | None,
        unit: Unit,
    ) -> Factors:
        """Return a solution of Z, X in its unit, in the units of X, with how well it fits."""
        fit = (Z, found.codes, found.components)
        loss = divergence(*fit, self._beta, weight=unit.weight(weight), observed=observed)
        if isinstance(Z, Blocked):
            found = replace(found, codes=None)
        poisson = self._beta == 1
        return Factors(
            **vars(unit.restored(found)),
            n_components=len(found.components),
            reconstruction_err=float(np.sqrt(2.0 * max(loss, 0.0)) * np.sqrt(unit.loss)),
            deviance=2.0 * loss * unit.loss if poisson else None,
            log_likelihood=saturated(X, weight=weight) - loss * unit.loss if poisson else None,
        )

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(replace(solution, codes=None), X)  # a fitted model does not keep them
        self._codes = solution.codes  # until the fit is over

    def _take_codes(self, X: Any, sample_weight: Any) -> NDArray:
        """Return the codes that the fit ended with, which a fitted model does not keep."""
        codes: NDArray = self._codes
        del self._codes
        if sample_weight is not None and not np.all(sample_weight):  # those were not in the fit
            return self.transform(X)
        return np.ascontiguousarray(codes, dtype=self.components_.dtype)

    def _asked_to_converge(self) -> bool:
        return self.tol > 0

    # -------------------------------------------------------------------------------- new rows

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the codes of `X`: how much of each part is in each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            NaN, where it is taken, for what was not observed. A row without any entry gets zeros.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self._encode(self._fitted(X))

    def _encode(self, X: Any) -> NDArray:
        rows, observed = self._table(X)
        return encode(
            rows,
            self.components_,
            beta=self._beta,
            penalty=self._on_codes(),
            observed=observed,
            tol=self.tol,
            max_iter=self._codes_max_iter(),
        )

    def _codes_max_iter(self) -> int:
        """Return the most updates of codes, where they are found by updates."""
        return self.max_iter

    def inverse_transform(self, X: Any) -> NDArray:
        """Return the rows that have the codes `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        codes = X.toarray() if sparse.issparse(X) else X
        return self._rows_from(self._check_scores(codes))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags


def _below_zero(X: Any) -> tuple[Any, ...]:
    """Return the shape, how many entries are below zero, where the first is, and the least.

    Row and column are -1 where there is none.
    """
    rows, columns = (X < 0).nonzero()
    if not len(rows):
        return np.array(X.shape), 0, -1, -1, 0.0
    least = X.min() if sparse.issparse(X) else np.nanmin(X)
    return np.array(X.shape), len(rows), int(rows[0]), int(columns[0]), float(least)


def _first_below_zero(parts: list[Any]) -> tuple[Any, ...]:
    """Return what `_below_zero` says of blocks, put together."""
    shape, number, row, column, least = parts[0]
    for size, more, i, j, low in parts[1:]:
        if row < 0 <= i:
            row, column = shape[0] + i, j
        shape = np.array([shape[0] + size[0], shape[1]])
        number, least = number + more, min(least, low)
    return shape, number, row, column, least


def _square(X: Any) -> float:
    """Return the sum of squares of `X`: a number, unless X holds what is none."""
    values, axes = (X.data, "i,i->") if sparse.issparse(X) else (X, "ij,ij->")
    return float(np.einsum(axes, values, values, dtype=np.float64))
