"""Kernel PCA: principal components in the feature space of a kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.utils.validation import check_is_fitted

from .._base import Estimator, StrPath, fitting
from .._compat import Interval, RealNotInt, StrOptions, check_array
from ..data.blocks import Blocks
from ..data.dask import DaskBlocks
from ..ops import threads
from ..ops.columns import ColumnMoments
from ..ops.finite import NonFiniteError, require_finite
from ..ops.half import Centred
from ..ops.kernels import (
    Cosine,
    Function,
    Kernel,
    Linear,
    Matern,
    Polynomial,
    Radial,
    Rbf,
    Tanh,
    median_square,
)
from ..select import rank_of
from ..solvers import kernel as kernel_solver
from ..solvers import preimage
from ..solvers.kernel import NEGATIVE, Axes, Expansion, choose_solver
from ..solvers.preimage_distance import from_distances
from ..solvers.preimage_learned import Learned, learn, rows_to_learn_from
from ..solvers.solution import Monitor
from ._openmp import by_openmp

__all__ = ["KernelPCA"]

SOLVERS = ("auto", "dense", "arpack", "randomized")
PREIMAGES = ("auto", "fixed_point", "learned", "distance")
TOL = 1e-11  # eigen-residual for tol=0
SAMPLE = 1000  # rows that settle gamma='median'
LANDMARKS = 100  # for each component, if not told otherwise,
FEWEST = 1000  # but no fewer than these
CHUNK = 1 << 23  # coefficients of pre-images that are in memory at a time
ASYMMETRY = 1e-8  # of the largest entry of a kernel matrix


class KernelPCA(Estimator):
    """PCA of what the rows become in the feature space of a kernel: curved components.

    With ``phi`` the map of which the kernel is the product, ``k(x, y) = phi(x)'phi(y)``, it finds
    the directions in which the images vary most::

        max over v_1, ..., v_k orthonormal  of  sum_i sum_j ((phi(x_i) - mean)' v_j)^2

    They are combinations of images of rows, found from the kernel between all rows alone. Drop-in
    for :class:`sklearn.decomposition.KernelPCA`: the same parameters, attributes and methods. Added
    are pre-images that work (`preimage`, `denoise`), a fraction of the variance as `n_components`,
    and an approximation whose memory grows with the rows, not with their square.

    Parameters
    ----------
    n_components : int, float or None, default=None
        How many components to keep. A float in (0, 1): the fewest that explain more than this
        fraction of the kernel's variance. None: all whose eigenvalue is not zero.
    kernel : str or callable, default='linear'
        'linear', 'poly', 'rbf', 'sigmoid', 'cosine', 'laplacian', 'matern' (of order 5/2, with the
        length scale that 'rbf' has for the same gamma), any other of
        :func:`sklearn.metrics.pairwise.pairwise_kernels`, 'precomputed', or a function of two rows.
    gamma : float, 'scale', 'median' or None, default=None
        Coefficient of rbf, matern, laplacian, poly, sigmoid and chi2. None: 1 / n_features.
        'scale': that over the variance of all entries. 'median': one over the median of squared
        distances between rows.
    degree : float, default=3
        Degree of poly.
    coef0 : float, default=1
        Constant of poly and sigmoid.
    kernel_params : dict, default=None
        Further arguments of a callable kernel.
    alpha : float, default=1.0
        Ridge of the regression of `fit_inverse_transform`.
    fit_inverse_transform : bool, default=False
        Learn pre-images as scikit-learn does, with its numbers. `preimage` has better ones.
    eigen_solver : {'auto', 'dense', 'arpack', 'randomized'}, default='auto'
        LAPACK on the whole matrix, or block Lanczos with narrow or wide blocks (see
        :meth:`choose_solver`), which reads one half of the kernel and copies nothing.
    tol : float, default=0
        Largest eigen-residual of the iterative solvers, relative to the first eigenvalue; 0 stands
        for 1e-11.
    max_iter : int, default=None
        Most steps of the iterative solvers. None: until `tol` is met.
    iterated_power : int or 'auto', default='auto'
        Steps of 'randomized' after the first; 'auto' goes on until `tol` is met.
    remove_zero_eig : bool, default=False
        Drop components whose eigenvalue is zero also if a number is asked for.
    random_state : int, RandomState instance or None, default=None
        Seed of the iterative solvers, of landmarks and samples.
    copy_X : bool, default=True
        Whether `X_fit_` is a copy. Without, the model is spoiled if X is changed after the fit;
        the fit itself never writes to it.
    n_jobs : int, default=None
        Accepted for compatibility: threads are those that BLAS may use.
    approximation : {'nystrom'} or None, default=None
        'nystrom' seeks the components among combinations of some rows, the landmarks, drawn by
        randomly pivoted Cholesky: memory for n_landmarks numbers a row, instead of n_samples / 2.
    n_landmarks : int, float or None, default=None
        How many; or, in (0, 1), the share of the kernel's trace that may be left over, and as many
        as that takes. None: 100 for each component, at least 1000.
    preimage : {'auto', 'fixed_point', 'learned', 'distance'} or None, default=None
        How `inverse_transform` and `denoise` come back from the feature space. 'fixed_point'
        minimises the distance to the image, by means of the rows whose weights follow it, for rbf,
        matern, poly, sigmoid, cosine and linear. 'learned' is a regression from scores to rows, for
        any kernel, with a width of its own and a ridge chosen by leaving rows out. 'distance'
        places a point by its distances to ten neighbours, for rbf, matern, linear, sigmoid and
        poly of odd degree. 'auto': 'fixed_point' where there is one,
        else 'learned'. None: none, or that of `fit_inverse_transform`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Of the centred kernel matrix, in falling order.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Scores of the rows over the root of the eigenvalue; the largest entry of each is positive.
        Not there after a fit to a Dask table, whose rows stay where they are: `transform` gives
        their scores.
    explained_variance_ : ndarray of shape (n_components,)
        Variances of the scores: eigenvalues over n_samples - 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same as fractions of the total variance; for landmarks, a lower bound of them.
    total_variance_ : float
        Of the rows in the feature space; for landmarks, an upper bound of it.
    smallest_eigenvalue_ : float
        Where the kernel need not be positive definite, or all eigenvalues were found: below zero if
        it is not.
    gamma_ : float
    X_fit_ : array of shape (n_points, n_features)
        The rows that components are combinations of: all, or the landmarks.
    landmarks_ : ndarray of shape (n_points,)
        Their places, for landmarks.
    axes_ : Axes
        The components and the mean, as combinations of the images of the rows of `X_fit_`.
    dual_coef_, X_transformed_fit_
        Those of `fit_inverse_transform`.
    learned_ : Learned
        The regression of ``preimage='learned'``.
    solver_ : str
    certificate_ : Certificate
        Bound on the error of the eigenvalues relative to the first, from residuals; for landmarks,
        on the share of variance that the best components could add.
    n_iter_, converged_, objective_history_
        Steps, whether the certificate holds, and the sum of eigenvalues at each look.

    See Also
    --------
    PCA : The same for the linear kernel, and faster.
    sklearn.decomposition.KernelPCA : The class that this one stands in for.

    Notes
    -----
    A fit allocates one half of the kernel matrix in float64, and for 'dense' two matrices of its
    size beside it; with `approximation` an array of n_samples by n_landmarks.

    Rows may come in blocks, from a file or from Dask, if there is an `approximation`: landmarks and
    components are those of the same rows in memory, whatever the blocks. A fit with m landmarks
    makes one pass over the table, then some m / 100 + 3 rounds of a pass and a look at at most 8192
    rows (which for files other than ``.npy`` is another reading), then one pass for the signs and
    scores; one more where ``gamma='scale'`` or the kernel is linear, and where the number of rows
    must be counted. Nothing is kept beside the table: memory is that of a few blocks, m x m
    numbers, one number for 64 rows, and, for files, `eigenvectors_`. A row takes some ``2 m^2 + m^3
    / 400`` operations, and ``m^2 / 256 + m`` values of the kernel.

    A pre-image is the point whose image is nearest to the projection, which itself is no image.
    It depends on where the search begins: `denoise` begins at the point, `inverse_transform` at the
    row whose scores are nearest.

    References
    ----------
    B. Schoelkopf, A. Smola, K.-R. Mueller, Nonlinear component analysis as a kernel eigenvalue
    problem, Neural Computation 10 (1998).
    S. Mika et al., Kernel PCA and de-noising in feature spaces, NIPS 11 (1999).
    J. T. Kwok, I. W. Tsang, The pre-image problem in kernel methods, IEEE TNN 15 (2004).
    G. H. Bakir, J. Weston, B. Schoelkopf, Learning to find pre-images, NIPS 16 (2004).
    Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, Randomly pivoted Cholesky, CPAM (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from eigenlens import KernelPCA
    >>> X, y = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    >>> model = KernelPCA(2, kernel="rbf", gamma=2.0, preimage="auto").fit(X)
    >>> scores = model.transform(X)
    >>> inner, outer = scores[y == 1, 0], scores[y == 0, 0]
    >>> bool(inner.max() < outer.min() or outer.max() < inner.min())
    True
    >>> model.denoise(X[:5]).shape
    (5, 2)
    """

    kind = "kernel"
    on_blocks: ClassVar[Mapping[str, Any]] = {"approximation": "nystrom"}
    claims = frozenset({"uncorrelated", "row_order", "column_order", "repeated_rows"})
    choose_solver = staticmethod(choose_solver)
    _instead = (
        "Give the table itself with approximation='nystrom', and preimage in place of "
        "fit_inverse_transform."
    )
    _remedy = "Raise tol or max_iter, or take eigen_solver='dense', which is exact."

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "kernel": [
            StrOptions({*PAIRWISE_KERNEL_FUNCTIONS, "matern", "precomputed"}),
            callable,
        ],
        "gamma": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"scale", "median"}),
            None,
        ],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "eigen_solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "random_state": ["random_state"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
        "approximation": [StrOptions({"nystrom"}), None],
        "n_landmarks": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "preimage": [StrOptions(set(PREIMAGES)), None],
    }

    eigenvalues_: NDArray
    eigenvectors_: NDArray
    axes_: Axes
    X_fit_: Any

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: int | Literal["auto"] = "auto",
        remove_zero_eig: bool = False,
        random_state: int | np.random.RandomState | None = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
        approximation: Literal["nystrom"] | None = None,
        n_landmarks: int | float | None = None,
        preimage: str | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.preimage = preimage

    # ------------------------------------------------------------------------------------ the fit

    @fitting
    def fit(self, X: ArrayLike, y: object = None, *, checkpoint: StrPath | None = None) -> Self:
        """Fit the model to `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix, Blocks} of shape (n_samples, n_features)
            The data, one row a sample. It is never written to. For ``kernel='precomputed'``, the
            kernel between all rows.
        y : Ignored
            Present for the conventions of pipelines.
        checkpoint : str or path-like, optional
            A folder for a fit in blocks to write down how far it is: after a kill the same call
            goes on from there, to the same numbers. The folder is removed when the fit is done.
            Nothing is written for a table that is not taken in blocks.

        Returns
        -------
        self
        """
        return self._fit(X, y, checkpoint=checkpoint)

    def _solve(
        self, X: Any, *, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> Expansion:
        self._require_suited(X)
        n, k = X.shape[0], self.n_components
        self._require_rows(n)
        self.gamma_ = self._width(X, rng)
        self._shift = self._shift_of(X)
        if isinstance(k, Integral) and k > n:
            warnings.warn(
                f"n_components={k} is more than the {n} rows of X, and no more than {n} components "
                f"can be found. Ask for at most {n}, or give more data.",
                UserWarning,
                stacklevel=7,
            )
            k = n
        rank = rank_of(k, n, n)
        try:
            if self.approximation:
                found = self._solve_nystrom(X, rank, rng)
            else:
                found = self._solve_exactly(X, k, rank, rng, monitor)
        except NonFiniteError:
            self._explain_kernel(X)
            raise
        found = self._without_zeros(found)
        self._warn_of_few(found, k)
        self._learn(found, X, rng)
        return found

    def _fits_blocks(self, table: Blocks) -> bool:
        way_back = bool(self.preimage) or not self.fit_inverse_transform
        return bool(self.approximation) and self.kernel != "precomputed" and way_back

    def _solve_exactly(
        self, X: Any, k: Any, rank: Any, rng: np.random.Generator, monitor: Monitor
    ) -> Expansion:
        if self.kernel == "precomputed":
            K = Centred.of_matrix(_symmetric(X))
        else:
            K = Centred.of_points(self._kernel(), X)
        solver = choose_solver(X.shape[0], k) if self.eigen_solver == "auto" else self.eigen_solver
        budget = self.max_iter
        if solver == "randomized" and self.iterated_power != "auto":
            budget = self.iterated_power + 1
        return kernel_solver.solve(
            K,
            rank,
            solver=solver,
            definite=self._definite,
            rng=rng,
            tol=self.tol or TOL,
            max_steps=budget,
            monitor=monitor,
        )

    def _solve_nystrom(self, X: Any, rank: Any, rng: np.random.Generator) -> Expansion:
        asked, n = self.n_landmarks, X.shape[0]
        if asked is None:
            count = LANDMARKS * rank if isinstance(rank, int) and rank < n else FEWEST
            most, tol = max(count, FEWEST), 0.0
        elif isinstance(asked, Integral):
            most, tol = int(asked), 0.0
        else:
            most, tol = n, float(asked)
        kernel = self._kernel()
        # numbers of other kernels may be large beside their variance
        dtype = X.dtype if isinstance(kernel, Radial) else np.dtype(np.float64)
        return kernel_solver.nystrom(
            kernel,
            X,
            rank,
            most=min(most, n),
            tol=tol,
            rng=rng,
            dtype=dtype,
            keep=not (isinstance(X, Blocks) and isinstance(X.plain, DaskBlocks)),
        )

    def _warn_of_few(self, found: Expansion, k: Any) -> None:
        """Say so if landmarks cannot give what was asked for."""
        nothing = not (found.eigenvalues > 0).any()  # of which `_without_zeros` has told
        if not self.approximation or k is None or nothing:
            return
        reached = len(found.eigenvalues) if k >= 1 else found.explained_variance_ratio.sum()
        if reached < k and not self.remove_zero_eig:
            what = f"{reached} components" if k >= 1 else f"{reached:.0%} of the variance"
            warnings.warn(
                f"{len(found.axes.centre)} landmarks give {what}, not n_components={k}. Raise "
                "n_landmarks, or ask for less.",
                UserWarning,
                stacklevel=8,
            )

    def _require_suited(self, X: Any) -> None:
        """Raise unless what is asked for can be had of such an X."""
        if self.kernel == "precomputed":
            n, d = X.shape
            if self.fit_inverse_transform:
                raise ValueError(
                    "Cannot fit_inverse_transform with a precomputed kernel: there are no rows to "
                    "come back to. Give the rows, and the kernel by its name or as a function."
                )
            if self.preimage or self.approximation:
                what = "preimage" if self.preimage else "approximation"
                raise ValueError(
                    f"{what} needs the rows themselves, and kernel='precomputed' has none. Give "
                    "them, and the kernel by its name or as a function."
                )
            if n != d:
                raise ValueError(
                    f"kernel='precomputed' needs the square matrix of the kernel between all rows, "
                    f"not one of shape {X.shape}. Give the table itself with another kernel."
                )
        counts = self.kernel in ("chi2", "additive_chi2")
        if counts and not isinstance(X, Blocks) and X.min() < 0:
            raise ValueError(
                f"X contains negative values, and kernel={self.kernel!r} compares counts. Take "
                "another kernel, such as 'laplacian', or give X - X.min()."
            )
        if counts and self.fit_inverse_transform and not self.preimage:
            raise ValueError(
                f"fit_inverse_transform takes the kernel between scores, and {self.kernel!r} "
                "compares counts, which scores are not. Take preimage='learned'."
            )
        if self.approximation and self.kernel == "sigmoid":
            raise ValueError(
                "approximation needs a kernel that is positive definite, and 'sigmoid' is not. "
                "Take another kernel, or approximation=None."
            )
        if (self.fit_inverse_transform or self.preimage) and _is_sparse(X):
            raise NotImplementedError(
                "Inverse transform not implemented for sparse matrices! Take X.toarray(), or "
                "neither preimage nor fit_inverse_transform."
            )
        odd = self.kernel not in ("poly", "polynomial") or self.degree % 2 == 1
        if self.preimage == "distance" and (self.kernel == "cosine" or not odd):
            raise ValueError(
                "preimage='distance' needs a kernel that tells how far points are from each other: "
                "'cosine' and 'poly' of a degree that is not odd do not. Take 'fixed_point'."
            )
        if self.preimage in ("fixed_point", "distance") and not self._smooth:
            raise ValueError(
                f"preimage={self.preimage!r} needs a kernel of distances or products, not "
                f"kernel={self.kernel!r}. Take preimage='learned', which suits any."
            )

    def _width(self, X: Any, rng: np.random.Generator) -> float:
        """Return gamma as a number."""
        if self.gamma is None:
            return float(1 / X.shape[1])
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.kernel == "precomputed":
            raise ValueError(
                f"gamma={self.gamma!r} needs the rows themselves, and kernel='precomputed' has "
                "none. Leave gamma as it is."
            )
        if self.gamma == "scale":
            if isinstance(X, Blocks):
                variance = self._columns(X).variance()
            elif sparse.issparse(X):
                variance = float(X.multiply(X).mean()) - float(X.mean()) ** 2
            else:
                variance = float(np.var(X, dtype=np.float64))
            found = X.shape[1] * variance
        else:
            some = np.sort(rng.permutation(X.shape[0])[:SAMPLE])
            found = median_square(_rows(X, some))
        if not np.isfinite(found):
            raise NonFiniteError
        return 1 / found if found > 0 else 1.0

    def _columns(self, X: Blocks) -> ColumnMoments:
        """Return what the columns of a table in blocks add up to."""
        found = ColumnMoments.over(X)
        assert found is not None  # a table without rows has been refused
        require_finite(found.mean, float(found.squares.sum()))
        return found

    def _shift_of(self, X: Any) -> NDArray | None:
        """Return what the linear kernel subtracts from all rows, and centring takes off again."""
        if self.kernel != "linear" or _is_sparse(X):
            return None
        if isinstance(X, Blocks):
            return self._columns(X).mean
        mean: NDArray = X.mean(axis=0, dtype=np.float64)
        return mean

    def _kernel(self, *, of_scores: bool = False) -> Kernel:
        """Return the kernel with its parameters, between rows, or between scores."""
        name = "poly" if self.kernel == "polynomial" else self.kernel
        if name == "rbf":
            return Rbf(self.gamma_)
        if name == "matern":
            return Matern(self.gamma_)
        if name == "linear":
            return Linear(None if of_scores else self._shift)
        if name == "poly":
            return Polynomial(self.gamma_, self.degree, self.coef0)
        if name == "sigmoid":
            return Tanh(self.gamma_, self.coef0)
        if name == "cosine":
            return Cosine()
        if callable(name):
            params = self.kernel_params or {}
        else:
            params = {"gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}
        call = partial(by_openmp, pairwise_kernels, metric=name, filter_params=True, **params)
        return Function(call)

    @property
    def _definite(self) -> bool:
        """Whether the kernel is known to be positive semi-definite."""
        if self.kernel in ("poly", "polynomial"):
            return float(self.degree).is_integer() and self.coef0 >= 0
        return self.kernel in ("linear", "rbf", "matern", "laplacian", "cosine", "chi2")

    @property
    def _smooth(self) -> bool:
        """Whether the kernel is one of distances or of products, whose slope is known."""
        smooth = ("rbf", "matern", "linear", "poly", "polynomial", "sigmoid", "cosine")
        return self.kernel in smooth

    def _explain_kernel(self, X: Any) -> None:
        """Raise if the kernel, and not X, holds what is not a number."""
        holes = X.fold(_holes) if isinstance(X, Blocks) else _holes(X)
        if self.kernel != "precomputed" and not holes:
            name = self.kernel if isinstance(self.kernel, str) else "the given function"
            raise ValueError(
                f"The kernel ({name}) gives NaN or inf for some rows of X, all of which are finite."
                " Check its parameters, or scale X, for example with "
                "sklearn.preprocessing.StandardScaler."
            )

    def _without_zeros(self, found: Expansion) -> Expansion:
        """Return the expansion without zero eigenvalues if so asked; say what is wrong with it."""
        values, largest = found.eigenvalues, float(found.eigenvalues.max(initial=0.0))
        least = found.smallest_eigenvalue or 0.0
        positive = int(np.sum(values > 0))
        if least < -NEGATIVE * largest:
            if self.n_components is not None and values.min() < 0:
                raise ValueError(
                    "There are significant negative eigenvalues: the kernel is not positive "
                    f"definite, and of the {len(values)} components that were asked for "
                    f"{positive or 'none'} exist. "
                    + (f"Ask for at most {positive}, or take" if positive else "Take")
                    + " another kernel, such as kernel='rbf'."
                )
            warnings.warn(
                f"The kernel is not positive definite: its smallest eigenvalue is {least:.3g}, its "
                f"largest {largest:.3g}. Components of positive ones are kept. Try other "
                "parameters, or kernel='rbf'.",
                UserWarning,
                stacklevel=8,
            )
        elif not positive:
            warnings.warn(
                "All rows of X are equal in the feature space of the kernel: there is no variance "
                "to explain. Check X, and gamma.",
                UserWarning,
                stacklevel=8,
            )
        if self.remove_zero_eig or self.n_components is None:
            return found.first(positive)
        return found

    def _store(self, solution: Any, X: Any) -> None:
        with np.errstate(over="ignore"):  # of eigenvalues, which are squares of scores
            super()._store(solution, X)
        if solution.landmarks is None:
            self.X_fit_ = X.copy() if self.copy_X else X
        else:
            self.landmarks_ = solution.landmarks

    def fit_transform(self, X: ArrayLike, y: object = None) -> NDArray:
        """Fit to `X`, and return its scores: those of `fit` and then `transform`, for nothing more.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        self.fit(X, y)
        if hasattr(self, "landmarks_"):
            scores: NDArray = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        else:
            scores = self.axes_.scores  # of float64: eigenvalues may be too large for the others
        return self._as_dtype(scores, self.eigenvectors_.dtype)

    def _asked_to_converge(self) -> bool:
        return self.iterated_power == "auto" or self.solver_ != "randomized"

    # ----------------------------------------------------------------------------------- new rows

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the scores of `X` on the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For ``kernel='precomputed'``, the kernel between new rows and those of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        rows = self._fitted(X)
        return self._as_dtype(self._scores(rows), rows.dtype)

    def _scores(self, X: Any) -> NDArray:
        if self.kernel == "precomputed":
            return X.astype(np.float64, copy=False) @ self.axes_.weights - self.axes_.offset
        return self.axes_.project(self._kernel(), X, self.X_fit_)

    def inverse_transform(self, X: ArrayLike) -> NDArray:
        """Return rows whose images are near to the points of the feature space with scores `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        scores = self._check_scores(X)
        if self.preimage:
            found, _ = self._preimages(scores, None)
        elif self.fit_inverse_transform:
            kernel = self._kernel(of_scores=True)
            found = kernel.combine(scores, self.X_transformed_fit_, self.dual_coef_)
        else:
            raise NotFittedError(
                "There is no way back from scores: neither preimage nor fit_inverse_transform is "
                "set. Fit again with preimage='auto'."
            )
        return found.astype(scores.dtype, copy=False)

    def denoise(
        self, X: ArrayLike, *, return_status: bool = False
    ) -> NDArray | tuple[NDArray, NDArray]:
        """Return `X` projected onto the components and taken back by a pre-image.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Where the search for the pre-image begins, if there is one.
        return_status : bool, default=False
            Whether to tell how the search for each row has ended.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features)
        status : ndarray of str, of shape (n_samples,)
            If `return_status`: 'converged'; 'restarted', which is the same, but from a new start at
            one of the rows of the fit, because the row was too far from all of them; or 'stopped'
            before the tolerance. Always 'converged' where nothing is searched for.
        """
        rows = self._fitted(X)
        rows = rows.toarray() if sparse.issparse(rows) else rows
        if not self.preimage:
            raise NotFittedError("denoise needs a pre-image. Fit again with preimage='auto'.")
        found, status = self._preimages(self._scores(rows), rows)
        found = found.astype(rows.dtype, copy=False)
        return (found, status) if return_status else found

    def preimage_path(self, x: ArrayLike, start: ArrayLike | None = None, n_steps: int = 30) -> Any:
        """Return the points that the plain fixed-point iteration visits, to be looked at.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            The row whose projection is sought.
        start : array-like of shape (n_features,), optional
            Where to begin; by default at `x`.
        n_steps : int, default=30

        Returns
        -------
        ndarray of shape (n_steps + 1, n_features)
            The start first; fewer where all rows of the fit are so far that no step is defined.
        """
        row, g, _ = self._sought(x)
        begin = row[0] if start is None else self._one_row(start)[0]
        return preimage.path(self._kernel(), self.X_fit_, g, begin, n_steps)

    def preimage_distances(self, x: ArrayLike, Z: ArrayLike) -> NDArray:
        """Return how far points are from being the pre-image of a row: what its search makes small.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            The row whose projection is sought.
        Z : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points,)
            Squared distances in the feature space between the images of `Z` and the projection of
            that of `x`.
        """
        _, g, square = self._sought(x)
        kernel, points = self._kernel(), self._fitted(Z)
        near = kernel.combine(points, self.X_fit_, g[:, None])[:, 0]
        return np.maximum(kernel.diagonal(points) - 2 * near + square, 0.0)

    def _one_row(self, x: ArrayLike) -> NDArray:
        """Return a row that is given by itself, and so without names of columns, as a table."""
        check_is_fitted(self)
        row: NDArray = check_array(np.asarray(x, dtype=np.float64)[None], estimator=self)
        if row.shape[1] != self.n_features_in_:
            raise ValueError(
                f"A row of {row.shape[1]} numbers was given, and KernelPCA was fitted to "
                f"{self.n_features_in_} columns. Give one number for each."
            )
        return row

    def _sought(self, x: ArrayLike) -> tuple[NDArray, NDArray, float]:
        """Return a row, the coefficients of its projection and the squared length of that."""
        row = self._one_row(x)
        if not self._smooth:
            raise ValueError(
                f"There is no fixed-point iteration for kernel={self.kernel!r}: it takes a kernel "
                "of distances or products, such as 'rbf'."
            )
        scores = self._scores(row)
        return row, self.axes_.coefficients(scores)[0], float(self.axes_.squares(scores)[0])

    # --------------------------------------------------------------------------------- pre-images

    @property
    def _way_back(self) -> str:
        if self.preimage == "auto":
            return "fixed_point" if self._smooth else "learned"
        return str(self.preimage)

    def _learn(self, found: Expansion, X: Any, rng: np.random.Generator) -> None:
        """Learn what `inverse_transform` needs to know."""
        if self.preimage and self._way_back != "learned":
            return
        if self.preimage:
            if isinstance(X, Blocks):
                rows = X.take(rows_to_learn_from(X.n_rows, rng))
                scores = found.axes.project(self._kernel(), rows, found.X_fit)
                self.learned_ = learn(scores, rows, rng=rng)
            else:
                self.learned_ = learn(found.scores, X, rng=rng)
        elif self.fit_inverse_transform:
            scores = found.scores
            K = self._kernel(of_scores=True).between(scores, scores)
            if not np.isfinite(K).all():
                raise ValueError(
                    f"fit_inverse_transform takes the kernel between scores, and {self.kernel!r} "
                    "gives NaN or inf there. Take preimage='learned', or scale X."
                )
            K.flat[:: len(K) + 1] += self.alpha
            rows = X.astype(np.float64, copy=False)
            self.dual_coef_ = _solve(K, rows)
            self.X_transformed_fit_ = scores

    def _preimages(self, scores: NDArray, start: NDArray | None) -> tuple[NDArray, NDArray]:
        """Return pre-images of these scores, and how each search ended: some rows at a time."""
        parts = [
            self._preimages_of(scores[rows], None if start is None else start[rows])
            for rows in threads.spans(len(scores), max(64, CHUNK // len(self.axes_.centre)))
        ]
        found, status = zip(*parts, strict=True)
        return np.concatenate(found), np.concatenate(status)

    def _preimages_of(self, scores: NDArray, start: NDArray | None) -> tuple[NDArray, NDArray]:
        way, kernel = self._way_back, self._kernel()
        status = np.full(len(scores), preimage.CONVERGED)
        if way == "learned":
            learned: Learned = self.learned_
            return learned(scores), status
        if way == "distance":
            apart, squares = self.axes_.squared_distances(scores), self.axes_.squares(scores)
            return from_distances(kernel, self.X_fit_, apart, squares), status
        if start is None:
            start = self.X_fit_[np.argmin(self.axes_.squared_distances(scores), axis=1)]
        return preimage.fixed_point(kernel, self.X_fit_, self.axes_.coefficients(scores), start)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _is_sparse(X: Any) -> bool:
    return X.is_sparse if isinstance(X, Blocks) else bool(sparse.issparse(X))


def _rows(X: Any, numbers: NDArray) -> Any:
    return X.take(numbers) if isinstance(X, Blocks) else X[numbers]


def _holes(X: Any) -> int:
    """Return how many entries are not finite."""
    values = X.data if sparse.issparse(X) else X
    return int(values.size - np.count_nonzero(np.isfinite(values)))


def _symmetric(K: Any) -> NDArray:
    """Return the kernel matrix, symmetric: its own half if it is, else the mean of both."""
    full = K.toarray() if sparse.issparse(K) else K
    allowed = max(ASYMMETRY, 16 * float(np.finfo(K.dtype).eps))
    full = full.astype(np.float64, copy=False)
    largest = float(np.abs(full).max())
    if np.isfinite(largest) and np.abs(full - full.T).max() > allowed * largest:
        warnings.warn(
            "The precomputed kernel matrix is not symmetric: the mean of it and its transpose is "
            "taken. Check how it was made.",
            UserWarning,
            stacklevel=10,
        )
        full = (full + full.T) / 2
    return full


def _solve(K: NDArray, Y: NDArray) -> NDArray:
    """Return ``K^-1 Y``, or the shortest ``W`` that brings ``K W`` nearest to `Y`.

    K is positive definite, but where the kernel is not, or so large that `alpha` is rounded away.
    """
    try:
        W: NDArray = scipy.linalg.cho_solve(scipy.linalg.cho_factor(K), Y)
    except scipy.linalg.LinAlgError:
        W = scipy.linalg.lstsq(K, Y)[0]
    return W
