"""Layer 1, what a call may touch: not X, not the model, not the process, no earlier fit."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags
from threadpoolctl import threadpool_info

from .register import Shape, layer1, require
from .tables import (
    changed,
    easy,
    fingerprint,
    formats,
    no_warnings,
    ready,
    sparse_table,
    state,
    takes_sparse,
    without_a_way_back,
)
from .watch import CallbackError, Watch


@layer1
def check_fit_leaves_X_alone(estimator: Any, shape: Shape) -> None:
    """Neither fit nor transform writes to X, and a read-only X is as good as any."""
    for kind, X in _inputs(estimator, shape):
        before = fingerprint(X)
        model = ready(estimator).fit(X)
        require(fingerprint(X) == before, f"fit changed X ({kind})")
        model.transform(X)
        require(fingerprint(X) == before, f"transform changed X ({kind})")
        ready(estimator).fit_transform(X)
        require(fingerprint(X) == before, f"fit_transform changed X ({kind})")


def _inputs(estimator: Any, shape: Shape) -> Iterator[tuple[str, Any]]:
    X = easy(estimator, shape)
    yield "float64", X
    yield "float32", X.astype(np.float32)
    yield "Fortran order", np.asfortranarray(X)
    locked = X.copy()
    locked.setflags(write=False)
    yield "read-only", locked
    if takes_sparse(estimator):
        X = sparse_table(estimator, shape)
        yield from formats(X)
        S = sparse.csr_array(X)
        for part in (S.data, S.indices, S.indptr):
            part.setflags(write=False)
        yield "read-only sparse", S


@layer1
def check_transform_leaves_the_model_alone(estimator: Any, shape: Shape) -> None:
    """Asking a fitted model for something does not change it."""
    X = easy(estimator, shape)
    model = ready(estimator).fit(X)
    before = state(model)
    scores = model.transform(X)
    calls: dict[str, tuple[Any, ...]] = {
        "transform": (X[:3],),
        "inverse_transform": (scores,),
        "score": (X,),
        "score_samples": (X,),
        "get_feature_names_out": (),
        "get_covariance": (),
        "get_precision": (),
    }
    for name, arguments in calls.items():
        if hasattr(model, name):
            way_back = name == "inverse_transform"
            with without_a_way_back() if way_back else contextlib.nullcontext():
                getattr(model, name)(*arguments)
            names = changed(before, state(model))
            require(not names, f"{name} changed {', '.join(names)}")


@layer1
def check_refit_forgets(estimator: Any, shape: Shape) -> None:
    """Whatever came before, a fit gives to the bit what a fresh estimator gives."""
    X = easy(estimator, shape)
    first: Any = easy(estimator, (shape[0] + 7, shape[1] + 3), seed=1)
    if find_spec("pandas"):
        names = [f"column {j}" for j in range(first.shape[1])]
        first = import_module("pandas").DataFrame(first, columns=names)
    once = ready(estimator).fit(X)
    model = ready(estimator).fit(first)
    model.transform(first)
    differ = changed(state(once), state(model.fit(X)))
    require(not differ, f"after an earlier fit on other data, these differ: {', '.join(differ)}")


@layer1
def check_failed_refit_changes_nothing(estimator: Any, shape: Shape) -> None:
    """Raising, be it at the very end, a fit leaves the model as it was."""
    X = easy(estimator, shape)
    model = ready(estimator).fit(X)
    before = state(model)
    for why, bad in _bad_inputs(estimator, X):
        _refuse(model, bad, why)
        names = changed(before, state(model))
        require(not names, f"a refit that failed on {why} changed {', '.join(names)}")
    watch = Watch(fail=True)
    _refuse(model.set_callbacks(watch), X[:-1, :-1], "a failing callback")
    names = changed(before, state(model))
    require(not names, f"a refit that failed in a callback changed {', '.join(names)}")
    require(watch.opened == watch.closed == 1, "a failed fit did not tear its callbacks down")


def _refuse(model: Any, X: Any, why: str) -> None:
    """Raise unless the fit ends in an error meant for the user, without a warning before it."""
    with no_warnings(why):
        try:
            model.fit(X)
        except (TypeError, ValueError, CallbackError):
            return
    raise AssertionError(f"{why} taken without an error")


def _bad_inputs(estimator: Any, X: Any) -> Iterator[tuple[str, Any]]:
    with_inf = X[:, :-1].copy()
    with_inf[1, 1] = np.inf
    yield "infinity", with_inf
    if not get_tags(estimator).input_tags.allow_nan:
        yield "NaN", np.where(np.arange(len(X))[:, None] == 2, np.nan, X)
    yield "text", np.full((5, 2), "text", dtype=object)
    yield "a vector", X[0]
    yield "no rows", X[:0]


@layer1
def check_global_rng_untouched(estimator: Any, shape: Shape) -> None:
    """With or without a seed, the global random states of numpy and Python stay where they are."""
    X = easy(estimator, shape)
    for model in (clone(estimator), ready(estimator)):
        before = _global_states()
        model.fit(X).transform(X)
        for name, then, now in zip(
            ("numpy.random", "random"), before, _global_states(), strict=True
        ):
            require(then == now, f"fit or transform moved the global state of {name}")


def _global_states() -> tuple[str, str]:
    return joblib.hash(np.random.get_state()), joblib.hash(random.getstate())  # noqa: NPY002


@layer1
def check_same_seed_same_bits(estimator: Any, shape: Shape) -> None:
    """Two fits with one seed agree to the bit, and so do their scores."""
    X = easy(estimator, shape)
    one, two = ready(estimator).fit(X), ready(estimator).fit(X)
    names = changed(state(one), state(two))
    require(not names, f"two fits with one seed differ in {', '.join(names)}")
    require(np.array_equal(one.transform(X), two.transform(X)), "scores differ in their bits")


@layer1
def check_fits_at_once(estimator: Any, shape: Shape) -> None:
    """Fits in several threads at the same time find what each finds alone, and leave no trace."""
    tables = [easy(estimator, shape, seed) for seed in (0, 1)]
    alone = [state(ready(estimator).fit(X)) for X in tables]
    before = _global_states(), _limits()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda X: state(ready(estimator).fit(X)), 2 * tables))
    for one, other in zip(2 * alone, together, strict=True):
        names = changed(one, other)
        require(not names, f"beside other fits, these differ: {', '.join(names)}")
    require((_global_states(), _limits()) == before, "random states or limits of threads changed")


def _limits() -> dict[str, int]:
    return {library["filepath"]: library["num_threads"] for library in threadpool_info()}


@layer1
def check_quiet_on_easy_data(estimator: Any, shape: Shape) -> None:
    """Nothing is printed and nothing warned about where nothing is wrong."""
    X = easy(estimator, shape)
    out = io.StringIO()
    with (
        no_warnings("easy data"),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        model = clone(estimator).fit(X)
        scores = model.transform(X)
        if hasattr(model, "inverse_transform"):
            with without_a_way_back():
                model.inverse_transform(scores)
    require(out.getvalue() == "", f"easy data made it print {out.getvalue()[:80]!r}")
