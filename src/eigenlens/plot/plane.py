"""What PCA does to three columns: the plane nearest to the points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._compat import optional
from ..measure.linear import checked, require_linear
from .colours import AXIS, BEYOND, QUIET
from .display import Display, label
from .inputs import last_step, names_of
from .points import draw_points, make_box
from .target import Target

__all__ = ["PlaneDisplay"]

HEIGHT = 22.0  # degrees, from which one looks down
TILT, SLACK = 0.5, 0.25  # cosine between the way one looks and the normal of the plane


@dataclass(eq=False)
class PlaneDisplay(Display):
    """Points in three dimensions, the plane of two components, and how far points are from it.

    Attributes
    ----------
    points : ndarray of shape (n, 3)
        The rows.
    feet : ndarray of shape (n, 3)
        Their projections on the plane.
    mean : ndarray of shape (3,)
        Of the model, in the plane.
    axes : ndarray of shape (2, 3)
        An orthonormal basis of the plane; the components themselves if they are orthonormal.
    names : list of str
        Of the columns.
    target : Target or None

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import PCA
    >>> from eigenlens.plot import PlaneDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 3)) * [3, 2, 0.2]
    >>> display = PlaneDisplay.from_estimator(PCA(2).fit(X), X)
    >>> np.abs(display.normal).round(1)
    array([0., 0., 1.])
    """

    points: NDArray
    feet: NDArray
    mean: NDArray
    axes: NDArray
    names: list[str]
    target: Target | None

    size: ClassVar[tuple[float, float]] = (6.6, 5.4)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw three columns and the plane that a fitted model puts through them.

        Parameters
        ----------
        estimator : fitted linear estimator, or Pipeline that ends with one
            Of three columns, with at least two components.
        X : array-like of shape (n, 3)
        y : array-like of shape (n,), optional
            A class or a number for each row.
        names : sequence of str, optional
            Of the columns. By default those of the fit or of the frame.
        ax : matplotlib Axes with ``projection="3d"``, optional

        Returns
        -------
        PlaneDisplay
        """
        model, table = last_step(estimator, X)
        require_linear(model)
        k, d = np.shape(model.components_)
        if d != 3 or k < 2:
            raise ValueError(
                f"{type(model).__name__} has {k} components of {d} columns, and a plane in space "
                "has two of three. Fit two components to three columns."
            )
        A = checked(model, table)
        points = np.asarray(A.toarray() if hasattr(A, "toarray") else A, dtype=np.float64)
        mean = np.asarray(model.mean_, dtype=np.float64)
        axes = _basis(np.asarray(model.components_[:2], dtype=np.float64))
        return cls(
            points=points,
            feet=mean + (points - mean) @ axes.T @ axes,
            mean=mean,
            axes=axes,
            names=names_of(estimator, X, names, 3),
            target=None if y is None else Target.of(y, len(points)),
        ).plot(ax)

    @property
    def normal(self) -> NDArray:
        """The direction in which the plane has no extent, of length 1."""
        return np.cross(*self.axes)

    @property
    def projection(self) -> str | None:
        """Always ``'3d'``."""
        return "3d"

    def _draw(self, ax: Any) -> None:
        art = optional("mpl_toolkits.mplot3d.art3d", "plot")
        sides = np.stack([self.points, self.feet], axis=1)
        ax.add_collection3d(art.Line3DCollection(sides, colors=BEYOND, linewidths=1.0, alpha=0.9))
        plane = art.Poly3DCollection([self.corners()], facecolor=QUIET, alpha=0.35)
        plane.set_edgecolor(AXIS)
        ax.add_collection3d(plane)
        draw_points(ax, self.points, self.target)
        # of one scale, so that angles look right
        make_box(ax, tuple(label(name, 18) for name in self.names), equal=True)
        ax.view_init(HEIGHT, self._azimuth())

    def _azimuth(self) -> float:
        """Return from where to look, so that the plane is seen neither from its edge nor flat."""
        angles = np.array([-60, -30, -120, -150, 60, 30, 120, 150])  # along no axis
        a, e = np.radians(angles), np.radians(HEIGHT)
        eyes = np.stack([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.full(len(a), np.sin(e))])
        off = np.abs(np.abs(self.normal @ eyes) - TILT)
        good = np.flatnonzero(off < SLACK)
        return float(angles[good[0] if len(good) else off.argmin()])

    def corners(self) -> NDArray:
        """Return the corners of the part of the plane that is drawn, of shape (4, 3)."""
        along = (self.feet - self.mean) @ self.axes.T
        low, high = along.min(axis=0), along.max(axis=0)
        rectangle = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
        return self.mean + rectangle @ self.axes


def _basis(components: NDArray) -> NDArray:
    """Return an orthonormal basis of the span of two directions, the first of them first."""
    Q, R = np.linalg.qr(components.T)
    if np.abs(np.diag(R)).min() <= 1e-12 * np.abs(R).max():
        raise ValueError("The first two components span no plane. Fit with other settings.")
    return (Q * np.sign(np.diag(R))).T
