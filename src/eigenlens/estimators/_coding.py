"""What the dictionary methods share: the code of new rows, and the rows that a code stands for."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import sparse_encode
from sklearn.utils.validation import check_is_fitted

from .._base import Estimator
from .._compat import Interval, StrOptions, check_array
from ..ops.finite import require_finite
from ..ops.units import unit_of
from ..solvers import sparse_l1

__all__ = ["SparseCoding"]


class SparseCoding(Estimator):
    """Base of methods whose components are atoms: rows are sparse combinations of them."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_algorithm": [StrOptions({"lars", "cd"})],
        "transform_algorithm": [StrOptions({"lasso_lars", "lasso_cd", "lars", "omp", "threshold"})],
        "transform_n_nonzero_coefs": [Interval(Integral, 1, None, closed="left"), None],
        "transform_alpha": [Interval(Real, 0, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "dict_init": [np.ndarray, None],
        "callback": [callable, None],
        "verbose": ["verbose"],
        "split_sign": ["boolean"],
        "random_state": ["random_state"],
        "positive_code": ["boolean"],
        "positive_dict": ["boolean"],
        "transform_max_iter": [Interval(Integral, 0, None, closed="left")],
    }

    n_components: int | None
    alpha: float
    transform_algorithm: str
    transform_n_nonzero_coefs: int | None
    transform_alpha: float | None
    n_jobs: int | None
    split_sign: bool
    positive_code: bool
    transform_max_iter: int
    components_: NDArray

    def _require_finite(self, X: NDArray) -> None:
        """Raise if X holds NaN or inf, or values whose squares overflow for pairs of atoms."""
        square = float(np.einsum("ij,ij->", X, X, dtype=np.float64))
        require_finite(X.sum(axis=0, dtype=np.float64), square * self._n_atoms(X) ** 2)

    def _n_atoms(self, X: NDArray) -> int:
        return X.shape[1] if self.n_components is None else int(self.n_components)

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the code of `X`: for each row its weights on the atoms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Or twice as many columns with `split_sign`.
        """
        code = self._code(self._fitted(X))
        if self.split_sign:
            code = np.hstack([np.maximum(code, 0), np.maximum(-code, 0)])
        return code

    def _code(self, X: NDArray) -> NDArray:
        alpha = self.alpha if self.transform_alpha is None else self.transform_alpha
        if self.transform_algorithm == "lasso_cd":
            rows, atoms = X.astype(np.float64), self.components_.astype(np.float64)
            code = sparse_l1.encode(
                rows,
                atoms,
                alpha,
                positive=self.positive_code,
                max_sweeps=self.transform_max_iter,
            )
            return self._as_dtype(code, X.dtype)
        pursued = self.transform_algorithm in ("omp", "lars")
        if pursued and self.positive_code:
            raise ValueError(
                f"Positive constraint not supported for '{self.transform_algorithm}' coding "
                "method. Take transform_algorithm='lasso_cd', or positive_code=False."
            )
        # Pursuits and paths end at products with atoms below a fixed number. So rows have a size of
        # about 1, or the penalty has, which is weighed against them, unless squares would be lost.
        units = _sizes(X) if pursued else np.full((1, 1), unit_of(X), X.dtype)
        if not pursued and units[0, 0] == 1:
            units = _sizes(np.full((1, 1), alpha, X.dtype))
        code = sparse_encode(
            X / units,
            self.components_,
            algorithm=self.transform_algorithm,
            n_nonzero_coefs=self.transform_n_nonzero_coefs,
            alpha=alpha if pursued else min(alpha / float(units[0, 0]), np.finfo(np.float64).max),
            max_iter=self.transform_max_iter,
            n_jobs=self.n_jobs,
            positive=self.positive_code,
        )
        return self._as_dtype(code.astype(np.float64) * units, X.dtype)

    def inverse_transform(self, X: ArrayLike) -> NDArray:
        """Return the rows that have the code `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        code: NDArray = check_array(X, dtype=[np.float64, np.float32], estimator=self)
        if code.shape[1] != self._n_features_out:
            raise ValueError(
                "The number of components in the code is different from the number of components "
                f"in the dictionary. Expected {self._n_features_out}, got {code.shape[1]}. "
                "Give what transform returned."
            )
        if self.split_sign:
            positive, negative = np.hsplit(code, 2)
            code = positive - negative
        return self._rows_from(code)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_) * (1 + self.split_sign)


def _sizes(X: NDArray) -> NDArray:
    """Return for each row a power of two of the size of its largest entry."""
    exponents = np.frexp(np.abs(X).max(axis=1, keepdims=True))[1]
    return np.ldexp(X.dtype.type(1), exponents - 1)
