"""What all estimators share: the way from a call of `fit` to the stored attributes.

An estimator states its parameters and their constraints, its claims, and one method `_solve`, which
calls one solver. Everything between, from the checking of the data to the one warning, is here.
"""

from __future__ import annotations

import functools
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from typing import Any, ClassVar, Literal, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._compat import CallbackSupportMixin, check_array, fit_context, validate_data, with_callbacks
from .data.blocks import WHOLE_BYTES, Blocks
from .data.checkpoint import Checkpointed, resumable
from .data.dask import DaskBlocks
from .data.identity import identity_of
from .data.rowwise import ROWWISE, rowwise
from .data.soundness import require_sound
from .data.tables import table_of
from .ops.finite import NonFiniteError
from .ops.signs import fix_signs
from .ops.weights import weighted_rows
from .solvers.solution import Monitor, Solution

__all__ = ["Estimator", "StrPath", "fitting", "refuse_text"]

StrPath = str | os.PathLike[str]

Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(fit: Method) -> Method:
    """Leave the estimator as it was if `fit` fails, whatever it had stored by then."""

    @functools.wraps(fit)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return guarded  # type: ignore[return-value]


def refuse_text(error: ValueError, who: str) -> None:
    """Say what to do where an error of numpy's tells that a table holds text."""
    if "could not convert string" in str(error):
        raise ValueError(
            f"X holds text ({error}), and {who} needs numbers. Drop such columns, or encode them, "
            "for example with sklearn.preprocessing.OneHotEncoder."
        ) from None


def fitting(method: Method) -> Method:
    """Decorate every method that fits: parameters checked, callbacks opened, all or nothing."""
    checked = with_callbacks(fit_context(prefer_skip_nested_validation=True)(method))
    return all_or_nothing(checked)


def _cast(value: NDArray, dtype: np.dtype) -> NDArray:
    """Return an array in another dtype, with inf for what that cannot hold."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(value, dtype=dtype)


def _in_passes(fit_transform: Method) -> Method:
    """Fit and then transform a table in blocks, whose scores a fit does not keep."""

    @functools.wraps(fit_transform)
    def called(self: Any, X: Any, y: object = None, **given: Any) -> Any:
        table = table_of(X)
        if table is None or not self._in_blocks(table):
            given.pop("checkpoint", None)  # of a fit in blocks
            return fit_transform(self, X, y, **given)
        return self.fit(X, y, **given).transform(X)

    return called  # type: ignore[return-value]


class Estimator(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base of every estimator: checks, seed, callbacks, signs, storing, the one warning."""

    kind: ClassVar[str] = "linear"
    """One of :data:`eigenlens._register.KINDS`."""

    plane: ClassVar[bool] = False
    """Whether the method is for looking at, in two dimensions whatever the data."""

    in_batches_of: ClassVar[str | None] = None
    """The method that this one does in batches, for tables that are too large for it."""

    claims: ClassVar[frozenset[str]] = frozenset()
    """Names from :data:`eigenlens._claims.CLAIMS` that the class promises to keep."""

    excused: ClassVar[Mapping[str, str]] = {}
    """Checks of the contract that do not apply to the class, each with the reason."""

    _min_samples: ClassVar[int] = 2
    """Rows that a fit needs at least."""

    exemplar: ClassVar[Mapping[str, Any]] = {}
    """Parameters to check the contract with, where the defaults ask for nothing worth checking."""

    on_blocks: ClassVar[Mapping[str, Any] | None] = None
    """Parameters with which a fit takes a table block by block; None if it needs all rows."""

    _instead: ClassVar[str] = (
        "Give a sample that fits, for example X[:5000].compute(): transform then takes all of X."
    )
    """What to do where a fit needs all rows in one place, and they are on several machines."""

    _weighs_blocks: ClassVar[bool] = False
    """Whether `_solve` takes weights, zeros among them, with a table in blocks."""

    _remedy: ClassVar[str] = "Raise max_iter or tol."
    """What to do when a fit stops before its tolerance, for the warning."""

    random_state: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let what a model says of single rows be asked of a table in blocks too."""
        for name in ROWWISE & vars(cls).keys():
            setattr(cls, name, rowwise(vars(cls)[name]))
        if "fit_transform" in vars(cls):
            cls.fit_transform = _in_passes(vars(cls)["fit_transform"])
        super().__init_subclass__(**kwargs)

    @fitting
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the model to `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix, Blocks, Dask} of shape (n_samples, n_features)
            The data, one row a sample. It is never written to. A table of :func:`eigenlens.open`
            is taken with its names, and in blocks if it is large and the method can. A Dask array
            or dataframe is fitted where its rows are.
        y : Ignored
            Present for the conventions of pipelines.

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def _fit(
        self,
        X: ArrayLike,
        y: object,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: StrPath | None = None,
        **given: Any,
    ) -> Self:
        """Do what `fit` says; classes whose mathematics has a place for weights pass them on.

        What else is `given` goes to `_solve`.
        """
        self._forget()
        whole = sample_weight is not None and not self._weighs_blocks
        least = self._min_samples
        rules = {"ensure_all_finite": False, "ensure_min_samples": least}
        X = self._check(X, reset=True, whole=whole, **rules)
        rows, weight = weighted_rows(X, sample_weight)
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        with self._taken_up(rows, checkpoint, given) as rows:
            try:
                # NaN and inf are found in the solver's own sums, which spares a pass over X
                with np.errstate(invalid="ignore", over="ignore"):
                    monitor, rng = self._monitor(context), self._draws(rows)
                    solution = self._solve(rows, weight=weight, rng=rng, monitor=monitor, **given)
            except NonFiniteError:
                self._explain_non_finite(X)
            self._store(solution, X)
        context.call_on_fit_task_end(estimator=self)
        if not solution.converged and self._asked_to_converge():
            self._warn(solution)
        return self

    def _taken_up(
        self, rows: Any, checkpoint: StrPath | None, given: Mapping[str, Any]
    ) -> AbstractContextManager[Any]:
        """Return the rows, as those of a fit that is taken up where it was left if they are blocks.

        A table that is fitted as a whole is small, or its fit would not know where it was.
        """
        if checkpoint is None or not isinstance(rows, Blocks):
            return nullcontext(rows)
        parameters = self.get_params(deep=False) | dict(given)
        state = parameters.get("random_state")
        draws = state if isinstance(state, np.random.RandomState) else None
        return resumable(
            rows, checkpoint, identity_of(type(self).__name__, parameters, rows), draws
        )

    def _draws(self, rows: Any) -> np.random.Generator:
        """Return the generator for this fit: of the seed that was drawn when it began."""
        if isinstance(rows, Checkpointed) and getattr(self, "random_state", 0) is None:
            return np.random.default_rng(rows.seed)
        return self._rng()

    @abstractmethod
    def _solve(
        self, X: Any, *, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> Solution:
        """Call one solver on the checked data; `weight` is None unless `fit` takes weights."""

    def _forget(self) -> None:
        """Drop what an earlier fit stored."""
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)

    def _check(self, X: Any, *, reset: bool, whole: bool = True, **rules: Any) -> Any:
        """Return `X` checked and as floats, without a copy where it has them already.

        A table in blocks is read, unless it is large, need not be `whole`, and the class fits
        blocks.
        """
        rules = {
            "dtype": [np.float64, np.float32],
            "accept_sparse": ("csr", "csc"),
            "ensure_all_finite": self._ensure_all_finite(),
        } | rules
        if not self.__sklearn_tags__().input_tags.sparse:
            rules["accept_sparse"] = False
        table = table_of(X)
        if table is not None and not (isinstance(X, np.memmap) and not self._in_blocks(table)):
            return self._check_blocks(table, reset, whole, rules)
        try:
            return validate_data(self, X, reset=reset, **rules)
        except ValueError as error:
            refuse_text(error, type(self).__name__)
            raise

    def _check_blocks(self, table: Blocks, reset: bool, whole: bool, rules: Any) -> Any:
        """Do what `_check` says for a table in blocks, whose columns go by their names."""
        if reset:
            self.n_features_in_ = len(table.names)
            if table.named:
                self.feature_names_in_ = np.asarray(table.names, dtype=object)
            if not whole and self._in_blocks(table):
                return table
            if isinstance(table, DaskBlocks):
                what = "sample_weight" if whole and self._fits_blocks(table) else "a fit like this"
                raise ValueError(
                    f"{type(self).__name__} needs all rows in one place for {what}, and those of "
                    f"{table.path} are in many. {self._instead}"
                )
        elif table.named and hasattr(self, "feature_names_in_"):
            table = table.select(self.feature_names_in_)
        return check_array(table.read(), estimator=self, input_name="X", **rules)

    def _in_blocks(self, table: Blocks) -> bool:
        """Whether a fit takes a table block by block, rather than as a whole."""
        large = isinstance(table, DaskBlocks) or table.nbytes > WHOLE_BYTES
        return large and self._fits_blocks(table)

    def _fits_blocks(self, table: Blocks) -> bool:
        """Whether `_solve` takes a table in blocks, with the parameters as they are."""
        return False

    def _require_rows(self, n: int) -> None:
        """Raise if a table in blocks, whose rows are counted late, has fewer than a fit needs."""
        if n < self._min_samples:
            raise ValueError(
                f"X has {n} row(s), and {type(self).__name__} needs at least {self._min_samples}. "
                "Give more rows."
            )

    def _ensure_all_finite(self) -> bool | Literal["allow-nan"]:
        """Return what scikit-learn's checks call `ensure_all_finite`."""
        return True

    def _explain_non_finite(self, X: Any) -> NoReturn:
        require_sound(X, type(self).__name__, self._ensure_all_finite())
        self._refuse_large(X.dtype)

    def _rng(self) -> np.random.Generator:
        """Return the generator for this fit; numpy's global state is neither read nor moved."""
        if self.random_state is None:
            return np.random.default_rng()
        state = check_random_state(self.random_state)
        return np.random.default_rng(state.randint(0, 2**32, size=4, dtype=np.uint32))

    def _monitor(self, context: Any) -> Monitor:
        """Return the monitor: it shows each iteration to the callbacks, which may ask to stop."""

        def monitor(objective: float) -> bool:
            task = context.subcontext(task_name="iteration").call_on_fit_task_begin(estimator=self)
            return bool(
                task.call_on_fit_task_end(estimator=self, metadata={"objective": objective})
            )

        return monitor

    def _store(self, solution: Solution, X: Any) -> None:
        """Store each field of the solution that is not None under its name and an underscore.

        Arrays get the dtype of `X`, unless that cannot hold them.
        """
        for item in fields(solution):
            value = getattr(solution, item.name)
            if item.name == "components":
                value = fix_signs(value)
            if isinstance(value, np.ndarray) and item.name != "objective_history":
                cast = _cast(value, X.dtype)
                lost = value.dtype != X.dtype and np.isinf(cast).any()
                value = value if lost else cast
            if value is not None:
                setattr(self, item.name + "_", value)

    def _as_dtype(self, value: NDArray, dtype: np.dtype) -> NDArray:
        """Return an answer in the dtype of X, or say that this cannot hold it."""
        return self._finite(_cast(value, dtype))

    def _finite(self, value: NDArray) -> NDArray:
        """Return an answer, or say that its dtype cannot hold it."""
        if not np.isfinite(value).all():
            self._refuse_large(value.dtype)
        return value

    def _refuse_large(self, dtype: np.dtype) -> NoReturn:
        raise ValueError(
            f"X holds values so large that their squares overflow {dtype}. "
            "Divide X by a constant first, for example by np.abs(X).max()."
        )

    def _asked_to_converge(self) -> bool:
        """Whether to warn if the tolerance was not met: not if a number of steps was asked for."""
        return True

    def _warn(self, solution: Solution) -> None:
        warnings.warn(
            f"{type(self).__name__} stopped after {solution.n_iter} iterations, before its "
            f"tolerance: {solution.certificate}. {self._remedy}",
            ConvergenceWarning,
            stacklevel=7,
        )

    def _fitted(self, X: Any, **rules: Any) -> Any:
        """Return `X` checked against the fitted model."""
        check_is_fitted(self)
        return self._check(X, reset=False, **rules)

    def _check_scores(self, X: ArrayLike) -> NDArray:
        """Return scores `X` checked: one column for each component."""
        check_is_fitted(self)
        rules = {"dtype": [np.float64, np.float32], "input_name": "X", "estimator": self}
        # a model may have no component: then every row is the mean
        scores: NDArray = check_array(X, ensure_min_features=0, **rules)
        k = self._n_features_out
        if scores.shape[1] != k:
            raise ValueError(
                f"X has {scores.shape[1]} columns, but inverse_transform takes scores on {k} "
                "components. Give what transform returned."
            )
        return scores

    def _rows_from(self, scores: NDArray, mean: NDArray | None = None) -> NDArray:
        """Return the rows that have such scores, or say that their dtype cannot hold them."""
        with np.errstate(over="ignore", invalid="ignore"):
            rows: NDArray = scores @ self.components_
            return self._finite(rows if mean is None else rows + mean)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        components: NDArray = self.components_
        return len(components)
