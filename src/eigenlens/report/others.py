"""The methods beside PCA: those that the time is enough for are fitted, the others are named."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from .._register import Method
from .._text import count, listed
from ..measure.comparison import Compared, Comparison
from ..measure.trial import Fit
from .clock import Clock
from .compared import ROWS
from .fits import PAIRS, Fits, Fitted, fit_other, model_of

__all__ = ["LeftOut", "fit_others", "without_parts"]

SHARES = (0.3, 0.8)  # of the time that is left, which one method may take: at first, and in the end
SMALL = 200_000  # cells, up to which a fit is tried without knowing what it takes


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """A method that was not fitted, with the reason."""

    one: Fitted
    why: str


def without_parts(
    chosen: dict[str, Method], fits: Fits, names: tuple[str, ...], *, asked: bool
) -> tuple[dict[str, Method], list[LeftOut]]:
    """Return the methods that have something to say here, and those that take no values below zero.

    Shifted columns make no parts; one who asks for such a method by name gets it all the same.
    """
    below = np.nanmin(fits.X, axis=0) < 0
    if asked or not below.any():
        return chosen, []
    out = {name: method for name, method in chosen.items() if _positive(method)}
    which = listed([names[j] for j in np.flatnonzero(below)], 3)
    many = int(below.sum())
    why = (
        f"It adds up parts, and takes nothing below zero: {count(many, 'column')} "
        f"{'has' if many == 1 else 'have'} such values ({which})."
    )
    kept = {name: method for name, method in chosen.items() if name not in out}
    return kept, [LeftOut(_unfitted(method, fits, None, None), why) for method in out.values()]


def _positive(method: Method) -> bool:
    return method.kind == "parts" and bool(get_tags(method.load()()).input_tags.positive_only)


def fit_others(
    chosen: dict[str, Method],
    fits: Fits,
    comparison: Comparison | None,
    clock: Clock,
    *,
    drawn: NDArray,
    target: NDArray | None,
    random_state: Any,
    callbacks: tuple[Any, ...],
) -> tuple[list[Fitted], list[LeftOut]]:
    """Fit methods in turn, each if what it took in the comparison says that there is time.

    What the others did not use is for those that asked for more than their share.
    """
    rows = {} if comparison is None else {row.method: row for row in comparison.rows}
    fitted, why = dict[str, Fitted](), dict[str, str]()
    for share, name in product(SHARES, chosen):
        method = chosen[name]
        n = len(drawn) if method.kind in PAIRS else len(fits.Z)
        if name in fitted:
            continue
        why[name] = _too_slow(method, rows.get(name), n, fits, clock, share)
        if why[name]:
            continue
        with clock.timed(name):
            fitted[name] = fit_other(
                method,
                fits,
                drawn=drawn,
                target=target,
                random_state=random_state,
                seconds=max(share * clock.left, 0.1),
                callbacks=callbacks,
            )
    left_out = [
        LeftOut(_unfitted(method, fits, target, random_state), why[name])
        for name, method in chosen.items()
        if name not in fitted
    ]
    return [fitted[name] for name in chosen if name in fitted], left_out


def _too_slow(
    method: Method, row: Compared | None, n: int, fits: Fits, clock: Clock, share: float
) -> str:
    """Return why there is no time for a fit to `n` rows; nothing if there is."""
    if clock.left <= 0:
        return f"The {clock.budget:g} s of the report were used up."
    given_up = ("late", "crashed", "untried") if fits.Z.size > SMALL else ("late", "crashed")
    if row is not None and row.stopped in given_up:
        return f"In the comparison, on {min(ROWS, len(fits.Z))} rows: {row.error}"
    needed = _seconds(method, row, n)
    if needed <= share * clock.left:
        return ""
    return (
        f"By what it took in the comparison, it needs about {needed:.1f} s; with {clock.left:.0f} "
        f"of {clock.budget:g} s left for all, there was no time."
    )


def _seconds(method: Method, row: Compared | None, n: int) -> float:
    """Return about how long a fit to `n` rows takes; 0 where that is not known."""
    if row is None or row.error:
        return 0.0
    seen = min(ROWS, n) * 0.75
    return float(row.seconds * max(1.0, n / seen) ** (2 if method.kind in PAIRS else 1))


def _unfitted(method: Method, fits: Fits, target: NDArray | None, random_state: Any) -> Fitted:
    model = model_of(method, fits, target, random_state)
    tags = get_tags(model).input_tags
    filled, positive = fits.holes and not tags.allow_nan, bool(tags.positive_only)
    below = bool(np.nanmin(fits.X) < 0)
    fit = Fit(method.name, model, None, filled, 0.0, (), raised=positive and below)
    return Fitted(fit, method, None, positive and not below, fits.filled)
