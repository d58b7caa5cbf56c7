"""Sparse dictionary learning from mini-batches of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import fitting
from .._compat import Interval
from ..solvers import online
from ..solvers.solution import Monitor, Solution
from ._coding import SparseCoding

__all__ = ["MiniBatchDictionaryLearning"]


@dataclass(frozen=True, kw_only=True)
class _Online(Solution):
    """Atoms, one a row, and the number of steps that led to them."""

    components: NDArray
    n_steps: int


class MiniBatchDictionaryLearning(SparseCoding):
    """Dictionary learning from mini-batches, for many rows or rows that arrive in batches.

    It finds atoms D and a sparse code C that solve::

        min over C, D of  1/2 |X - C D|^2 + alpha |C|_1,   |D_k| <= 1 for every atom

    Each batch is coded with the atoms as they are, and then the atoms descend on two sums over all
    rows seen. In :meth:`fit`, where rows come again, their new code takes the place of the old one,
    and the atoms end where no row nor atom can be changed for the better. In :meth:`partial_fit`,
    where nothing is known of earlier rows but the sums, early codes are forgotten little by little.
    X is not centred.

    Drop-in for :class:`sklearn.decomposition.MiniBatchDictionaryLearning`, which forgets in `fit`
    too, and so needs more epochs for the same objective. From the same atoms, one epoch is alike.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of atoms; None for as many as there are features.
    alpha : float, default=1
        Penalty on the code.
    max_iter : int, default=1000
        Most epochs, that is passes over all rows.
    fit_algorithm : {'lars', 'cd'}, default='lars'
        Accepted for compatibility: the lassos are solved by coordinate descent, to the same answer.
    n_jobs : int or None, default=None
        Processes for :meth:`transform`. The fit uses the threads that BLAS may use.
    batch_size : int, default=256
        Rows of a batch, at most; `fit` makes batches of nearly the same size.
    shuffle : bool, default=True
        Whether `fit` draws the rows of the batches, once; else they follow the order of X.
    dict_init : ndarray of shape (n_components, n_features) or None, default=None
        Atoms to begin with. Else they are random rows, of the first batch in :meth:`partial_fit`.
    transform_algorithm : {'lasso_lars', 'lasso_cd', 'lars', 'omp', 'threshold'}, default='omp'
        How :meth:`transform` finds the code of new rows.
    transform_n_nonzero_coefs : int or None, default=None
        Number of nonzeros in each row of the code, for 'lars' and 'omp'.
    transform_alpha : float or None, default=None
        Penalty, threshold or tolerance of :meth:`transform`; `alpha` if None.
    verbose : bool or int, default=False
        Accepted for compatibility: use callbacks of scikit-learn's, such as its progress bar.
    split_sign : bool, default=False
        Whether :meth:`transform` gives the positive and the negative part of the code as columns
        of their own.
    random_state : int, RandomState instance or None, default=None
        Draws the first atoms, the batches, and the rows that take the place of unused atoms.
    positive_code, positive_dict : bool, default=False
        Whether the code, or the atoms, must not be negative.
    transform_max_iter : int, default=1000
        Most iterations of the lassos, in :meth:`transform` and in the fit.
    callback : callable or None, default=None
        Called after each step of `fit` with a dict that has ``i``, ``batch_cost`` (for each row)
        and ``dictionary``.
    tol : float, default=1e-3
        The fit ends after a step that moves the atoms by less than this times their number, in
        the Frobenius norm, if the certificate holds; 0 to go on.
    max_no_improvement : int or None, default=10
        The fit also ends when so many batches in a row have not lowered the objective, each row
        taken with its latest code; None to go on.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The atoms. One that nothing uses is as it was at first, or what the others left of a row.
    n_iter_ : int
        Epochs of `fit` that were begun.
    n_steps_ : int
        Batches seen.
    objective_history_ : ndarray
        The objective after each epoch of `fit`; of the first, each row with the atoms that it was
        coded with.
    converged_ : bool
        Whether `fit` ended before `max_iter`, with atoms that meet the certificate.
    certificate_ : Certificate
        How far any atom in use is from its optimum, the other atoms and the code of the rows seen
        being what they are: the length of the step to it. Asked for is ``sqrt(tol)``.
    solver_ : str

    See Also
    --------
    DictionaryLearning : All rows in each iteration, down to the last digit.
    MiniBatchSparsePCA : The penalty on the components in place of the code.

    Notes
    -----
    `fit` keeps the code of all rows, as a sparse matrix; `partial_fit` keeps the sums alone,
    n_components times n_components and n_features. Between batches the sums are part of the model,
    in its files too. Atoms keep the signs that they are found with, as the sums belong to them.

    References
    ----------
    J. Mairal, F. Bach, J. Ponce, G. Sapiro, Online learning for matrix factorization and sparse
    coding, Journal of Machine Learning Research 11 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import MiniBatchDictionaryLearning
    >>> rng = np.random.default_rng(0)
    >>> atoms = rng.normal(size=(12, 8))
    >>> code = rng.normal(size=(900, 12)) * (rng.random((900, 12)) < 0.15)
    >>> X = code @ (atoms / np.linalg.norm(atoms, axis=1, keepdims=True))
    >>> model = MiniBatchDictionaryLearning(
    ...     12, alpha=0.05, batch_size=100, transform_algorithm="lasso_cd", random_state=0
    ... )
    >>> for batch in np.array_split(X, 9):
    ...     model = model.partial_fit(batch)
    >>> found = model.transform(X)
    >>> bool(np.mean(found != 0) < 0.5), bool(np.std(X - found @ model.components_) < 0.1)
    (True, True)
    """

    kind = "sparse"
    in_batches_of = "DictionaryLearning"
    claims = frozenset({"bounded", "rotation", "column_order", "zero_columns"})
    exemplar: ClassVar[dict[str, Any]] = {"n_components": 4}  # as many as columns take longer

    _remedy = "Raise max_iter, tol or max_no_improvement."

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseCoding._parameter_constraints,
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "max_no_improvement": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1,
        max_iter: int = 1000,
        fit_algorithm: Literal["lars", "cd"] = "lars",
        n_jobs: int | None = None,
        batch_size: int = 256,
        shuffle: bool = True,
        dict_init: NDArray | None = None,
        transform_algorithm: str = "omp",
        transform_n_nonzero_coefs: int | None = None,
        transform_alpha: float | None = None,
        verbose: int | bool = False,
        split_sign: bool = False,
        random_state: int | np.random.RandomState | None = None,
        positive_code: bool = False,
        positive_dict: bool = False,
        transform_max_iter: int = 1000,
        callback: Callable[[dict[str, Any]], object] | None = None,
        tol: float = 1e-3,
        max_no_improvement: int | None = 10,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.max_iter = max_iter
        self.fit_algorithm = fit_algorithm
        self.n_jobs = n_jobs
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.dict_init = dict_init
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.verbose = verbose
        self.split_sign = split_sign
        self.random_state = random_state
        self.positive_code = positive_code
        self.positive_dict = positive_dict
        self.transform_max_iter = transform_max_iter
        self.callback = callback
        self.tol = tol
        self.max_no_improvement = max_no_improvement

    def _solve(
        self, X: Any, *, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> _Online:
        self._require_finite(X)
        learner = self._begin(X, rng)
        found = online.solve(
            X,
            learner,
            batch_size=self.batch_size,
            max_iter=self.max_iter,
            tol=self.tol,
            max_no_improvement=self.max_no_improvement,
            shuffle=rng if self.shuffle else None,
            monitor=monitor,
            callback=self.callback,
        )
        self._keep(learner, X.dtype)
        return _Online(
            solver="online",
            n_iter=found.n_iter,
            converged=found.converged,
            objective_history=found.objective_history,
            certificate=found.certificate,
            components=learner.atoms,
            n_steps=learner.n_steps,
        )

    @fitting
    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Take one step on the rows of `X`, as one batch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch of any size, from one row on.
        y : Ignored

        Returns
        -------
        self
        """
        first = not hasattr(self, "components_")
        rows: NDArray = self._check(X, reset=first)
        learner = self._begin(rows, self._rng()) if first else self._resumed()
        learner.learn(rows.astype(np.float64))
        dtype = rows.dtype if first else self.components_.dtype
        self._keep(learner, dtype)
        self.components_ = learner.atoms.astype(dtype)
        self.n_steps_ = learner.n_steps
        self.certificate_ = learner.certificate(self.tol)
        return self

    def _begin(self, X: NDArray, rng: np.random.Generator) -> online.Learner:
        """Return a learner that has seen nothing."""
        k = self._n_atoms(X)
        self._seed = rng.integers(0, 2**32, size=4, dtype=np.uint32)
        if self.dict_init is None:
            return self._learner(online.sampled_atoms(X, k, rng))
        return self._learner(self._first_atoms(self.dict_init, k, X.shape[1]))

    def _first_atoms(self, given: NDArray, k: int, d: int) -> NDArray:
        """Return the atoms that were given, cut or filled up with zeros to k."""
        if given.ndim != 2 or given.shape[1] != d:
            raise ValueError(
                f"dict_init has shape {given.shape}, and ({k}, {d}) is needed: {k} atoms of {d} "
                "features. Give an array of that shape, or None."
            )
        atoms = np.zeros((k, d))
        atoms[: len(given)] = given[:k]
        return atoms

    def _learner(self, atoms: NDArray) -> online.Learner:
        return online.Learner(
            atoms,
            alpha=self.alpha,
            seed=self._seed,
            positive_code=self.positive_code,
            positive_atoms=self.positive_dict,
            max_sweeps=self.transform_max_iter,
        )

    def _resumed(self) -> online.Learner:
        return self._learner(self.components_).resume(self._A, self._B, self.n_steps_)

    def _keep(self, learner: online.Learner, dtype: np.dtype) -> None:
        """Keep the sums, for batches to come."""
        self._A, self._B = learner.A.astype(dtype), learner.B.astype(dtype)

    def _store(self, solution: Solution, X: Any) -> None:
        super()._store(solution, X)
        if isinstance(solution, _Online):
            # the sums belong to atoms with the signs that they were found with
            self.components_ = np.ascontiguousarray(solution.components, dtype=X.dtype)

    def _asked_to_converge(self) -> bool:
        return self.max_iter > 0 and self.tol > 0
