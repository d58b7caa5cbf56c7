"""Non-negative matrix factorisation from mini-batches of rows."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import fitting
from .._compat import Interval
from ..solvers import online_parts
from ..solvers.solution import Monitor
from ..solvers.unit import Unit
from ._nonnegative import Factors, Nonnegative

__all__ = ["MiniBatchNMF"]

OF_FIT = (
    *("n_iter_", "converged_", "objective_history_", "certificate_", "solver_"),
    *("reconstruction_err_", "deviance_", "log_likelihood_"),
)


@dataclass(frozen=True, kw_only=True)
class _Online(Factors):
    """Codes and parts, and the number of steps that led to them."""

    n_steps: int


class MiniBatchNMF(Nonnegative):
    """Non-negative matrix factorisation from mini-batches, for many rows or a stream of them.

    It finds codes W and parts H, none of them below zero, that make the objective of
    :class:`NMF` small::

        min over W, H >= 0 of  D(X | W H) + penalties on W and H

    The rows of a batch are coded with the parts as they are, and then the parts descend on two sums
    over the batches seen, which forget early batches little by little. So a fit costs few passes
    over X, and :meth:`partial_fit` never sees more than a batch.

    Drop-in for :class:`sklearn.decomposition.MiniBatchNMF`, and the same steps from the same start.
    It ends when every batch agrees: each is held against itself in the epoch before. In
    scikit-learn one short step is enough, or an average that compares batches with each other, and
    a fit may end early if some are empty, or harder than others. In the end the codes of all rows
    are found once more, from the parts alone: :meth:`transform` of the training data gives what
    :meth:`fit_transform` gave, where scikit-learn's `fit_transform` returns codes as the last pass
    left them, each batch with other parts.

    Parameters
    ----------
    n_components : int, 'auto' or None, default='auto'
        Number of parts. 'auto' for as many as a custom start has, or else, like None, as there are
        features.
    init : {'random', 'nndsvd', 'nndsvda', 'nndsvdar', 'custom'} or None, default=None
        Where to start, as in :class:`NMF`; :meth:`partial_fit` starts from its first batch. An
        entry of H that is zero stays so, which speaks against 'nndsvd'.
    batch_size : int, default=1024
        Rows of a batch. Batches follow the order of X: shuffle its rows first if they are sorted.
    beta_loss : float or {'frobenius', 'kullback-leibler', 'itakura-saito'}, default='frobenius'
        The loss: a beta-divergence, 2, 1 and 0 in turn. From 0 down, X must have no zeros.
    tol : float, default=1e-4
        The fit ends after an epoch of steps that move H by less than this times its norm, each; 0
        to go on.
    max_no_improvement : int or None, default=10
        The fit also ends when so many batches in a row have not lowered the objective, each row
        taken with the codes and the parts of its last step; None to go on.
    max_iter : int, default=200
        Most epochs, that is passes over all rows.
    alpha_W : float, default=0
        Size of the penalty on W.
    alpha_H : float or 'same', default='same'
        Size of the penalty on H.
    l1_ratio : float, default=0
        Share of the absolute values in the penalties, against the squares.
    forget_factor : float, default=0.7
        What is left of a batch in the sums after one epoch; in :meth:`partial_fit`, after one
        batch of the size of the first. With 1 nothing is forgotten, which slows down the fit.
    fresh_restarts : bool, default=False
        Whether `fit` codes each batch afresh, as :meth:`partial_fit` does, in place of one update
        of the codes of the epoch before. Slower, and further in the same number of epochs.
    fresh_restarts_max_iter : int, default=30
        Most updates of the codes of a batch that is coded afresh.
    transform_max_iter : int or None, default=None
        Most updates of the codes of new rows, `max_iter` if None. For the Frobenius and the
        Kullback-Leibler loss they are solved for to the end by other means.
    random_state : int, RandomState instance or None, default=None
        For a random start.
    verbose : int, default=0
        Accepted for compatibility: use callbacks of scikit-learn's, such as its progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts H.
    n_components_ : int
    n_steps_ : int
        Batches seen.
    n_iter_ : int
        Epochs of `fit` that were begun.
    reconstruction_err_ : float
        Root of twice the loss over the rows of `fit`: the Frobenius norm of ``X - W H``, or its
        likeness.
    deviance_, log_likelihood_ : float
        Of the counts of `fit`, with the Kullback-Leibler loss alone: Poisson's.
    objective_history_ : ndarray
        The objective of each epoch of `fit`, each row with the codes and parts of its last step.
    converged_ : bool
        Whether `fit` ended with parts that meet the certificate, in whatever number of epochs.
    certificate_ : Certificate
        How far W and H are from the conditions of optimality, on all rows of `fit`. Asked for is
        0.01, whatever `tol` is: it has to do with steps, which may be short far from the end. The
        updates are slow to the last digits, for which there is :class:`NMF`.
    solver_ : str

    See Also
    --------
    NMF : All rows in each iteration, missing values, weights.
    MiniBatchDictionaryLearning : Sparse codes, where parts may be taken away too.

    Notes
    -----
    `fit` keeps the codes of all rows; `partial_fit` keeps two sums of the size of the parts, which
    belong to the model, in its files too. The attributes from `n_iter_` on speak of all rows of a
    fit, and are gone after `partial_fit`.

    References
    ----------
    A. Lefevre, F. Bach, C. Fevotte, Online algorithms for nonnegative matrix factorization with the
    Itakura-Saito divergence, WASPAA (2011).

    C. Fevotte, J. Idier, Algorithms for nonnegative matrix factorization with the beta-divergence,
    Neural Computation 23 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import MiniBatchNMF
    >>> rng = np.random.default_rng(0)
    >>> parts = np.array([[3, 1, 0, 0, 0], [0, 0, 2, 2, 0], [0, 1, 0, 0, 4.0]])
    >>> X = rng.exponential(size=(3000, 3)) @ parts
    >>> model = MiniBatchNMF(3, random_state=0)
    >>> for _ in range(5):
    ...     for batch in np.array_split(X, 30):
    ...         model = model.partial_fit(batch)
    >>> rest = X - model.inverse_transform(model.transform(X))
    >>> bool(np.linalg.norm(rest) < 0.05 * np.linalg.norm(X)), model.n_steps_
    (True, 150)
    """

    in_batches_of = "NMF"
    claims = frozenset({"nonnegative", "column_order"})
    # as many parts as features fit anything; and the checks' own tol is out of reach of batches
    exemplar: ClassVar[dict[str, Any]] = {"n_components": 3, "tol": 0.0, "max_iter": 100}

    n_steps_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Nonnegative._parameter_constraints,
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "max_no_improvement": [Interval(Integral, 1, None, closed="left"), None],
        "forget_factor": [Interval(Real, 0, 1, closed="both")],
        "fresh_restarts": ["boolean"],
        "fresh_restarts_max_iter": [Interval(Integral, 1, None, closed="left")],
        "transform_max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] | None = "auto",
        *,
        init: str | None = None,
        batch_size: int = 1024,
        beta_loss: float | str = "frobenius",
        tol: float = 1e-4,
        max_no_improvement: int | None = 10,
        max_iter: int = 200,
        alpha_W: float = 0.0,
        alpha_H: float | Literal["same"] = "same",
        l1_ratio: float = 0.0,
        forget_factor: float = 0.7,
        fresh_restarts: bool = False,
        fresh_restarts_max_iter: int = 30,
        transform_max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.batch_size = batch_size
        self.beta_loss = beta_loss
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.max_iter = max_iter
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.forget_factor = forget_factor
        self.fresh_restarts = fresh_restarts
        self.fresh_restarts_max_iter = fresh_restarts_max_iter
        self.transform_max_iter = transform_max_iter
        self.random_state = random_state
        self.verbose = verbose

    @fitting
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        W: NDArray | None = None,
        H: NDArray | None = None,
    ) -> Self:
        """Find parts of `X`, in passes over its batches.

        Parameters
        ----------
        X : {array-like, sparse matrix, Blocks} of shape (n_samples, n_features)
            The data, one row a sample, none of it below zero. It is never written to.
        y : Ignored
            Present for the conventions of pipelines.
        W, H : ndarray of shapes (n_samples, n_components) and (n_components, n_features), optional
            Where to start, for ``init='custom'``. They are never written to.

        Returns
        -------
        self
        """
        self._fit(X, y, W=W, H=H)
        del self._codes
        return self

    @fitting
    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        W: NDArray | None = None,
        H: NDArray | None = None,
    ) -> NDArray:
        """Find parts of `X`, and return its codes.

        Parameters
        ----------
        X, y, W, H
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self._fit(X, y, W=W, H=H)._take_codes(X, None)

    @fitting
    def partial_fit(
        self,
        X: ArrayLike,
        y: object = None,
        W: NDArray | None = None,
        H: NDArray | None = None,
    ) -> Self:
        """Take one step on the rows of `X`, as one batch, which is coded afresh.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A batch of any size, from one row on.
        y : Ignored
        W, H : ndarray of shapes (n_samples, n_components) and (n_components, n_features), optional
            Where to start, for ``init='custom'``; used by the first call alone.

        Returns
        -------
        self
        """
        first = not hasattr(self, "components_")
        rows = self._check(X, reset=first)
        table, _ = self._table(rows)
        if first:
            k = self._n_parts(table, H)
            unit = Unit.of(table, None, self._beta)
            self._size, self._rho = unit.size, self._kept(table.shape[0])
            start = unit.factor(W), unit.factor(H)
            learner = self._learner(self._start(unit.table(table), k, self._rng(), *start)[1], unit)
        else:
            unit = Unit(getattr(self, "_size", 1.0), 1.0, self._beta)
            learner = self._learner(unit.factor(self.components_), unit)
            learner.resume(self._A, self._B, self.n_steps_)
        learner.learn(unit.table(table))
        dtype = rows.dtype if first else self.components_.dtype
        self._keep(learner, dtype)
        self.components_ = (learner.H * np.sqrt(unit.size)).astype(dtype)
        self.n_components_, self.n_steps_ = len(self.components_), learner.n_steps
        for name in OF_FIT:
            self.__dict__.pop(name, None)
        return self

    def _solve(
        self,
        X: Any,
        *,
        weight: NDArray | None,
        rng: np.random.Generator,
        monitor: Monitor,
        W: NDArray | None = None,
        H: NDArray | None = None,
    ) -> _Online:
        X, _ = self._table(X)
        k, unit = self._n_parts(X, H), Unit.of(X, None, self._beta)
        Z = unit.table(X)
        W, H = self._start(Z, k, rng, unit.factor(W), unit.factor(H))
        self._size, self._rho = unit.size, self._kept(X.shape[0])
        learner = self._learner(H, unit)
        found = online_parts.solve(
            Z,
            W,
            learner,
            batch_size=self.batch_size,
            max_iter=self.max_iter,
            tol=self.tol,
            max_no_improvement=self.max_no_improvement,
            fresh=self.fresh_restarts,
            codes_max_iter=self._codes_max_iter(),
            monitor=lambda objective: monitor(objective * unit.loss),
        )
        self._keep(learner, X.dtype)
        return _Online(
            **vars(self._described(found, X, Z, None, None, unit)),
            n_steps=learner.n_steps,
        )

    def _kept(self, n: int) -> float:
        """Return what is kept of the sums from one batch to the next, of n rows in all."""
        return float(self.forget_factor ** (min(self.batch_size, n) / n))

    def _learner(self, H: NDArray, unit: Unit) -> online_parts.Learner:
        on_W, on_H = (unit.penalty(given) for given in self._penalties(1.0, H.shape[1]))
        return online_parts.Learner(
            H,
            beta=self._beta,
            on_W=on_W,
            on_H=on_H,
            rho=self._rho,
            max_iter=self.fresh_restarts_max_iter,
            tol=self.tol,
        )

    def _keep(self, learner: online_parts.Learner, dtype: np.dtype) -> None:
        """Keep the sums, which are in the unit of the first rows, for batches to come."""
        self._A, self._B = learner.A.astype(dtype), learner.B.astype(dtype)

    def _codes_max_iter(self) -> int:
        return self.max_iter if self.transform_max_iter is None else self.transform_max_iter

    @property
    def _remedy(self) -> str:  # type: ignore[override]
        if self.n_iter_ >= self.max_iter:
            return super()._remedy
        return (
            "Raise batch_size or max_no_improvement, or lower tol, unless a callback stopped it; "
            "NMF takes all rows at once."
        )
