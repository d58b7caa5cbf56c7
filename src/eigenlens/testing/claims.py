"""Layer 2, the promises that a class chooses: one check for each name in ``_claims.CLAIMS``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils import get_tags

from .._claims import CLAIMS
from ..datasets import PlantedSubspace, planted_subspace
from ..measure.align import largest_angle
from ..solvers.smacof import RESIDUAL
from ..solvers.spectral import LEADING, NEAREST
from . import relations
from .compare import compare
from .exact import exact_variances
from .register import CLAIM_CHECKS, Shape, claim, require
from .relations import MOVES, Move
from .tables import (
    allowed,
    assert_close,
    assert_same_fit,
    easy,
    hard,
    precision,
    ready,
    spiked,
    state,
)
from .watch import Watch

RANK, NOISE = 3, 0.1  # of planted subspaces
LOOSE = 1e-3  # how far answers may be off that no certificate says more of


@claim
def check_orthonormal(estimator: Any, shape: Shape) -> None:
    """``V V' = I``, also where X has fewer dimensions than components are asked for."""
    X = easy(estimator, shape)
    flat = planted_subspace(*shape, rank=2, noise=0, mean=1, random_state=0).X
    for what, table in {
        "easy": X,
        "two-dimensional": flat,
        "float32": X.astype(np.float32),
    }.items():
        V = ready(estimator).fit(table).components_
        error = float(np.abs(V @ V.T - np.eye(len(V))).max(initial=0.0))
        allowed = 100 * np.finfo(V.dtype).eps
        require(error <= allowed, f"|V V' - I| = {error:.1e} on {what} data, allowed {allowed:.1e}")


@claim
def check_bounded(estimator: Any, shape: Shape) -> None:
    """Components have a length of at most 1."""
    for table in (easy, hard):
        V = ready(estimator).fit(table(estimator, shape)).components_
        longest = float(np.linalg.norm(V.astype(np.float64), axis=1).max(initial=0.0))
        allowed = 1 + 100 * float(np.finfo(V.dtype).eps)
        require(longest <= allowed, f"a component has length {longest:.6g}")


@claim
def check_nonnegative(estimator: Any, shape: Shape) -> None:
    """Nothing is below zero, of training rows or others, and X with such entries is refused."""
    for table in (easy, hard):
        X = table(estimator, shape)
        model = ready(estimator).fit(X)
        new = table(estimator, shape, seed=1)
        found = {
            "components_": model.components_,
            "transform": model.transform(np.concatenate([X, new])),
            "fit_transform": ready(estimator).fit_transform(X),
            "inverse_transform": model.inverse_transform(model.transform(new)),
        }
        for what, values in found.items():
            require(bool((values >= 0).all()), f"{what} goes down to {values.min():.3g}")
        X[1, 2] = -1.0
        for call in (model.transform, ready(estimator).fit):
            try:
                call(X)
            except ValueError as error:
                require("egative" in str(error), f"an entry of -1 is refused as {error}")
            else:
                require(False, f"{call.__name__} accepts an entry of -1")


@claim
def check_uncorrelated(estimator: Any, shape: Shape) -> None:
    """Scores have a diagonal covariance and no mean."""
    for table in (easy, hard):
        X = table(estimator, shape)
        model = ready(estimator).fit(X)
        scores = model.transform(X)
        covariance = np.atleast_2d(np.cov(scores.T))
        off = np.abs(covariance - np.diag(np.diag(covariance))).max() / covariance.max()
        allowed = precision(model)
        require(off <= allowed, f"scores are correlated by {off:.1e}, allowed {allowed:.1e}")
        require(
            bool(np.abs(scores.mean(axis=0)).max() <= 1e-10 * np.abs(X).max()), "scores have a mean"
        )


@claim
def check_nested(estimator: Any, shape: Shape) -> None:
    """However many components follow, the first are the same."""
    X = easy(estimator, shape)
    most = ready(estimator, n_components=4).fit(X)
    for k in (1, 2, 3):
        model = ready(estimator, n_components=k).fit(X)
        what = f"component {k} of {k} against the same of 4"
        assert_close(most.components_[:k], model.components_, precision(most, model), what)


@claim
def check_inverse(estimator: Any, shape: Shape) -> None:
    """With a component for every dimension of X nothing is lost, whitened or not."""
    # Fewer dimensions than columns, because some solvers cannot give the last component; none so
    # small beside the first that the squares of X lose it.
    rank = max(1, min(shape) - 2)
    flat = planted_subspace(
        *shape, rank, noise=0, decay=0.01 ** (1 / rank), mean=2, random_state=0
    ).X
    settings = [{"whiten": False}, {"whiten": True}] if "whiten" in estimator.get_params() else [{}]
    for params in settings:
        model = ready(estimator, n_components=None, **params)
        back = model.inverse_transform(model.fit_transform(flat))
        what = f"inverse_transform(transform(X)) with {params}" if params else "inverse_transform"
        assert_close(flat, back, 1e-9, what)


@claim
def check_recovers(estimator: Any, shape: Shape) -> None:
    """Find a planted subspace as nearly as the theory of spiked covariances predicts.

    For a direction of variance ``l`` over white noise of variance 1, and ``g = d / n``, the cosine
    to its estimate tends to ``cos^2 = (1 - g / l^2) / (1 + g / l)`` (Paul 2007). Twice the angle of
    the weakest direction leaves room for chance; no estimate at all is at some 90 degrees.
    """
    for seed in range(3):
        truth = planted_subspace(*shape, RANK, noise=NOISE, mean=2, random_state=seed)
        _assert_recovered(estimator, truth, truth.X)


@claim
def check_breakdown(estimator: Any, shape: Shape) -> None:
    """Find a planted subspace as nearly as without them when a few cells are grossly wrong."""
    for seed, size in enumerate((10.0, 1e3, 1e6)):
        truth = planted_subspace(*shape, RANK, noise=NOISE, mean=2, random_state=seed)
        wrong = np.random.default_rng(seed).choice(truth.X.size, size=3, replace=False)
        X = truth.X.copy()
        X.flat[wrong] += size
        _assert_recovered(estimator, truth, X)


def _assert_recovered(estimator: Any, truth: PlantedSubspace, X: NDArray) -> None:
    """Raise if the components of `X` are twice as far from the truth as theory predicts."""
    g = X.shape[1] / X.shape[0]
    strength = (truth.deviations[-1] / NOISE) ** 2
    predicted = np.arccos(np.sqrt((1 - g / strength**2) / (1 + g / strength)))
    model = ready(estimator, n_components=RANK).fit(X)
    angle = largest_angle(truth.components, model.components_)
    require(
        angle <= 2 * predicted,
        f"{np.degrees(angle):.1f} degrees from the planted subspace, "
        f"where theory predicts {np.degrees(predicted):.1f}",
    )


@claim
def check_certificate(estimator: Any, shape: Shape) -> None:
    """``certificate_`` bounds the true error: converged or stopped early, in either precision."""
    for what, X in _problems(estimator, shape):
        for stop_after in (None, 1):
            model = ready(estimator)
            Watch(stop_after).fit(model, X)
            bound = model.certificate_
            require(bound.what in TRUTH, f"no true value known of {bound.what!r}: add it to TRUTH")
            error = TRUTH[bound.what](model, X)
            ended = "" if stop_after is None else ", stopped early"
            require(
                error <= bound.value,
                f"{bound.what} is {error:.2e} on {what} data{ended}, certified {bound.value:.2e}",
            )


@claim
def check_missing(estimator: Any, shape: Shape) -> None:
    """Holes are filled better than by the mean, and NaN is refused unless asked for."""
    truth = planted_subspace(*shape, rank=2, noise=0.02, mean=2, random_state=0).X
    truth = allowed(estimator, truth)
    holes = np.random.default_rng(5).random(shape) < 0.1
    holes[:, 0] = False
    X = np.where(holes, np.nan, truth)
    takes = {}
    if "missing" in estimator.get_params():
        options = estimator._parameter_constraints["missing"][0].options - {"error"}
        takes = {"missing": min(options)}
        tags = [ready(estimator, **p).__sklearn_tags__().input_tags.allow_nan for p in ({}, takes)]
        require(tags == [False, True], "the tag allow_nan does not follow the parameter missing")
        try:
            ready(estimator).fit(X)
        except ValueError as error:
            require("NaN" in str(error), f"NaN is refused without being named: {error}")
        else:
            require(False, "NaN is accepted without missing being set")
        plain, same = ready(estimator).fit(truth), ready(estimator, **takes).fit(truth)
        assert_same_fit(plain, same, precision(plain, same), "a table without holes")
    rank = 3 if get_tags(estimator).input_tags.positive_only else 2  # without a mean, one for it
    model = ready(estimator, n_components=rank, **takes).fit(X)
    filled = model.impute(X)
    require(np.array_equal(filled[~holes], X[~holes]), "impute changes what is there")
    ours, mean = (
        float(np.sqrt(np.mean((table - truth)[holes] ** 2)))
        for table in (filled, np.broadcast_to(np.nanmean(X, axis=0), shape))
    )
    require(ours <= 0.5 * mean, f"holes are filled to {ours:.2g}, by the mean to {mean:.2g}")
    assert_close(model.transform(filled), model.transform(X), 1e-8, "scores of rows with holes")


@claim
def check_weights(estimator: Any, shape: Shape) -> None:
    """Whole weights are repeated rows, zero is a row left out, and wrong ones are refused."""
    X = easy(estimator, shape)
    weight = np.random.default_rng(4).integers(0, 4, size=len(X))
    weighted = ready(estimator).fit(X, sample_weight=weight)
    repeated = ready(estimator).fit(np.repeat(X, weight, axis=0))
    tolerance = precision(weighted, repeated)
    for name, found in compare(repeated, weighted, free=False).items():
        if not name.startswith(("n_samples", "spectrum")):  # those are counted in rows
            message = f"{name} of repeated and of weighted rows differ by {found:.1e}"
            require(found <= tolerance, f"{message}, allowed {tolerance:.1e}")
    assert_close(repeated.transform(X), weighted.transform(X), tolerance, "scores, weighted rows")
    wrong = {
        "negative weights": np.where(np.arange(len(X)) == 1, -1.0, 1.0),
        "weights of zero": np.zeros(len(X)),
        "too few weights": np.ones(len(X) - 1),
        "a weight that is NaN": np.where(np.arange(len(X)) == 1, np.nan, 1.0),
    }
    if hasattr(weighted, "explained_variance_"):  # which divides by one less than their sum
        wrong["weights that add up to 1/2"] = np.full(len(X), 0.5 / len(X))
    for what, bad in wrong.items():
        try:
            ready(estimator).fit(X, sample_weight=bad)
        except ValueError as error:
            require("weight" in str(error), f"{what} are refused without the word: {error}")
        else:
            require(False, f"{what} are accepted")


@claim
def check_streaming(estimator: Any, shape: Shape) -> None:
    """Batches of any size, in any order, give the model of all rows."""
    X = easy(estimator, shape)
    whole = ready(estimator).fit(X)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cuts = np.sort(rng.choice(np.arange(1, len(X)), size=min(6, len(X) - 1), replace=False))
        stream = ready(estimator)
        for batch in np.split(X[rng.permutation(len(X))], [1, *cuts[cuts > 1]]):
            stream.partial_fit(batch)
        _assert_same_model(whole, stream, X, "rows in batches")


@claim
def check_mergeable(estimator: Any, shape: Shape) -> None:
    """Parts fitted apart and merged give the model of all rows, and the parts are left alone."""
    X = easy(estimator, shape)
    whole = ready(estimator).fit(X)
    first, second, third = (ready(estimator).partial_fit(part) for part in np.array_split(X, 3))
    before = state(third)
    merged = first.merge(second.merge(third))
    require(merged is first, "merge does not return self")
    require(state(third) == before, "merge changes the model that it takes from")
    _assert_same_model(whole, merged, X, "parts merged")


@claim
def check_shift(estimator: Any, shape: Shape) -> None:
    """Fitted to ``X + 1 a'``, means and places are larger by a; all else is as it was."""
    _assert_relation(estimator, shape, relations.shift(shape))


@claim
def check_scale(estimator: Any, shape: Shape) -> None:
    """Fitted to ``c X``, what has the unit of X has c, and what has its square ``c^2``.

    Directions have none. To the bit, almost, for powers of two.
    """
    _assert_relation(
        estimator, shape, *(relations.scale(shape, 2.0**p) for p in (-30, 30)), most=1e-13
    )
    scales = 1e-120, 1e-9, 3.0, 1e9, 1e120
    _assert_relation(estimator, shape, *(relations.scale(shape, c) for c in scales))


@claim
def check_rotation(estimator: Any, shape: Shape) -> None:
    """Fitted to ``X Q``, Q orthogonal, the components are ``V Q`` and the scores those of X."""
    # The rule for signs looks at coordinates, so a rotation may change them.
    _assert_relation(estimator, shape, relations.rotation(shape), ignore={"var_"})


@claim
def check_row_order(estimator: Any, shape: Shape) -> None:
    """Fitted to the rows in another order, the model is the same."""
    _assert_relation(estimator, shape, relations.row_order(shape))


@claim
def check_column_order(estimator: Any, shape: Shape) -> None:
    """Fitted to the columns in another order, the components have theirs in it."""
    _assert_relation(estimator, shape, relations.column_order(shape))


@claim
def check_zero_columns(estimator: Any, shape: Shape) -> None:
    """Fitted with columns of zeros, the components are zero there, and the same elsewhere."""
    lacking = estimator.get_params().get("n_components", 3) is None
    few: dict[str, Any] = {"n_components": 3} if lacking else {}
    # how many variances there are, and what is counted in columns, is another matter
    ignore = {"noise_variance_", "spectrum_", "batch_size_", "gamma_"}
    change = relations.zero_columns(shape)
    _assert_relation(estimator, shape, change, ignore=ignore, **few)


@claim
def check_repeated_rows(estimator: Any, shape: Shape) -> None:
    """Fitted to the table twice, components and scores are the same, and sums are doubled."""
    ignore = {"noise_variance_", "spectrum_", "spectrum_complete_", "residual_variance_"}
    white = getattr(estimator, "whiten", False)
    scores = {"transform": Move(".k", spread=-0.5 if white else 0.0)}
    change = relations.repeated_rows(shape)
    _assert_relation(estimator, shape, change, moves=scores, ignore=ignore)


def _assert_relation(
    estimator: Any,
    shape: Shape,
    *changes: relations.Change,
    most: float = LOOSE,
    moves: dict[str, Move] | None = None,
    ignore: Collection[str] = (),
    **params: Any,
) -> None:
    X, new = easy(estimator, shape), easy(estimator, shape, seed=1)
    model = ready(estimator, **params).fit(X)
    for change in changes:
        other = ready(estimator, **params).fit(change.table(X))
        tolerance = min(most, precision(model, other))
        relations.assert_moved(
            model,
            other,
            change,
            (X, new),
            tolerance,
            moves=MOVES | (moves or {}),
            ignore=ignore,
        )


def _assert_same_model(whole: Any, parts: Any, X: NDArray, what: str) -> None:
    scores = parts.transform(X)
    tolerance = precision(whole, parts)
    assert_same_fit(whole, parts, tolerance, what)
    assert_close(whole.transform(X), scores, tolerance, f"scores, {what}")


def _problems(estimator: Any, shape: Shape) -> Iterator[tuple[str, NDArray]]:
    for name, table in (("easy", easy), ("hard", hard)):
        X = table(estimator, shape)
        yield name, X
        yield f"{name} far from zero", X + 1e8
        yield f"{name} float32", X.astype(np.float32)
        yield f"{name} float32 far from zero", (X + 1000).astype(np.float32)
    # Found too late by a solver that looks too briefly: one direction barely above many alike.
    yield "spiked", spiked(estimator, shape)
    # All columns alike: the other directions hold nothing but the rounding of a large mean.
    one = 1e6 + np.random.default_rng(0).standard_normal((shape[0], 1))
    yield "one-dimensional float32 far from zero", np.tile(one, shape[1]).astype(np.float32)
    d = min(*shape, 20)
    for seed in range(4):  # tiny tables, where constants of a bound show
        yield "tiny", easy(estimator, (d + 3, d), seed) + 1000


def _variance_error(model: Any, X: NDArray) -> float:
    exact = exact_variances(X)
    found = np.asarray(model.explained_variance_, dtype=np.longdouble)
    return float(np.abs(found - exact[: len(found)]).max(initial=0) / exact[0])


def _eigenvalue_distance(model: Any, X: NDArray) -> float:
    exact = exact_variances(X)
    apart = np.abs(np.subtract.outer(model.explained_variance_, exact)).astype(np.float64)
    pairs = linear_sum_assignment(apart**2)  # to as many different eigenvalues, not all to one
    return float(apart[pairs].max(initial=0) / exact[0])


def _distance_to_guttman(model: Any, X: NDArray) -> float:
    """Return how far places are from their Guttman transform, for Euclidean distances of rows."""
    X, Y = X.astype(np.longdouble), model.embedding_.astype(np.longdouble)
    target, apart = (np.sqrt(((Z[:, None] - Z) ** 2).sum(axis=2)) for Z in (X, Y))
    B = -np.divide(target, apart, out=np.zeros_like(apart), where=apart > 0)
    B[np.diag_indices_from(B)] = -B.sum(axis=1)
    Y -= Y.mean(axis=0)
    return float(
        np.linalg.norm((Y - B @ Y / len(Y)).astype(float)) / np.linalg.norm(Y.astype(float))
    )


TRUTH: dict[str, Callable[[Any, NDArray], float]] = {
    LEADING: _variance_error,
    NEAREST: _eigenvalue_distance,
    RESIDUAL: _distance_to_guttman,
}
"""From what a certificate bounds to the function that computes it exactly."""

if CLAIM_CHECKS.keys() != CLAIMS.keys():
    odd = sorted(CLAIM_CHECKS.keys() ^ CLAIMS.keys())
    raise RuntimeError(f"a claim without a check, or a check without a claim: {', '.join(odd)}")
