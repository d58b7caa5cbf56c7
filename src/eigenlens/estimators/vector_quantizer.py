"""Vector quantisation: a table as rows of a code book."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._base import Estimator, StrPath, fitting
from .._compat import Interval, StrOptions, check_array
from ..data.blocks import Blocks
from ..data.dask import DaskBlocks
from ..ops import threads
from ..ops.centred import centred
from ..ops.columns import ColumnMoments
from ..ops.finite import require_finite
from ..ops.weights import mass_of
from ..solvers import elkan
from ..solvers.elkan import STEPS
from ..solvers.lloyd import Cells, csr, descend, means_of, nearest, squares
from ..solvers.solution import Certificate, Monitor, Solution, ignore
from ._openmp import by_openmp

__all__ = ["VectorQuantizer", "choose_solver"]

RESIDUAL = "distance of the centres from the means of their cells / spread of X"
SMALL = 1 << 20  # entries up to which a table in single precision is taken in double
LARGE = 1e10  # products in a step of Lloyd's, which then takes about a second
RANDOM_STARTS = 10  # scikit-learn's number, where rows are drawn without looking at distances
SAMPLE = 20_000  # rows of a table in blocks that settle where to start,
FEWEST = 50  # or so many for each centre if that is more,
SAMPLE_BYTES = 1 << 28  # or as many as this holds if that is less


@dataclass(frozen=True, kw_only=True)
class CodeBook(Solution):
    """Centres, one a row, those of large cells first, and the squared error that they leave."""

    components: NDArray
    inertia: float
    reconstruction_err: float


def choose_solver(shape: tuple[int, int], n_components: int) -> str:
    """Return the solver that ``solver='auto'`` takes.

    It is ``'kmeans'``, until a single step, which compares every row with every centre, would take
    about a second and a fit minutes.

    Parameters
    ----------
    shape : (n_samples, n_features)
    n_components : int
        Rows of the code book.

    Returns
    -------
    {'kmeans', 'minibatch'}

    Examples
    --------
    >>> from eigenlens import VectorQuantizer
    >>> VectorQuantizer.choose_solver((60_000, 784), 49)
    'kmeans'
    >>> VectorQuantizer.choose_solver((2_000_000, 784), 49)
    'minibatch'
    """
    n, d = shape
    return "minibatch" if float(n) * d * n_components > LARGE else "kmeans"


class VectorQuantizer(Estimator):
    """Vector quantisation: each row stands for one of a few typical rows, its nearest.

    It looks for a code book H of k rows, and codes W, that solve::

        min over W, H of  |X - W H|^2,   one 1 in each row of W, all else 0

    which is k-means in the words of a matrix factorisation: a row of X belongs to the cell of the
    nearest row of H, and each row of H is the mean of its cell. So it stands beside
    :class:`eigenlens.PCA`, where W may be anything, and non-negative factorisations, where W and H
    must not be negative: PCA adds and subtracts components, those only add parts, and here a row is
    one whole. Take one of the others for rows that are mixtures. X is not centred: to subtract a
    row from all of X subtracts it from all of H.

    Steps of Lloyd's are taken with bounds that spare most of the distances (Elkan 2003; Ding and
    others 2015), which changes no step. They start as :class:`sklearn.cluster.KMeans` does. For
    sparse rows the search is that class, and for batches
    :class:`sklearn.cluster.MiniBatchKMeans`; centres, cells and the certificate are then computed
    anew from what it finds.

    Parameters
    ----------
    n_components : int, default=8
        Number of centres k.
    solver : {'auto', 'kmeans', 'minibatch'}, default='auto'
        ``'kmeans'``: steps of Lloyd's over all rows, to the tolerance. ``'minibatch'``: batches of
        rows, for large tables: much sooner, and in general not to the tolerance.
        ``'auto'`` takes the first unless the table is very large (see :meth:`choose_solver`).
    init : {'k-means++', 'random'} or ndarray of shape (n_components, n_features), \
default='k-means++'
        Where to start: at rows drawn far from each other, at any rows, or at given centres.
    n_init : 'auto' or int, default='auto'
        Number of starts, of which the best is kept. ``'auto'`` is 10 for ``'random'``, else 1. The
        problem has local minima: more starts find better ones. Batches are not run anew: there the
        starts are only compared before.
    max_iter : int, default=300
        Most steps of each start, or passes over X in batches.
    tol : float, default=1e-4
        Tolerance of the certificate.
    batch_size : int, default=1024
        Rows in a batch.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts and batches. With an int they are those of scikit-learn's classes.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The code book H, the centres of large cells first. If X has fewer rows that differ, the
        last ones repeat others, and no row is theirs.
    labels_ : ndarray of shape (n_samples,)
        For each row of the fit the number of its centre. Not there after a fit to a Dask table,
        whose rows stay where they are: `predict` gives a Dask array of them.
    inertia_ : float
        Squared distances of the rows from their centres, weighted and summed.
    reconstruction_err_ : float
        ``|X - W H|``, the root of `inertia_`.
    n_components_ : int
    solver_ : str
        ``'kmeans'`` or ``'minibatch'``.
    certificate_ : Certificate
        How far the centres are from the means of their cells, as a part of how far the rows are
        from their mean: its square is the share of the sum of squares that one more step would take
        off. It proves that no step leads further, not that no other code book is better.
    n_iter_ : int
        Steps, of all starts together; passes over X in batches. For tables in blocks, passes over
        all rows.
    converged_ : bool
    objective_history_ : ndarray
        The squared error after every ten steps, start after start, as callbacks are shown it. For
        tables in blocks, that of the passes.

    See Also
    --------
    PCA : Rows as sums of components, with the least squared error that k of them can have.
    sklearn.cluster.KMeans : The same as a method of clustering.

    Notes
    -----
    A fit allocates one copy of X, an eighth of that for bounds, and some k x k numbers; for batches
    n_samples x n_components numbers too.

    Rows may come in blocks, from a file or from Dask. Then ``'k-means++'`` and ``'random'`` draw
    from a sample of 20 000 rows, or 50 for each centre, that does not depend on the blocks, and the
    best of `n_init` starts is found there (for ``'auto'`` up to 10, which cost no more than one on
    all rows); steps over all rows go on from it. Where the table is no
    larger, the sample is all of it, and the answer that of the table in memory. From centres that
    are given the steps are those in memory too. A fit takes one pass for the mean, a look at the
    sample, a pass for each step (two where a cell has lost its rows), and for files one for
    `labels_`. Memory is that of the sample, a few blocks and some k x d numbers. ``'auto'`` is
    ``'kmeans'`` here.

    References
    ----------
    S. P. Lloyd, Least squares quantization in PCM, IEEE Transactions on Information Theory 28
    (1982).
    C. Elkan, Using the triangle inequality to accelerate k-means, ICML (2003).
    Y. Ding, Y. Zhao, X. Shen, M. Musuvathi, T. Mytkowicz, Yinyang k-means: a drop-in replacement of
    the classic k-means with consistent speedup, ICML (2015).
    D. D. Lee, H. S. Seung, Learning the parts of objects by non-negative matrix factorization,
    Nature 401 (1999), where PCA, NMF and vector quantisation stand side by side.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import VectorQuantizer
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0.0, 0.0], [5.0, 5.0]], [30, 20], axis=0) + 0.1 * rng.normal(size=(50, 2))
    >>> model = VectorQuantizer(n_components=2, random_state=0).fit(X)
    >>> model.components_.round(0) + 0.0
    array([[0., 0.],
           [5., 5.]])
    >>> model.transform([[4.0, 6.0]])
    array([[0., 1.]])
    """

    choose_solver = staticmethod(choose_solver)

    excused: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "The start is drawn from the rows, and repeated rows are drawn otherwise than weighted "
        "ones. Centres are weighted means whatever the start: test_vector_quantizer holds it.",
    )
    _instead = (
        "Take solver='kmeans' without sample_weight, or rows that fit in one place, for example "
        "X[:10000].compute()."
    )
    _remedy = "Raise max_iter or tol; after batches, take solver='kmeans'."

    kind = "parts"
    claims = frozenset({"shift", "scale", "rotation", "column_order", "zero_columns"})
    on_blocks: ClassVar[Mapping[str, Any]] = {}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"auto", "kmeans", "minibatch"})],
        "init": [StrOptions({"k-means++", "random"}), np.ndarray],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    components_: NDArray

    def __init__(
        self,
        n_components: int = 8,
        *,
        solver: Literal["auto", "kmeans", "minibatch"] = "auto",
        init: Literal["k-means++", "random"] | NDArray = "k-means++",
        n_init: Literal["auto"] | int = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        batch_size: int = 1024,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.random_state = random_state

    @fitting
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: StrPath | None = None,
    ) -> Self:
        """Fit the code book to `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix, Blocks} of shape (n_samples, n_features)
            The data, one row a sample. It is never written to. A table of :func:`eigenlens.open`
            is taken in blocks if it is large, and so is a Dask array or dataframe.
        y : Ignored
            Present for the conventions of pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts in the squared error; 0 leaves it out.
        checkpoint : str or path-like, optional
            A folder for a fit in blocks to write down how far it is: after a kill the same call
            goes on from there, to the same numbers. The folder is removed when the fit is done.
            Nothing is written for a table that is not taken in blocks.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, checkpoint=checkpoint)

    def _solve(
        self, X: Any, *, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> CodeBook:
        if isinstance(X, Blocks):
            return self._solve_blocks(X, rng, monitor)
        moments = centred(X, weight)
        require_finite(moments.mean, moments.square)
        n, d = X.shape
        if sparse.issparse(X):
            _require_squares(moments.mean, moments.square, mass_of(n, weight))
        self._require_enough(n)
        mean = np.zeros(d) if sparse.issparse(X) else moments.mean
        search = self._search(X, mean, _root(moments.square), weight, rng, monitor)
        solver = choose_solver(X.shape, self.n_components) if self.solver == "auto" else self.solver
        start = self.init if isinstance(self.init, str) else self._given(d) - mean
        if solver == "minibatch":
            cells = search.by_batches(start, self.n_init, self.batch_size)
        else:
            cells = search.by_steps(start, self._n_starts())
        return self._code_book(
            cells, mean, search.spread, solver=solver, n_iter=search.n_iter, history=search.history
        )

    def _solve_blocks(self, X: Blocks, rng: np.random.Generator, monitor: Monitor) -> CodeBook:
        """Find a start on a sample of the rows, and go down from it in passes over all."""
        about, most, stride = ColumnMoments.over(X), int(self.max_iter), 1
        self._require_rows(0 if about is None else about.count)
        assert about is not None
        self._require_enough(about.count)
        square = float(about.squares.sum())
        require_finite(about.mean, square)
        spread = _root(square)
        sample = self._sample(X, about.count, rng) if isinstance(self.init, str) else None
        thin = X.is_sparse if sample is None else sparse.issparse(sample)
        if thin:
            _require_squares(about.mean, square, about.count)
        mean = np.zeros(len(X.names)) if thin else about.mean
        if sample is None:
            start = self._given(len(mean)) - mean
            # as in memory: the last step is looked at too, where rows are sparse each tenth is
            if thin:
                stride, most = STEPS + 2, most + 2 * -(-most // STEPS)
            else:
                most += 1
        else:
            times = about.count / sample.shape[0]
            search = self._search(sample, mean, spread / float(np.sqrt(times)), None, rng, ignore)
            start = search.by_steps(self.init, self._n_starts(times)).centres
        found = descend(
            X,
            start,
            mean=mean,
            spread=spread,
            tol=self.tol,
            most=most,
            stride=stride,
            monitor=monitor,
        )
        return self._code_book(
            found.cells, mean, spread, solver="kmeans", n_iter=found.n_steps, history=found.history
        )

    def _sample(self, X: Blocks, n: int, rng: np.random.Generator) -> Any:
        """Return rows to find a start on, the same whatever the blocks; all if there are few."""
        k, d = int(self.n_components), len(X.names)
        size = max(k, min(max(SAMPLE, FEWEST * k), SAMPLE_BYTES // (8 * d)))
        return X.take(np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False)))

    def _search(
        self,
        X: Any,
        mean: NDArray,
        spread: float,
        weight: NDArray | None,
        rng: np.random.Generator,
        monitor: Monitor,
    ) -> _Search:
        if sparse.issparse(X):
            rows = csr(X).copy()  # scikit-learn takes none that are read-only
        else:
            rows = np.empty(X.shape, np.float64 if X.size <= SMALL else X.dtype)
            # in double, and rounded when it is small
            np.subtract(X, mean, out=rows, dtype=np.float64, casting="same_kind")
        return _Search(
            rows=rows,
            weight=np.ones(X.shape[0]) if weight is None else weight,
            spread=spread,
            k=int(self.n_components),
            tol=self.tol,
            max_iter=self.max_iter,
            state=self._state(rng),
            monitor=monitor,
        )

    def _fits_blocks(self, table: Blocks) -> bool:
        return self.solver != "minibatch"

    def _require_enough(self, n: int) -> None:
        if self.n_components > n:
            raise ValueError(
                f"n_components={self.n_components} is more than n_samples={n}. "
                f"Ask for at most {n}, or give more data."
            )

    def _code_book(
        self,
        cells: Cells,
        mean: NDArray,
        spread: float,
        *,
        solver: str,
        n_iter: int,
        history: list[float],
    ) -> CodeBook:
        certificate = Certificate(RESIDUAL, cells.residual / spread, self.tol)
        return CodeBook(
            solver=solver,
            n_iter=n_iter,
            converged=certificate.holds,
            objective_history=np.array(history),
            certificate=certificate,
            components=cells.centres[np.argsort(-cells.mass, kind="stable")] + mean,
            inertia=cells.square,
            reconstruction_err=float(np.sqrt(cells.square)),
        )

    def _state(self, rng: np.random.Generator) -> np.random.RandomState:
        """Return what scikit-learn draws from: without a seed a new one, not the global one."""
        seed = int(rng.integers(2**32)) if self.random_state is None else self.random_state
        state: np.random.RandomState = check_random_state(seed)
        return state

    def _n_starts(self, times: float = 1.0) -> int:
        """Return how many starts to take on a part of the rows, of which X has `times` as many."""
        if not isinstance(self.init, str):
            return 1
        if self.n_init != "auto":
            return int(self.n_init)
        # on a sample, as many as cost no more than one on all rows
        return RANDOM_STARTS if self.init == "random" else min(RANDOM_STARTS, int(times))

    def _given(self, d: int) -> NDArray:
        """Return the centres to start from, checked."""
        rules = {"dtype": np.float64, "ensure_2d": False, "allow_nd": True}
        given: NDArray = check_array(self.init, input_name="init", **rules)
        if given.shape != (self.n_components, d):
            raise ValueError(
                f"init has shape {given.shape}, and a start has n_components={self.n_components} "
                f"centres of {d} features. Give an array of shape {(self.n_components, d)}."
            )
        return given

    def _store(self, solution: Solution, X: Any) -> None:
        super()._store(solution, X)
        if isinstance(solution, CodeBook):
            # a centre turned round is no centre
            self.components_ = np.ascontiguousarray(solution.components, dtype=X.dtype)
        self.n_components_ = len(self.components_)
        if isinstance(X, Blocks):
            if not isinstance(X, DaskBlocks):
                self.labels_ = self.predict(X)
        else:
            self.labels_ = nearest(X, self.components_)  # of all rows, also those of no weight

    def _asked_to_converge(self) -> bool:
        return self.solver != "minibatch"  # who asks for batches asks for an approximation

    def predict(self, X: ArrayLike) -> NDArray:
        """Return for each row of `X` the number of its nearest centre.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return nearest(self._fitted(X), self.components_)

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the codes W of `X`: in each row a 1 for the nearest centre, all else 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        rows = self._fitted(X)
        codes: NDArray = np.zeros((rows.shape[0], len(self.components_)), dtype=rows.dtype)
        codes[np.arange(len(codes)), nearest(rows, self.components_)] = 1
        return codes

    def inverse_transform(self, X: ArrayLike) -> NDArray:
        """Return ``W H`` for codes W: the centre that each row stands for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return self._rows_from(self._check_scores(X))

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return minus the mean squared distance of the rows of `X` from their centres.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        float
        """
        rows = self._fitted(X)
        labels = nearest(rows, self.components_)
        return -float(squares(rows, self.components_, labels).mean())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False)
class _Search:
    """The search for a code book, watched: what is given, and how it has gone so far."""

    rows: Any
    weight: NDArray
    spread: float
    k: int
    tol: float
    max_iter: int
    state: np.random.RandomState
    monitor: Monitor
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    stopped: bool = False

    def by_batches(self, start: Any, n_init: Any, batch_size: int) -> Cells:
        """Return cells that batches of rows have found, with their means as centres."""
        n_init = n_init if isinstance(start, str) else 1
        model = MiniBatchKMeans(
            self.k, init=start, n_init=n_init, max_iter=self.max_iter, batch_size=batch_size
        )
        return self._run(model)

    def by_steps(self, start: Any, n_starts: int) -> Cells:
        """Return the best cells to which steps of Lloyd's lead from several starts."""
        found = []
        for _ in range(n_starts):
            found.append(self._descend(start))
            if self.stopped:
                break
        return min(found, key=lambda cells: cells.square)

    def _descend(self, start: Any) -> Cells:
        """Go down from one start."""
        if sparse.issparse(self.rows):
            return self._descend_sparse(start)
        found = elkan.descend(
            self.rows,
            self._drawn(start),
            weight=self.weight,
            spread=self.spread,
            tol=self.tol,
            most=self.max_iter,
            monitor=self._watch,
        )
        self.n_iter += found.n_steps
        return found.cells

    def _drawn(self, start: Any) -> NDArray:
        """Return where to start, drawn as scikit-learn draws."""
        rows, weight = self.rows, self.weight
        if not isinstance(start, str):
            return np.asarray(start)
        if start == "random":
            share = weight / weight.sum()
            return np.asarray(rows[self.state.choice(len(rows), self.k, replace=False, p=share)])
        with threads.serial_blas():
            drawn, _ = kmeans_plusplus(rows, self.k, sample_weight=weight, random_state=self.state)
        return np.asarray(drawn)

    def _watch(self, square: float) -> bool:
        """Note how it goes, and whether somebody asked to stop."""
        self.history.append(square)
        self.stopped = self.monitor(square)
        return self.stopped

    def _descend_sparse(self, start: Any) -> Cells:
        """Go down from one start, with a look at the certificate every few steps."""
        steps_left = self.max_iter
        while True:
            before = self.n_iter
            # scikit-learn's own stop comes later than ours: it goes on until no label changes
            model = KMeans(
                self.k, init=start, n_init=1, max_iter=min(STEPS, steps_left), tol=0, copy_x=False
            )
            cells = self._run(model)
            steps_left -= self.n_iter - before
            if self.stopped or steps_left <= 0 or cells.residual <= self.tol * self.spread:
                return cells
            start = cells.means

    def _run(self, model: Any) -> Cells:
        """Fit a model of scikit-learn's; return its cells, and note how it went."""
        model.set_params(random_state=self.state)
        with warnings.catch_warnings():  # that there are fewer rows that differ does no harm
            # by its words: filters are those of all threads, and fits at once may leave this one
            warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
            by_openmp(model.fit, self.rows, sample_weight=self.weight)
        self.n_iter += int(model.n_iter_)
        # Means are summed again, because those of scikit-learn depend on the number of threads in
        # their last digits.
        means, _ = means_of(self.rows, model.labels_, model.cluster_centers_, self.weight)
        cells = Cells.of(self.rows, means, self.weight)
        self._watch(cells.square)
        return cells


def _require_squares(mean: NDArray, square: float, mass: float) -> None:
    """Raise unless squares of sparse rows are finite, from which no mean is taken.

    Distances to centres are sums of ``x (x - 2 c)``, which is up to three times the square.
    """
    with np.errstate(over="ignore"):
        require_finite(mean, 4.0 * (square + mass * float(mean @ mean)))


def _root(square: float) -> float:
    """Return the root of the sum of squares, which distances are compared with.

    Of rows that are all the same every distance is zero, whatever it is compared with.
    """
    return float(np.sqrt(max(square, 0.0))) or 1.0
