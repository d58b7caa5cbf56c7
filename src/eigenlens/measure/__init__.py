"""How good and how stable: what can be said of a fitted model, its components and its embedding.

`diagnostics` says what each row and each column has to do with each component, and which rows stand
out. `bootstrap` says how far variances and loadings would move on another sample. `varimax` and
`promax` turn loadings so that they can be read. `sparse_path` weighs variance against the number of
nonzero loadings, and `stability` says which of these stay on other samples. `align` matches the
components of two answers. `outlier_map` finds rows that are far out among the components or off
them, robustly. `incoherence` says whether a low-rank table can be told from sparse errors, and
`recovery_region` up to which rank and how many errors an estimator does tell them. `sparseness`
says how few entries carry a part or a code. `embedding_quality` says what an embedding, linear or
not, keeps of neighbours (`trustworthiness`, `continuity`, `neighbour_preservation`), of distances
(`shepard_correlation`, `normalised_stress`) and of classes (`silhouette`, `knn_accuracy`).

>>> from sklearn.datasets import load_iris
>>> from eigenlens import PCA, measure
>>> X = load_iris().data
>>> round(measure.trustworthiness(X, PCA(2).fit_transform(X)), 2)
0.98
"""

from __future__ import annotations

from .align import Alignment, align, largest_angle
from .bootstrap import Bootstrap, bootstrap
from .classes import knn_accuracy, silhouette
from .diagnostics import Columns, Diagnostics, Rows, diagnostics
from .distortion import normalised_stress, shepard_correlation
from .embedding_quality import EmbeddingQuality, embedding_quality
from .incoherence import Incoherence, incoherence
from .neighbourhoods import continuity, neighbour_preservation, trustworthiness
from .outlier_map import OutlierMap, outlier_map
from .recovery import RecoveryRegion, recovery_region
from .rotation import Rotation, promax, varimax
from .sparse_path import SparsePath, sparse_path
from .sparseness import sparseness
from .stability import Stability, stability

__all__ = [
    "Alignment",
    "Bootstrap",
    "Columns",
    "Diagnostics",
    "EmbeddingQuality",
    "Incoherence",
    "OutlierMap",
    "RecoveryRegion",
    "Rotation",
    "Rows",
    "SparsePath",
    "Stability",
    "align",
    "bootstrap",
    "continuity",
    "diagnostics",
    "embedding_quality",
    "incoherence",
    "knn_accuracy",
    "largest_angle",
    "neighbour_preservation",
    "normalised_stress",
    "outlier_map",
    "promax",
    "recovery_region",
    "shepard_correlation",
    "silhouette",
    "sparse_path",
    "sparseness",
    "stability",
    "trustworthiness",
    "varimax",
]
