"""Pictures of tables and of fitted models, in matplotlib (extra ``plot``).

They follow scikit-learn: ``ScreeDisplay.from_estimator(model)`` draws, ``.plot(ax=...)`` draws
again elsewhere, ``.ax_`` and ``.figure_`` are there to change or save, and the numbers behind the
picture are attributes.
"""

from __future__ import annotations

from .component_images import ComponentImagesDisplay
from .display import Display, Panels
from .kernel_components import KernelComponentsDisplay
from .kernel_lift import KernelLiftDisplay
from .parts import PartsDisplay
from .phase_diagram import PhaseDiagramDisplay
from .preimage_path import PreimagePathDisplay
from .reconstruction import ReconstructionDisplay
from .scree import ScreeDisplay
from .separation import SeparationDisplay
from .traversal import TraversalDisplay

__all__ = [
    "ComponentImagesDisplay",
    "Display",
    "KernelComponentsDisplay",
    "KernelLiftDisplay",
    "Panels",
    "PartsDisplay",
    "PhaseDiagramDisplay",
    "PreimagePathDisplay",
    "ReconstructionDisplay",
    "ScreeDisplay",
    "SeparationDisplay",
    "TraversalDisplay",
]
