"""Many methods on one table, side by side: what each finds, keeps, costs and proves.

Every method is fitted in a process beside this one, one after the other: one that hangs is ended
when its share of the time is over, one that crashes takes nobody along, and memory is its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_consistent_length, column_or_1d

from .._base import refuse_text
from .._compat import check_array
from .._register import fittable
from .._text import count, short
from ..data.blocks import Blocks
from ..data.scaling import scaler_of
from ..estimators.pca import PCA
from . import contest
from .aside import Aside, CrashError
from .comparison import Compared, Comparison
from .contest import Task
from .trial import LONGEST

__all__ = ["compare"]

HELD_OUT = 0.25  # of the rows
LEAST_ROWS = 8  # so that there are rows to fit and rows to hold out


def compare(
    X: Any,
    methods: str | Iterable[Any] | Mapping[str, Any] = "all",
    n_components: int | float | str | None = "consensus",
    y: ArrayLike | None = None,
    *,
    scale: str = "standard",
    budget: float = 120.0,
    random_state: Any = 0,
) -> Comparison:
    """Fit methods to a table, and say how good each is at what.

    A quarter of the rows is held out. Each method gets as much of the time that is left as all
    others that are still to come; what it does not use is theirs. One that does not get there in
    time, fails or crashes has a row that says so.

    Parameters
    ----------
    X : array, or pandas or polars dataframe, of shape (n_samples, n_features)
        Numbers. NaN is a hole, which PCA fills for methods that take none.
    methods : 'all', or iterable of str or estimators, or mapping of names to estimators
        Names are those of :func:`eigenlens.methods`, all of which ``'all'`` takes but scalers.
    n_components : int, float, str or None, default='consensus'
        For all methods. What is not an int is settled once, by :class:`eigenlens.PCA`.
    y : array-like of shape (n_samples,), optional
        A class for each row, for methods that learn from it and for scores that judge by it.
    scale : {'standard', 'minmax', 'robust', 'normalize', 'none'}, default='standard'
        What to do with the columns first ('normalize': with the rows).
    budget : float, default=120
        Seconds for all methods together.
    random_state : int, Generator or None, default=0
        For the split, and for the methods.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import eigenlens
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> found = eigenlens.compare(X, ["PCA", "LinearDiscriminantAnalysis"], 2, y)
    >>> [row.method for row in found.rows if row.error]
    []
    >>> found["LinearDiscriminantAnalysis"].knn_accuracy > 0.9
    True
    """
    start = time.perf_counter()
    if not isinstance(budget, Real):
        raise ValueError(
            f"budget={budget!r} must be a number of seconds, for all methods together."
        )
    models = _models(methods)
    task = _prepared(X, n_components, y, scale, random_state)
    rows = _Rows(task, start + budget)
    try:
        found = [
            replace(rows.row(name, model, len(models) - i), origin=origin)
            for i, (name, origin, model) in enumerate(models)
        ]
    finally:
        rows.end()
    return Comparison(tuple(found), time.perf_counter() - start)


def _prepared(X: Any, n_components: Any, y: Any, scale: str, random_state: Any) -> Task:
    """Check, split and scale the table, and settle the number of components."""
    if sparse.issparse(X):
        raise ValueError(
            "X is sparse, and most methods here are not for that. Give X.toarray() if it fits into "
            "memory, or fit PCA, TruncatedSVD or NMF to it one by one."
        )
    X = X.read() if isinstance(X, Blocks) else X
    try:
        X = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
    except ValueError as error:
        refuse_text(error, "a comparison")
        raise
    if len(X) < LEAST_ROWS:
        raise ValueError(
            f"X has {count(len(X), 'row')}, too few to hold some out. Give at least {LEAST_ROWS}."
        )
    if isinstance(n_components, Integral) and n_components < 1:
        raise ValueError(f"n_components={n_components} must be at least 1, or a rule of PCA.")
    y = None if y is None else _target(y, X)
    rng = np.random.default_rng(random_state)
    order, held = rng.permutation(len(X)), max(2, int(HELD_OUT * len(X)))
    test, train = np.sort(order[:held]), np.sort(order[held:])
    scaler = scaler_of(scale)
    if scaler is not None:
        with np.errstate(invalid="ignore"):  # of a column without an entry, which is told below
            scaler.fit(X[train])
        X = np.asarray(scaler.transform(X))
    seed = int(rng.integers(2**31))
    holes = bool(np.isnan(X).any())
    pca = PCA(n_components, missing="em" if holes else "error", random_state=seed).fit(X[train])
    asked = isinstance(n_components, (int, np.integer))
    why = "asked for" if asked else f"PCA with n_components={n_components!r}"
    tables = X[train], X[test]
    return Task(
        tables=tables,
        filled=(pca.impute(X[train]), pca.impute(X[test])) if holes else tables,
        targets=None if y is None else (y[train], y[test]),
        n_components=max(1, pca.n_components_),
        why=why if pca.n_components_ else f"{why} keeps none, and 1 is the least",
        random_state=seed,
    )


def _target(y: Any, X: NDArray) -> NDArray:
    """Return the target as an array with an entry for each row."""
    y = column_or_1d(y)
    check_consistent_length(X, y)
    holes = [value is None or value != value for value in y.tolist()]
    if any(holes):
        raise ValueError(
            f"y is missing in {count(sum(holes), 'row')}, row {holes.index(True)} for one. Leave "
            "such rows out of X and y, or name what is missing as a class of its own."
        )
    return y


def _models(methods: Any) -> list[tuple[str, str, Any]]:
    """Return what is to be fitted: a name, where it comes from, and an unfitted model."""
    known = fittable()
    if isinstance(methods, str):
        methods = list(known) if methods == "all" else [methods]
    pairs = methods.items() if isinstance(methods, Mapping) else ((None, m) for m in methods)
    models = []
    for given, method in pairs:
        if not isinstance(method, str):
            root = type(method).__module__.partition(".")[0]
            models.append((given or type(method).__name__, root, clone(method)))
        elif method in known:
            models.append((given or method, known[method].origin, known[method]))
        else:
            raise ValueError(
                f"methods={method!r} is not known. Give 'all', estimators, or some of "
                f"{', '.join(known)}."
            )
    if not models:
        raise ValueError("methods is empty. Give 'all', or the names of some methods.")
    return models


def _noted(row: Compared, note: str) -> Compared:
    return replace(row, warnings=(*row.warnings, note))


class _Rows:
    """Makes the rows of a comparison, with the help of a process that may be given up."""

    def __init__(self, task: Task, deadline: float) -> None:
        self._task, self._deadline, self._aside, self._begun = task, deadline, Aside(), False

    def row(self, name: str, model: Any, share: int) -> Compared:
        """Return the row of a method that has one part in `share` of the time that is left."""
        try:
            self._begin()
        except TimeoutError:
            error = "The time was used up. Raise budget, or name fewer methods."
            return Compared(name, error=error, stopped="untried")
        except CrashError:
            return Compared(name, error="No process could be started beside this one.")
        seconds = (self._deadline - time.perf_counter()) / share
        end = time.perf_counter() + seconds
        try:
            row: Compared = self._call(contest.fit, name, model, seconds, end=end)
        except TimeoutError:
            error = f"Not done in its {seconds:.0f} s. Raise budget, or give fewer rows."
            return Compared(name, error=error, stopped="late")
        except CrashError:
            error = "Its process ended: a crash, or not enough memory."
            return Compared(name, error=error, stopped="crashed")
        except Exception as failure:  # a model that cannot be sent, for one
            return Compared(name, error=str(failure) or type(failure).__name__)
        return row if row.error else self._judged(row, end)

    def _judged(self, row: Compared, end: float) -> Compared:
        """Return the row with what there is time to say of its fit."""
        for judge, what in ((contest.judge, "judge it"), (contest.repeat, "fit it again")):
            try:
                row = self._call(judge, row, end=end)
            except (TimeoutError, CrashError):
                return _noted(row, f"There was no time left to {what}.")
            except Exception as failure:  # scores that are no numbers, for one
                row = _noted(row, short(f"It was not possible to {what}: {failure}", LONGEST))
        return row

    def _begin(self) -> None:
        """Send the table if the process is new. That takes a few seconds, which are nobody's."""
        if time.perf_counter() >= self._deadline:
            raise TimeoutError
        if not self._begun:
            self._call(contest.begin, self._task, end=self._deadline)
            self._begun = True

    def _call(self, work: Any, *given: Any, end: float) -> Any:
        try:
            return self._aside.call(work, *given, seconds=end - time.perf_counter())
        except (TimeoutError, CrashError):
            self._begun = False
            raise

    def end(self) -> None:
        """Leave no process behind."""
        self._aside.end()
