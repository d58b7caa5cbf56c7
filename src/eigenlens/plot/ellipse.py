"""What variances and principal axes mean: two columns, and the ellipse of their covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .._compat import optional
from ..estimators.pca import PCA
from .colours import BEYOND, CLASSES
from .display import Display, label
from .inputs import table_of
from .points import draw_points

__all__ = ["EllipseDisplay"]


@dataclass(eq=False)
class EllipseDisplay(Display):
    """Two columns with the ellipse of their covariance and its principal axes.

    The arrows are the principal components, as long as the standard deviation along them. The inner
    ellipse is at one deviation from the mean in every direction, the outer one holds a Gaussian row
    with probability `level`.

    Attributes
    ----------
    points : ndarray of shape (n, 2)
        Rows in which both columns are known.
    mean : ndarray of shape (2,)
    axes : ndarray of shape (2, 2)
        The principal components, as rows.
    variances : ndarray of shape (2,)
        Along them.
    level : float
    names : list of str

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.plot import EllipseDisplay
    >>> X = np.array([[0.0, 0.0], [3.0, 3.0], [-3.0, -3.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> display = EllipseDisplay.from_data(X)
    >>> display.variances.round(3)
    array([9., 1.])
    >>> display.axes.round(3)
    array([[ 0.707,  0.707],
           [ 0.707, -0.707]])
    """

    points: NDArray
    mean: NDArray
    axes: NDArray
    variances: NDArray
    level: float
    names: list[str]

    size: ClassVar[tuple[float, float]] = (6.0, 5.2)

    @classmethod
    def from_data(
        cls,
        X: Any,
        *,
        level: float = 0.95,
        names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw two columns.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Rows with a hole (NaN) are left out.
        level : float, default=0.95
            Probability of the outer ellipse.
        names : sequence of str, optional
            Of the two columns. By default those of the frame.
        ax : matplotlib Axes, optional

        Returns
        -------
        EllipseDisplay
        """
        if not 0 < level < 1:
            raise ValueError(f"level={level} must be between 0 and 1, such as 0.95.")
        A, called = table_of(X, names)
        if A.shape[1] != 2:
            raise ValueError(f"X has {A.shape[1]} columns, and an ellipse has two. Choose two.")
        points = A[np.isfinite(A).all(axis=1)]
        if len(points) < 3:
            raise ValueError(
                f"X has {len(points)} rows without a hole, and an ellipse needs 3. Give more rows."
            )
        model = PCA(2).fit(points)
        mean, axes, variances = model.mean_, model.components_, model.explained_variance_
        return cls(points, mean, axes, variances, level, called).plot(ax)

    @property
    def radius(self) -> float:
        """How many deviations the outer ellipse is away from the mean."""
        return float(np.sqrt(special.chdtri(2, 1 - self.level)))

    def _draw(self, ax: Any) -> None:
        shapes = optional("matplotlib.patches", "plot")
        draw_points(ax, self.points, None)
        deviations = np.sqrt(self.variances)
        angle = np.degrees(np.arctan2(self.axes[0, 1], self.axes[0, 0]))
        outer = f"{100 * self.level:g} % of Gaussian rows"
        for times, style, name in ((1.0, "--", "one deviation"), (self.radius, "-", outer)):
            width, height = 2 * times * deviations
            look = {"fill": False, "edgecolor": CLASSES[6], "linewidth": 1.2, "linestyle": style}
            ax.add_patch(shapes.Ellipse(self.mean, width, height, angle=angle, label=name, **look))
        for i, (axis, deviation) in enumerate(zip(self.axes, deviations, strict=True)):
            arrow = {"arrowstyle": "-|>", "color": BEYOND, "linewidth": 2, "shrinkA": 0}
            ax.annotate(
                "", self.mean + deviation * axis, self.mean, arrowprops=arrow | {"shrinkB": 0}
            )
            ax.annotate(
                f"{i + 1}",
                self.mean + 1.0 * deviation * axis,
                8 * axis,
                textcoords="offset points",
                ha="center",
                va="center",
                color=BEYOND,
                fontweight="bold",
            )
        ax.set_aspect("equal", adjustable="datalim")
        ax.autoscale_view()
        ax.legend()
        ax.set(xlabel=label(self.names[0]), ylabel=label(self.names[1]))
        shares = 100 * self.variances / (self.variances.sum() or 1.0)
        ax.set_title(
            f"standard deviations {deviations[0]:.3g} and {deviations[1]:.3g}: "
            f"{shares[0]:.1f} % and {shares[1]:.1f} % of the variance"
        )
