"""What a rule answers: a number, and the comparisons it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Choice"]

SHOWN = 12  # comparisons that are printed


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The number of components that a rule finds, and the evidence.

    Component j is taken if ``observed[i] > thresholds[i]`` for all ``i < j``: the first that fails
    ends the count.

    Attributes
    ----------
    rule : str
        Name of the rule.
    k : int
        The number of components; 0 if none stands out.
    what : str
        What is compared, one value for each component.
    observed, thresholds : ndarray
        The values and what each must exceed, as far as the rule looked.
    note : str
        How the thresholds came about.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.select import Choice
    >>> print(Choice.of("rule", "singular value", np.array([9.0, 4.0, 1.0]), 2.5, "given"))
    rule: 2 components (given)
      1  singular value           9  >  2.5
      2  singular value           4  >  2.5
      3  singular value           1  <= 2.5
    """

    rule: str
    k: int
    what: str
    observed: NDArray = field(repr=False)
    thresholds: NDArray = field(repr=False)
    note: str = ""

    @classmethod
    def of(
        cls, rule: str, what: str, observed: NDArray, thresholds: NDArray | float, note: str
    ) -> Choice:
        """Count the leading values that exceed their thresholds.

        Parameters
        ----------
        rule, what : str
            As in the attributes.
        observed : ndarray
            One value for each component.
        thresholds : ndarray or float
            What each must exceed, or what all must.
        note : str
            How the thresholds came about.
        """
        observed = np.asarray(observed, dtype=np.float64)
        thresholds = np.array(np.broadcast_to(thresholds, observed.shape), dtype=np.float64)
        return cls(rule, leading_run(observed > thresholds), what, observed, thresholds, note)

    def __str__(self) -> str:
        many = "component" if self.k == 1 else "components"
        lines = [f"{self.rule}: {self.k} {many} ({self.note})"]
        compared = list(zip(self.observed, self.thresholds, strict=True))[: self.k + 1]
        for j, (value, threshold) in enumerate(compared[:SHOWN], start=1):
            sign = "> " if value > threshold else "<="
            lines.append(f"  {j}  {self.what}  {value:10.4g}  {sign} {threshold:.4g}")
        if len(compared) > SHOWN:
            lines.append(f"  ... {len(compared) - SHOWN} more")
        return "\n".join(lines)


def leading_run(passed: NDArray) -> int:
    """Return how many of the first entries are true, up to the first that is not."""
    return len(passed) if passed.all() else int(np.argmin(passed))
