"""Pictures of tables and of fitted models, in matplotlib (extra ``plot``).

They follow scikit-learn: ``ScreeDisplay.from_estimator(model)`` draws, ``.plot(ax=...)`` draws
again elsewhere, ``.ax_`` and ``.figure_`` are there to change or save, and the numbers behind the
picture are attributes.
"""

from __future__ import annotations

from .display import Display, Panels
from .scree import ScreeDisplay

__all__ = ["Display", "Panels", "ScreeDisplay"]
