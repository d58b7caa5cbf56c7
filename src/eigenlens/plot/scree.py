"""How much each component carries, and how many are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .colours import ACCENT, AXIS, BEYOND, QUIET
from .display import Display, label
from .inputs import last_step

__all__ = ["ScreeDisplay"]

BARS = 30
TOP = 0.6  # of the height, below which the words of rules stand: the sum is mostly above
APART = 0.06  # of the height, between the words of two rules


@dataclass(eq=False)
class ScreeDisplay(Display):
    """Scree plot: the share of variance of each component, the sum so far, and where rules cut.

    Attributes
    ----------
    shares : ndarray of shape (n,)
        Of all variances that the model knows, the largest first.
    kept : int
        Components of the model.
    rules : dict of str to int
        How many components each rule keeps, where the model was fitted by rules.

    Examples
    --------
    >>> from eigenlens import PCA, datasets
    >>> from eigenlens.plot import ScreeDisplay
    >>> model = PCA("consensus").fit(datasets.breast_cancer().X)
    >>> display = ScreeDisplay.from_estimator(model)
    >>> display.kept == model.n_components_
    True
    """

    shares: NDArray
    kept: int
    rules: dict[str, int]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the variances of a fitted linear model.

        Parameters
        ----------
        estimator : fitted estimator, or Pipeline that ends with one
            With ``explained_variance_ratio_``.
        ax : matplotlib Axes, optional

        Returns
        -------
        ScreeDisplay
        """
        estimator, _ = last_step(estimator)
        shares = getattr(estimator, "explained_variance_ratio_", None)
        if shares is None:
            raise ValueError(
                f"{type(estimator).__name__} has no variances of components to draw. Take a "
                "linear method, such as PCA."
            )
        kept = len(shares)
        spectrum = getattr(estimator, "spectrum_", None)
        if spectrum is not None:  # all variances, not only those of the components
            shares = spectrum / estimator.total_variance_
        choice = getattr(estimator, "choice_", None)
        found = () if choice is None else getattr(choice, "choices", (choice,))
        return cls(np.asarray(shares), kept, {one.rule: int(one.k) for one in found}).plot(ax)

    def _draw(self, ax: Any) -> None:
        shown = 100 * self.shares[:BARS]
        number = np.arange(1, len(shown) + 1)
        colours = [ACCENT if i <= self.kept else QUIET for i in number]
        ax.bar(number, shown, color=colours, width=0.8)
        ax.set(xlabel="component", ylabel="share of variance, %", xlim=(0.3, len(shown) + 0.7))
        ax.xaxis.get_major_locator().set_params(integer=True)
        together = ax.twinx()
        together.plot(number, np.cumsum(shown), color=BEYOND, marker=".", linewidth=1.2)
        together.set_ylim(0, 105)
        together.set_ylabel("added up, %", color=BEYOND)
        together.spines["right"].set_visible(True)
        self._mark_rules(together, len(shown))

    def _mark_rules(self, ax: Any, n: int) -> None:
        """Draw a line behind the last component that each rule keeps, rules that agree together."""
        places: dict[int, list[str]] = {}
        for rule, k in self.rules.items():
            places.setdefault(min(k, n), []).append(label(rule))
        for row, (k, names) in enumerate(sorted(places.items())):
            ax.axvline(k + 0.5, color=AXIS, linewidth=0.8, linestyle="--")
            ax.annotate(
                f" {', '.join(names)}: {k}",
                (k + 0.5, TOP - APART * row),
                xycoords=("data", "axes fraction"),
                va="top",
                fontsize="small",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )
