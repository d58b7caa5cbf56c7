"""Sparse principal component analysis from mini-batches of features."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._compat import Interval, StrOptions
from ..solvers import online, sparse_l1
from ..solvers.directions import Directions
from ..solvers.solution import Monitor
from .sparse_pca import SparsePCA, _Rows, _Sparse

__all__ = ["MiniBatchSparsePCA"]

NEGLIGIBLE = 1e-8  # length of loadings beside the longest: what is below it is rounding


class MiniBatchSparsePCA(SparsePCA):
    """Sparse principal components from mini-batches of features, for wide tables.

    The problem is that of :class:`eigenlens.SparsePCA`::

        min over Y, D of  1/2 |X - Y D'|^2 + alpha |D|_1,   |Y_k| <= 1

    A batch is a few columns of the centred table: their loadings are found with the scores as they
    are, and then the scores descend on what is known of all columns. After a few passes over the
    columns it is near a minimum; :class:`eigenlens.SparsePCA` goes down to the last digit.

    Drop-in for :class:`sklearn.decomposition.MiniBatchSparsePCA`. A tall table is first reduced to
    as many rows as it has columns, which is exact. So rows may also arrive in batches: their sums
    are all that is kept, and the answer, found when it is asked for, is that of all rows at once.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None for as many as there are features.
    alpha : float, default=1
        Weight of the l1 penalty. The larger, the sparser.
    ridge_alpha : float, default=0.01
        Ridge shrinkage of the scores in `transform`.
    max_iter : int, default=1000
        Most epochs, that is passes over all features.
    callback : callable or None, default=None
        Called after each step with a dict that has ``i``, ``batch_cost`` (for each feature) and
        ``dictionary``.
    batch_size : int, default=3
        Features of a batch, at most.
    verbose : int or bool, default=False
        Accepted for compatibility: use ``set_callbacks(sklearn.callback.ProgressBar())``.
    shuffle : bool, default=True
        Whether the features of the batches are drawn, once; else they follow their order.
    n_jobs : int or None, default=None
        Accepted for compatibility: large batches use the threads that BLAS may use.
    method : {'lars', 'cd'}, default='lars'
        Accepted for compatibility: the lassos are solved by coordinate descent, to the same answer.
    random_state : int, RandomState instance or None, default=None
        Draws the batches, and the features that unused components begin from anew.
    tol : float, default=1e-3
        The fit ends after a step that moves the scores by less than this times the number of
        components, in the Frobenius norm, if the certificate holds; 0 to go on.
    max_no_improvement : int or None, default=10
        The fit also ends when so many batches in a row have not lowered the objective, each feature
        taken with its latest loadings; None to go on.

    Attributes
    ----------
    components_, n_components_, mean_, n_nonzero_, explained_variance_, \
explained_variance_ratio_, projected_variance_, total_variance_, n_samples_seen_
        As in :class:`eigenlens.SparsePCA`.
    n_iter_ : int
        Epochs that were begun.
    converged_ : bool
        Whether the fit ended before `max_iter`, with scores that meet the certificate.
    objective_history_ : ndarray
        The objective after each epoch; of the first, each feature with the scores that its loadings
        were found with.
    certificate_ : Certificate
        How far any score in use is from its optimum, the other scores and the loadings being what
        they are: the length of the step to it. Asked for is ``sqrt(tol)``.
    solver_ : str

    See Also
    --------
    SparsePCA : All features in each iteration, and more formulations.
    MiniBatchDictionaryLearning : The same descent over rows.

    References
    ----------
    J. Mairal, F. Bach, J. Ponce, G. Sapiro, Online learning for matrix factorization and sparse
    coding, Journal of Machine Learning Research 11 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import MiniBatchSparsePCA
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.standard_normal((200, 2)) * [1, 2]
    >>> X = np.repeat(hidden, 3, axis=1) + 0.1 * rng.standard_normal((200, 6))
    >>> stream = MiniBatchSparsePCA(n_components=2, alpha=3, random_state=1)
    >>> for batch in np.array_split(X, 5):
    ...     stream = stream.partial_fit(batch)
    >>> (stream.components_ != 0).astype(int)
    array([[0, 0, 0, 1, 1, 1],
           [1, 1, 1, 0, 0, 0]])
    """

    _remedy = "Raise max_iter, tol or max_no_improvement."

    in_batches_of = "SparsePCA"
    # a batch is some columns, so that the answer depends on their order, and on those of zeros
    claims = SparsePCA.claims - {"column_order", "zero_columns"}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0.0, None, closed="left")],
        "ridge_alpha": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "callback": [None, callable],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "shuffle": ["boolean"],
        "n_jobs": [Integral, None],
        "method": [StrOptions({"lars", "cd"})],
        "random_state": ["random_state"],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_no_improvement": [Interval(Integral, 0, None, closed="left"), None],
    }

    # what SparsePCA lets a user choose and this class does not
    formulation = "online"
    precomputed = False
    U_init = V_init = None
    alpha_scores = 0.0

    alpha: float

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1,
        ridge_alpha: float = 0.01,
        max_iter: int = 1000,
        callback: Callable[[dict[str, Any]], object] | None = None,
        batch_size: int = 3,
        verbose: int | bool = False,
        shuffle: bool = True,
        n_jobs: int | None = None,
        method: Literal["lars", "cd"] = "lars",
        random_state: int | np.random.RandomState | None = None,
        tol: float = 1e-3,
        max_no_improvement: int | None = 10,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.ridge_alpha = ridge_alpha
        self.max_iter = max_iter
        self.callback = callback
        self.batch_size = batch_size
        self.verbose = verbose
        self.shuffle = shuffle
        self.n_jobs = n_jobs
        self.method = method
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement

    def _solve_rows(self, rows: _Rows, rng: np.random.Generator, monitor: Monitor) -> _Sparse:
        rows.require_variance()
        features = np.ascontiguousarray(rows.A.T)
        k = len(features) if self.n_components is None else int(self.n_components)
        learner = online.Learner(
            online.leading_atoms(features, k),
            alpha=self.alpha,
            seed=rng.integers(0, 2**32, size=4, dtype=np.uint32),
        )
        learned = online.solve(
            features,
            learner,
            batch_size=self.batch_size,
            max_iter=self.max_iter,
            tol=self.tol,
            max_no_improvement=self.max_no_improvement,
            shuffle=rng if self.shuffle else None,
            monitor=monitor,
            callback=self.callback,
        )
        found = self._directions(features, learner.atoms, learned)
        self._warn_of_zeros(found, float(np.linalg.norm(features, axis=1).max()))
        return self._described(found, rows)

    def _directions(
        self, features: NDArray, scores: NDArray, learned: online.Learned
    ) -> Directions:
        """Return the loadings of all features on the scores that were found, at length 1."""
        loadings = sparse_l1.encode(features, scores, self.alpha).T
        lengths = np.linalg.norm(loadings, axis=1, keepdims=True)
        # of two scores that are alike, one has all of the loadings, the other those of rounding
        used = lengths > NEGLIGIBLE * lengths.max()
        return Directions(
            components=np.divide(loadings, lengths, out=np.zeros_like(loadings), where=used),
            objective_history=learned.objective_history,
            n_iter=learned.n_iter,
            converged=learned.converged,
            certificate=learned.certificate,
        )

    def _asked_to_converge(self) -> bool:
        return self.max_iter > 0 and self.tol > 0
