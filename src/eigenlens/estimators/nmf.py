"""Non-negative matrix factorisation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .._base import StrPath, fitting
from .._compat import StrOptions
from ..data.blocks import Blocks
from ..ops.weights import mass_of
from ..select.masked import masked_cross_validation
from ..solvers.nonnegative import solve
from ..solvers.solution import Monitor
from ..solvers.unit import Unit
from ._nonnegative import Factors, Nonnegative

__all__ = ["NMF"]


class NMF(Nonnegative):
    """Non-negative matrix factorisation: rows as sums of parts, with nothing taken away.

    It finds codes W and parts H, none of them below zero, that solve::

        min over W, H >= 0 of  D(X | W H) + penalties on W and H

    D is half of ``|X - W H|^2`` for ``beta_loss='frobenius'``, and for 'kullback-leibler' the sum
    of ``x log(x / wh) - x + wh``, which makes W H the most likely means if entries of X are counts
    (Poisson). Since parts can only be added, they tend to be parts indeed: a nose, a topic, a
    spectrum. The penalties are those of scikit-learn::

        alpha_W n_features (l1_ratio |W|_1 + (1 - l1_ratio)/2 |W|^2), with alpha_H n_samples for H

    The problem is not convex: the answer is a point where the conditions of optimality hold, as
    `certificate_` says, and depends on the start. Parts come in no particular order.

    Drop-in for :class:`sklearn.decomposition.NMF`, with missing values, weights, a fast solver for
    counts, and, with 'cd', codes that are solved for to the end: :meth:`transform` of the training
    data gives what :meth:`fit_transform` gave.

    Parameters
    ----------
    n_components : int, {'auto', 'cv'} or None, default='auto'
        Number of parts. 'auto' for as many as a custom start has, or else, like None, as there are
        features. 'cv' for the number that predicts hidden entries best, without penalties, and at
        least one: see :func:`eigenlens.select.masked_cross_validation`.
    init : {'random', 'nndsvd', 'nndsvda', 'nndsvdar', 'custom'} or None, default=None
        Where to start: normal numbers without their signs; the positive parts of singular vectors,
        with zeros left, filled with the mean of X, or filled with small random numbers; or the `W`
        and `H` given to :meth:`fit`. None for 'nndsvda', or 'random' if there are more parts than
        rows or columns.
    solver : {'cd', 'mu'}, default='cd'
        Coordinate descent, for the Frobenius and the Kullback-Leibler loss, or multiplicative
        updates, slower, for any loss.
    beta_loss : float or {'frobenius', 'kullback-leibler', 'itakura-saito'}, default='frobenius'
        The loss: a beta-divergence, 2, 1 and 0 in turn.
    tol : float, default=1e-4
        For 'cd' what the KKT residual, `certificate_`, must come down to; 0 to make `max_iter`
        iterations. For 'mu' the relative decrease of the root of the loss in ten iterations at
        which to stop.
    max_iter : int, default=200
        Most iterations.
    random_state : int, RandomState instance or None, default=None
        For a random start, and for the entries that ``n_components='cv'`` hides.
    alpha_W : float, default=0
        Size of the penalty on W.
    alpha_H : float or 'same', default='same'
        Size of the penalty on H.
    l1_ratio : float, default=0
        Share of the absolute values in the penalties, against the squares.
    verbose : int, default=0
        Accepted for compatibility: use callbacks of scikit-learn's, such as its progress bar.
    shuffle : bool, default=False
        Accepted for compatibility: the order of the coordinates is fixed.
    missing : {'error', 'mask'}, default='error'
        What NaN in X means: an error, or an entry that was not observed, which then has no part in
        the loss. :meth:`impute` fills it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts H.
    n_components_ : int
    reconstruction_err_ : float
        Root of twice the loss over the training data: the Frobenius norm of ``X - W H``, or its
        likeness.
    deviance_, log_likelihood_ : float
        Of the training counts, with the Kullback-Leibler loss alone: Poisson's.
    n_iter_, converged_, objective_history_
        How the iteration went; the objective has the penalties in it, and never rises.
    certificate_ : Certificate
        How far W and H are from the conditions of optimality.
    choice_ : Choice
        The evidence for the number of parts, for ``n_components='cv'``.
    solver_ : str

    See Also
    --------
    MiniBatchNMF : For many rows, or rows that arrive in batches.
    VectorQuantizer : Each row is one part, a prototype.
    DictionaryLearning : Sparse codes, where parts may be taken away too.

    Notes
    -----
    A fit allocates some arrays of the size of W and H.

    Large files, and Dask arrays and dataframes, are fitted in blocks of rows, by the same
    iterations from the same start, with products in float64; by 'cd' for the Frobenius loss alone,
    since for counts it goes many times through all rows to improve H. W stays beside the rows, on
    disk past a gigabyte or on the workers. Held in one place are a few blocks, arrays of the size
    of H, and ``X'X`` of up to 4000 columns. Passes over X:

    - one before the start, two for numbers above 1e6 or below 1e-3 on average;
    - for the start one, or none if it is 'random'; one more for 'nndsvdar'; eight more where X has
      more than 4000 columns or is sparse; one to count rows where a random start needs to know
      their number, and the file does not tell;
    - one an iteration;
    - one each time that codes are solved for to the end: once, or a few times on the way;
    - where parts have died, one, and one more for each of them;
    - for 'mu', in place of these two, one every ten iterations, or two with a penalty on W, one at
      first and two for `certificate_`;
    - one for `reconstruction_err_`, and one for `log_likelihood_`.

    A Dask table that fits in the memory of the workers is best persisted.

    References
    ----------
    D. D. Lee, H. S. Seung, Learning the parts of objects by non-negative matrix factorization,
    Nature 401 (1999).

    N. Gillis, F. Glineur, Accelerated multiplicative updates and hierarchical ALS algorithms for
    nonnegative matrix factorization, Neural Computation 24 (2012).

    C.-J. Hsieh, I. S. Dhillon, Fast coordinate descent methods with variable selection for
    non-negative matrix factorization, KDD (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import NMF
    >>> rng = np.random.default_rng(0)
    >>> parts = np.array([[3, 1, 0, 0, 0], [0, 0, 2, 2, 0], [0, 1, 0, 0, 4.0]])
    >>> X = rng.exponential(size=(50, 3)) * (rng.random((50, 3)) < 0.7) @ parts
    >>> model = NMF(3, tol=1e-6).fit(X)
    >>> H = model.components_ / model.components_.max(axis=1, keepdims=True)
    >>> H[np.argsort(H.argmax(axis=1))].round(2) + 0.0
    array([[1.  , 0.33, 0.  , 0.  , 0.  ],
           [0.  , 0.  , 1.  , 1.  , 0.  ],
           [0.  , 0.25, 0.  , 0.  , 1.  ]])
    """

    _instead = (
        "Ask for a number of parts with missing='error' and a start that is not 'custom', with "
        "solver='mu' for any loss but 'frobenius', or give X.compute()."
    )
    on_blocks: ClassVar[Mapping[str, Any]] = {}
    claims = frozenset({"nonnegative", "weights", "missing", "row_order", "column_order"})
    exemplar: ClassVar[dict[str, Any]] = {"n_components": 3}  # as many as features fit anything

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Nonnegative._parameter_constraints,
        "n_components": [*Nonnegative._parameter_constraints["n_components"], StrOptions({"cv"})],
        "solver": [StrOptions({"cd", "mu"})],
        "shuffle": ["boolean"],
        "missing": [StrOptions({"error", "mask"})],
    }

    def __init__(
        self,
        n_components: int | Literal["auto", "cv"] | None = "auto",
        *,
        init: str | None = None,
        solver: Literal["cd", "mu"] = "cd",
        beta_loss: float | str = "frobenius",
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: int | np.random.RandomState | None = None,
        alpha_W: float = 0.0,
        alpha_H: float | Literal["same"] = "same",
        l1_ratio: float = 0.0,
        verbose: int = 0,
        shuffle: bool = False,
        missing: Literal["error", "mask"] = "error",
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.beta_loss = beta_loss
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.verbose = verbose
        self.shuffle = shuffle
        self.missing = missing

    @fitting
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        W: NDArray | None = None,
        H: NDArray | None = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: StrPath | None = None,
    ) -> Self:
        """Find parts of `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix, Blocks} of shape (n_samples, n_features)
            The data, one row a sample, none of it below zero. It is never written to.
        y : Ignored
            Present for the conventions of pipelines.
        W, H : ndarray of shapes (n_samples, n_components) and (n_components, n_features), optional
            Where to start, for ``init='custom'``.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight w counts as w rows.
        checkpoint : str or path-like, optional
            A folder for a fit in blocks to write down how far it is: after a kill the same call
            goes on from there, to the same numbers. The folder is removed when the fit is done.
            Nothing is written for a table that is not taken in blocks.

        Returns
        -------
        self
        """
        W = _of_rows_that_count(W, sample_weight)
        self._fit(X, y, sample_weight, checkpoint=checkpoint, W=W, H=H)
        del self._codes
        return self

    @fitting
    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        W: NDArray | None = None,
        H: NDArray | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray:
        """Find parts of `X`, and return its codes.

        Parameters
        ----------
        X, y, W, H, sample_weight
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        self._fit(X, y, sample_weight, W=_of_rows_that_count(W, sample_weight), H=H)
        return self._take_codes(X, sample_weight)

    def _solve(
        self,
        X: Any,
        *,
        weight: NDArray | None,
        rng: np.random.Generator,
        monitor: Monitor,
        W: NDArray | None = None,
        H: NDArray | None = None,
    ) -> Factors:
        self._require_suited()
        X, observed = (self._surveyed(X), None) if isinstance(X, Blocks) else self._table(X)
        if observed is not None and not (seen := observed.any(axis=0)).all():
            empty = np.flatnonzero(~seen)
            raise ValueError(
                f"Column {empty[0]} of X has no observed entry ({len(empty)} in all), and nothing "
                "can be said of it. Drop it first."
            )
        if self.n_components == "cv":
            k = self._predicting(X, rng, weight, observed)
        else:
            k = self._n_parts(X, H)
        unit = Unit.of(X, weight, self._beta)
        Z, share = unit.table(X), unit.weight(weight)
        on_W, on_H = self._penalties(mass_of(X.shape[0], weight), X.shape[1])
        found = solve(
            Z,
            *self._start(Z, k, rng, unit.factor(W), unit.factor(H), share, observed),
            beta=self._beta,
            solver=self.solver,
            on_W=unit.penalty(on_W),
            on_H=unit.penalty(on_H, unit.mass),
            weight=share,
            observed=observed,
            tol=self.tol,
            max_iter=self.max_iter,
            monitor=lambda objective: monitor(objective * unit.loss),
        )
        return self._described(found, X, Z, weight, observed, unit)

    def _fits_blocks(self, table: Blocks) -> bool:
        return (
            (self.solver == "mu" or self._beta == 2)
            and self.missing == "error"
            and self.init != "custom"
            and self.n_components != "cv"
        )

    def _predicting(
        self,
        X: Any,
        rng: np.random.Generator,
        weight: NDArray | None,
        observed: NDArray | None,
    ) -> int:
        """Return the number of parts that predicts hidden entries best, and keep the evidence."""
        if sparse.issparse(X):
            raise TypeError("n_components='cv' needs dense X. Ask for a number, or X.toarray().")
        if weight is not None:
            raise ValueError(
                "n_components='cv' cannot be used with sample_weight. Ask for a number."
            )
        self.choice_ = masked_cross_validation(X, rng, beta=self._beta, observed=observed)
        return max(self.choice_.k, 1)

    def _require_suited(self) -> None:
        """Raise unless the solver knows the loss; warn where it cannot leave its start."""
        if self.solver == "cd" and self._beta not in (1, 2):
            raise ValueError(
                f"Invalid beta_loss parameter: solver 'cd' does not handle beta_loss = "
                f"{self.beta_loss!r}, only 'frobenius' and 'kullback-leibler'. Take solver='mu'."
            )
        if self.solver == "mu" and self.init == "nndsvd":
            warnings.warn(
                "The multiplicative update ('mu') solver cannot update zeros present in the "
                "initialization, and so leads to poorer results when used jointly with "
                "init='nndsvd'. You may try init='nndsvda' or init='nndsvdar' instead.",
                UserWarning,
                stacklevel=8,
            )

    def _fit_transform(
        self, X: Any, y: object = None, W: Any = None, H: Any = None, update_H: bool = True
    ) -> tuple[NDArray, NDArray, int]:
        """Do what scikit-learn's `non_negative_factorization` asks of a method of this name."""
        if update_H:
            return self.fit_transform(X, W=W, H=H), self.components_, self.n_iter_
        if W is not None:
            warnings.warn(
                "When update_H=False, the provided initial W is not used.",
                RuntimeWarning,
                stacklevel=3,
            )
        k = H.shape[0] if self.n_components == "auto" else self._n_parts(X, H)
        self._require_factor(H, (k, X.shape[1]), "H")
        if H.dtype != X.dtype:
            raise TypeError(f"H should have the same dtype as X. Got H.dtype = {H.dtype}.")
        self.components_, self.n_features_in_ = H, X.shape[1]
        return self.transform(X), H, 1

    # -------------------------------------------------------------------------------- new rows

    def impute(self, X: ArrayLike) -> NDArray:
        """Return `X` with each hole (NaN) filled from the parts of its row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            What was there stays as it is, to the bit. A row without any entry gets zeros.
        """
        rows = self._fitted(X)
        if sparse.issparse(rows):
            raise TypeError("impute fills NaN in dense X, and this X is sparse. Give X.toarray().")
        return np.where(np.isnan(rows), self._encode(rows) @ self.components_, rows)

    def _ensure_all_finite(self) -> bool | Literal["allow-nan"]:
        return "allow-nan" if self.missing == "mask" else super()._ensure_all_finite()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "mask"
        return tags


def _of_rows_that_count(W: Any, sample_weight: Any) -> Any:
    """Return the rows of a start that are of rows of X with a weight."""
    if W is None or sample_weight is None:
        return W
    kept = np.asarray(sample_weight) > 0
    return np.asarray(W)[kept] if len(kept) == len(W) else W
