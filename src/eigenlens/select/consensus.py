"""All rules at once, and the vote among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from .choice import Choice
from .cross_validation import cross_validation
from .factored import Seed, Table, factored
from .gavish_donoho import gavish_donoho
from .resampling import deflation, flip, parallel

__all__ = ["RULES", "Consensus", "consensus"]

Alone = Callable[[Table, Seed], Choice]

ALONE: Mapping[str, Alone] = {
    "parallel": parallel,
    "flip": flip,
    "deflation": deflation,
    "gavish-donoho": gavish_donoho,
    "cv": cross_validation,
}
VOTERS = ("flip", "deflation", "cv")


@dataclass(frozen=True, slots=True, eq=False)
class Consensus:
    """What each rule finds, and the number agreed on.

    Attributes
    ----------
    k : int
        The median of the rules that vote.
    choices : tuple of Choice
        The answer and the evidence of each rule.
    rule : str
        ``'consensus'``.

    Examples
    --------
    >>> from eigenlens import datasets
    >>> from eigenlens.select import consensus
    >>> found = consensus(datasets.planted_subspace(200, 20, rank=3, random_state=0).X, 0)
    >>> found.k
    3
    >>> [choice.rule for choice in found.choices if choice.k != found.k]
    ['flip']
    """

    k: int
    choices: tuple[Choice, ...]
    rule: str = "consensus"

    def __str__(self) -> str:
        lines = [f"consensus: {self.k} components (median of {', '.join(VOTERS)})"]
        for choice in self.choices:
            vote = "votes" if choice.rule in VOTERS else ""
            lines.append(f"  {choice.rule:14}{choice.k:4}  {vote:5}  {choice.note}")
        return "\n".join(lines)


def consensus(X: Table, rng: Seed = None) -> Consensus:
    """Return what every rule finds, and the median of the three that vote.

    `flip`, `deflation` and `cross_validation` vote: none of them needs white noise, and they err
    in different ways. Sign-flipping finds too few beside strong factors and hardly ever too many;
    deflation is not shadowed, but a mistake in one round spoils the next; cross-validation knows
    nothing of singular values, only whether a component predicts. So the median is what two of
    them reach: in other words what cross-validation and deflation both confirm, and no less than
    sign-flipping does. `parallel` has no vote because it errs like `flip`, `gavish_donoho` because
    noise that is not white fools it.

    Parameters
    ----------
    X : array of shape (n, d)
        The table, or what `factored` gives for it.
    rng : numpy.random.Generator, int or None
        The draws, or a seed for them.

    Returns
    -------
    Consensus

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import datasets
    >>> from eigenlens.select import consensus
    >>> X = datasets.planted_subspace(200, 20, rank=3, random_state=0).X
    >>> print(consensus(X, 0))
    consensus: 3 components (median of flip, deflation, cv)
      parallel         3         95 % quantile of permuted tables, ... draws
      flip             2  votes  95 % quantile of sign-flipped tables, ... draws
      deflation        3  votes  99 % quantile of sign-flipped residuals, ... draws in ... rounds
      gavish-donoho    3         optimal hard threshold, noise from the median ...
      cv               3  votes  error of hidden entries / variance, above its standard error
    """
    table, rng = factored(X), np.random.default_rng(rng)
    choices = tuple(rule(table, rng) for rule in ALONE.values())
    votes = [choice.k for choice in choices if choice.rule in VOTERS]
    return Consensus(int(np.median(votes)), choices)


RULES: Mapping[str, Callable[[Table, Seed], Choice | Consensus]] = {
    **ALONE,
    "consensus": consensus,
}
"""Every rule by its name: ``RULES[name](X, rng).k`` is the number of components."""
