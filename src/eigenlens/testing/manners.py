"""Layer 1, how an estimator deals with its user: names, errors, parameters, history, callbacks."""

from __future__ import annotations

import copy
import pickle
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import clone

from .register import Shape, layer1, require
from .tables import assert_close, changed, easy, hard, noise, ready, state
from .watch import Watch


@layer1
def check_names_out(estimator: Any, shape: Shape) -> None:
    """Columns in and out go by their names, in tables of pandas and polars too."""
    X = easy(estimator, shape)
    names = [f"column {j}" for j in range(shape[1])]
    model = ready(estimator).fit(X)
    scores = model.transform(X)
    prefix = type(estimator).__name__.lower()
    expected = [f"{prefix}{i}" for i in range(scores.shape[1])]
    require(list(model.get_feature_names_out()) == expected, f"names out are not {expected[:2]}...")
    require(not hasattr(model, "feature_names_in_"), "feature_names_in_ set by data without names")
    for package in filter(find_spec, ("pandas", "polars")):
        frame = _frame(package, X, names)
        model = ready(estimator).set_output(transform=package).fit(frame)
        require(list(model.feature_names_in_) == names, f"feature_names_in_ lost for {package}")
        table = model.transform(frame)
        require(type(table).__module__.startswith(package), f"transform gave no table of {package}")
        require(
            list(table.columns) == expected, f"columns out of {package} are {list(table.columns)}"
        )
        assert_close(scores, table.to_numpy(), 1e-10, f"scores from and to {package}")
        if package == "pandas":
            require(list(table.index) == list(frame.index), "the index of the rows was lost")


def _frame(package: str, X: Any, names: list[str]) -> Any:
    if package == "pandas":
        rows = [f"row {i}" for i in range(len(X))]
        return import_module("pandas").DataFrame(X, columns=names, index=rows)
    return import_module("polars").DataFrame(X, schema=names)


@layer1
def check_bad_parameter_is_named(estimator: Any, shape: Shape) -> None:
    """Refuse a value that cannot be right, with the name of the parameter."""
    X = easy(estimator, shape)
    for name in estimator.get_params(deep=False):
        model = ready(estimator, **{name: object()})
        try:
            model.fit(X)
        except (TypeError, ValueError) as error:
            require(name in str(error), f"the error on a bad {name} does not name it: {error}")
        else:
            raise AssertionError(f"{name}=object() was taken without an error")


@layer1
def check_clone_and_parameters(estimator: Any, shape: Shape) -> None:
    """Parameters come back as given, survive a fit, and are all that a clone takes along."""
    params = estimator.get_params(deep=False)
    again = type(estimator)(**params)
    for name, value in again.get_params(deep=False).items():
        require(value is params[name], f"{name}={params[name]!r} came back as {value!r}")
    model = ready(estimator)
    before = state(model)
    model.fit(easy(estimator, shape))
    lost = [name for name in before if state(model).get(name) != before[name]]
    require(not lost, f"fit changed the parameters {', '.join(lost)}")
    names = changed(before, state(clone(model)))
    require(
        not names, f"a clone of the fitted model differs from the unfitted in {', '.join(names)}"
    )
    names = changed(before, state(ready(estimator).set_params(**model.get_params())))
    require(not names, f"set_params(**get_params()) changed {', '.join(names)}")


@layer1
def check_pickle_round_trip(estimator: Any, shape: Shape) -> None:
    """Pickled or copied, a model stays the same."""
    X = easy(estimator, shape)
    model = ready(estimator).fit(X)
    for what, other in {
        "a pickled model": pickle.loads(pickle.dumps(model)),
        "a deep copy": copy.deepcopy(model),
    }.items():
        names = changed(state(model), state(other))
        require(not names, f"{what} differs in {', '.join(names)}")
        require(np.array_equal(model.transform(X), other.transform(X)), f"{what} has other scores")


@layer1
def check_history(estimator: Any, shape: Shape) -> None:
    """How a fit ended can be read from it, and fits what callbacks were shown."""
    for table in (easy, hard, noise):
        model, watch = ready(estimator), Watch()
        watch.fit(model, table(estimator, shape))
        n_iter, history = model.n_iter_, np.asarray(model.objective_history_)
        require(isinstance(n_iter, int) and n_iter >= 1, f"n_iter_={n_iter!r} is no count")
        require(isinstance(model.converged_, bool), f"converged_={model.converged_!r} is no bool")
        require(
            history.ndim == 1 and 1 <= len(history) <= n_iter and bool(np.isfinite(history).all()),
            f"objective_history_={history!r} is not up to n_iter_={n_iter} finite numbers",
        )
        if watch.objectives:
            assert_close(watch.objectives, history, 1e-12, "objectives shown against history")
    certificate = getattr(ready(estimator).fit(easy(estimator, shape)), "certificate_", None)
    if certificate is not None:
        require(certificate.value >= 0 and certificate.what != "", f"{certificate!r} says nothing")
        require(certificate.holds, f"easy data, but {certificate}")


@layer1
def check_callbacks(estimator: Any, shape: Shape) -> None:
    """Callbacks see the fit and each of its iterations, and can stop it."""
    X = hard(estimator, shape)
    watch, model = Watch(), ready(estimator)
    watch.fit(model, X)
    require(watch.opened == watch.closed == 1, "setup and teardown were not called once each")
    seen = len(watch.objectives)
    require(
        watch.begun == watch.ended == 1 + seen,
        f"{watch.begun} tasks began and {watch.ended} ended in a fit of {seen} iterations",
    )
    require(seen > 0 or model.n_iter_ == 1, f"{model.n_iter_} iterations, none shown to callbacks")
    if seen > 1:
        stopper, stopped = Watch(stop_after=1), ready(estimator)
        stopper.fit(stopped, X)
        went_on = len(stopper.objectives) - 1
        require(went_on == 0, f"asked to stop, the fit went on for {went_on} iterations")
        require(stopped.n_iter_ < model.n_iter_, "asked to stop, the fit took as many iterations")
        require(bool(np.isfinite(stopped.transform(X)).all()), "the stopped model is of no use")


@layer1
def check_one_convergence_warning(estimator: Any, shape: Shape) -> None:
    """Stopped before its tolerance, a fit warns once and says what to do; else it does not."""
    X = hard(estimator, shape)
    for stop_after in (None, 1):
        model = ready(estimator)
        warned = Watch(stop_after).fit(model, X)
        asked = getattr(model, "_asked_to_converge", lambda: True)()  # else for a number of steps
        allowed = 1 if asked and not model.converged_ else 0
        require(
            len(warned) == allowed,
            f"converged_={model.converged_}, but {len(warned)} ConvergenceWarnings: {warned}",
        )
        certificate = getattr(model, "certificate_", None)
        if stop_after is None and certificate is not None:
            require(certificate.holds or not model.converged_, f"converged_, but {certificate}")
        for message in warned:
            require(
                type(model).__name__ in message, f"the warning does not name the class: {message}"
            )
