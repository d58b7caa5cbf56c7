"""Sparse dictionary learning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..solvers import sparse_l1
from ..solvers.solution import Monitor, Solution
from ._coding import SparseCoding

__all__ = ["DictionaryLearning"]


@dataclass(frozen=True, kw_only=True)
class Dictionary(Solution):
    """Atoms, one a row, and the objective after each iteration as scikit-learn keeps it."""

    components: NDArray
    error: list[float]


class DictionaryLearning(SparseCoding):
    """Dictionary learning: rows as sparse combinations of atoms, of which there may be many.

    It finds atoms D and a sparse code C that solve::

        min over C, D of  1/2 |X - C D|^2 + alpha |C|_1,   |D_k| <= 1 for every atom

    The problem is that of :class:`eigenlens.SparsePCA` turned over, and so is the solver: each row
    of the code is a lasso, all share D D', and each atom has a closed minimiser given the others.
    X is not centred.

    Drop-in for :class:`sklearn.decomposition.DictionaryLearning`. The fit is by coordinate descent,
    whatever `fit_algorithm` says: both of scikit-learn's solve the same lassos.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of atoms; None for as many as there are features.
    alpha : float, default=1
        Penalty on the code.
    max_iter : int, default=1000
        Most iterations.
    tol : float, default=1e-8
        Relative decrease of the objective at which the descent may end.
    fit_algorithm : {'lars', 'cd'}, default='lars'
        Accepted for compatibility: the answer does not depend on it.
    transform_algorithm : {'lasso_lars', 'lasso_cd', 'lars', 'omp', 'threshold'}, default='omp'
        How :meth:`transform` finds the code of new rows.
    transform_n_nonzero_coefs : int or None, default=None
        Number of nonzeros in each row of the code, for 'lars' and 'omp'.
    transform_alpha : float or None, default=None
        Penalty, threshold or tolerance of :meth:`transform`; `alpha` if None.
    n_jobs : int or None, default=None
        Processes for :meth:`transform`.
    code_init, dict_init : ndarray or None, default=None
        Code (n_samples, n_components) and atoms (n_components, n_features) to begin with. Without
        both of them the start is at the singular vectors.
    callback : callable or None, default=None
        Called at every fifth iteration with a dict that has ``ii`` and ``current_cost``.
    verbose : bool, default=False
        Accepted for compatibility: use callbacks of scikit-learn's, such as its progress bar.
    split_sign : bool, default=False
        Whether :meth:`transform` gives the positive and the negative part of the code as columns
        of their own.
    random_state : int, RandomState instance or None, default=None
        Accepted for compatibility: nothing is random.
    positive_code, positive_dict : bool, default=False
        Whether the code, or the atoms, must not be negative.
    transform_max_iter : int, default=1000
        Most iterations of the lassos in :meth:`transform`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The atoms. One that nothing uses is of length 0 or as it was at the start.
    error_ : list of float
        The objective after each iteration.
    objective_history_, n_iter_, converged_
        The same as an array, and how the descent ended.
    certificate_ : Certificate
        How far code and atoms are from their conditions of optimality.
    solver_ : str

    See Also
    --------
    MiniBatchDictionaryLearning : For many rows, or rows that arrive in batches.
    SparsePCA : The penalty on the components in place of the code.

    References
    ----------
    J. Mairal, F. Bach, J. Ponce, G. Sapiro, Online learning for matrix factorization and sparse
    coding, Journal of Machine Learning Research 11 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import DictionaryLearning
    >>> rng = np.random.default_rng(0)
    >>> atoms = rng.normal(size=(12, 8))
    >>> code = rng.normal(size=(300, 12)) * (rng.random((300, 12)) < 0.15)
    >>> X = code @ (atoms / np.linalg.norm(atoms, axis=1, keepdims=True))
    >>> model = DictionaryLearning(12, alpha=0.05, tol=1e-6, transform_algorithm="lasso_cd").fit(X)
    >>> found = model.transform(X)
    >>> bool(np.mean(found != 0) < 0.3), bool(np.std(X - found @ model.components_) < 0.1)
    (True, True)
    """

    kind = "sparse"
    claims = frozenset({"bounded", "rotation", "column_order", "zero_columns"})

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseCoding._parameter_constraints,
        "code_init": [np.ndarray, None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1,
        max_iter: int = 1000,
        tol: float = 1e-8,
        fit_algorithm: Literal["lars", "cd"] = "lars",
        transform_algorithm: str = "omp",
        transform_n_nonzero_coefs: int | None = None,
        transform_alpha: float | None = None,
        n_jobs: int | None = None,
        code_init: NDArray | None = None,
        dict_init: NDArray | None = None,
        callback: Callable[[dict[str, Any]], object] | None = None,
        verbose: bool = False,
        split_sign: bool = False,
        random_state: int | np.random.RandomState | None = None,
        positive_code: bool = False,
        positive_dict: bool = False,
        transform_max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.fit_algorithm = fit_algorithm
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.n_jobs = n_jobs
        self.code_init = code_init
        self.dict_init = dict_init
        self.callback = callback
        self.verbose = verbose
        self.split_sign = split_sign
        self.random_state = random_state
        self.positive_code = positive_code
        self.positive_dict = positive_dict
        self.transform_max_iter = transform_max_iter

    def _solve(
        self, X: Any, *, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> Dictionary:
        self._require_finite(X)
        k = self._n_atoms(X)
        found = sparse_l1.solve(
            X.T.astype(np.float64),
            k,
            alpha=self.alpha,
            start=self._start(X, k),
            resample=rng,
            positive_scores=self.positive_dict,
            positive_loadings=self.positive_code,
            tol=self.tol,
            max_iter=self.max_iter,
            monitor=self._calling(monitor),
        )
        return Dictionary(
            solver="coordinate descent",
            n_iter=found.n_iter,
            converged=found.converged,
            objective_history=found.objective_history,
            certificate=found.certificate,
            components=found.factors[0].T,
            error=found.objective_history.tolist(),
        )

    def _store(self, solution: Solution, X: Any) -> None:
        super()._store(solution, X)
        if self.positive_code and isinstance(solution, Dictionary):
            # an atom turned round would need a negative code
            self.components_ = np.ascontiguousarray(solution.components, dtype=X.dtype)

    def _start(self, X: NDArray, k: int) -> sparse_l1.Factors | None:
        """Return the start that was given, cut or filled up with zeros to k atoms."""
        if self.code_init is None or self.dict_init is None:
            return None
        atoms, code = np.zeros((k, X.shape[1])), np.zeros((len(X), k))
        given = min(k, len(self.dict_init))
        atoms[:given], code[:, :given] = self.dict_init[:given], self.code_init[:, :given]
        return atoms.T, code

    def _calling(self, monitor: Monitor) -> Monitor:
        """Return a monitor that calls the callback too, as often as scikit-learn does."""
        if self.callback is None:
            return monitor
        callback, count = self.callback, iter(range(self.max_iter))

        def both(objective: float) -> bool:
            if (ii := next(count)) % 5 == 0:
                callback({"ii": ii, "current_cost": objective})
            return monitor(objective)

        return both
