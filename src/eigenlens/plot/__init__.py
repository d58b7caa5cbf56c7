"""Pictures of tables and of fitted models, in matplotlib (extra ``plot``).

They follow scikit-learn: ``ScreeDisplay.from_estimator(model)`` draws, ``.plot(ax=...)`` draws
again elsewhere, ``.ax_`` and ``.figure_`` are there to change or save, and the numbers behind the
picture are attributes.

>>> from sklearn.datasets import load_iris
>>> from eigenlens import PCA, plot
>>> X, y = load_iris(return_X_y=True)
>>> picture = plot.ScoresDisplay.from_estimator(PCA(2).fit(X), X, y)
>>> picture.ax_.get_xlabel()
'component 1 (92.5 %)'
"""

from __future__ import annotations

from .biplot import BiplotDisplay
from .component_images import ComponentImagesDisplay
from .correlation import CorrelationDisplay
from .display import Display, Panels
from .ellipse import EllipseDisplay
from .histograms import HistogramsDisplay
from .kernel_components import KernelComponentsDisplay
from .kernel_lift import KernelLiftDisplay
from .loadings import LoadingsDisplay
from .outliers import OutlierMapDisplay
from .parts import PartsDisplay
from .phase_diagram import PhaseDiagramDisplay
from .plane import PlaneDisplay
from .preimage_path import PreimagePathDisplay
from .reconstruction import ReconstructionDisplay
from .scores import ScoresDisplay
from .scree import ScreeDisplay
from .separation import SeparationDisplay
from .shepard import ShepardDisplay
from .sparse_loadings import SparseLoadingsDisplay
from .sparse_path import SparsePathDisplay
from .traversal import TraversalDisplay

__all__ = [
    "BiplotDisplay",
    "ComponentImagesDisplay",
    "CorrelationDisplay",
    "Display",
    "EllipseDisplay",
    "HistogramsDisplay",
    "KernelComponentsDisplay",
    "KernelLiftDisplay",
    "LoadingsDisplay",
    "OutlierMapDisplay",
    "Panels",
    "PartsDisplay",
    "PhaseDiagramDisplay",
    "PlaneDisplay",
    "PreimagePathDisplay",
    "ReconstructionDisplay",
    "ScoresDisplay",
    "ScreeDisplay",
    "SeparationDisplay",
    "ShepardDisplay",
    "SparseLoadingsDisplay",
    "SparsePathDisplay",
    "TraversalDisplay",
]
