"""Pictures of tables and of fitted models, in matplotlib (extra ``plot``).

They follow scikit-learn: ``ScreeDisplay.from_estimator(model)`` draws, ``.plot(ax=...)`` draws
again elsewhere, ``.ax_`` and ``.figure_`` are there to change or save, and the numbers behind the
picture are attributes.
"""

from __future__ import annotations

from .biplot import BiplotDisplay
from .correlation import CorrelationDisplay
from .display import Display, Panels
from .ellipse import EllipseDisplay
from .histograms import HistogramsDisplay
from .loadings import LoadingsDisplay
from .outliers import OutlierMapDisplay
from .plane import PlaneDisplay
from .scores import ScoresDisplay
from .scree import ScreeDisplay
from .shepard import ShepardDisplay
from .sparse_loadings import SparseLoadingsDisplay
from .sparse_path import SparsePathDisplay

__all__ = [
    "BiplotDisplay",
    "CorrelationDisplay",
    "Display",
    "EllipseDisplay",
    "HistogramsDisplay",
    "LoadingsDisplay",
    "OutlierMapDisplay",
    "Panels",
    "PlaneDisplay",
    "ScoresDisplay",
    "ScreeDisplay",
    "ShepardDisplay",
    "SparseLoadingsDisplay",
    "SparsePathDisplay",
]
