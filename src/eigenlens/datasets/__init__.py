"""Planted problems whose truth is known, and data that installed packages carry.

Nothing is downloaded. Where a set exists in an original that no package carries, the folder that
the environment variable ``EIGENLENS_DATA`` names is looked at first: see `original`.

>>> from eigenlens import datasets
>>> problem = datasets.planted_subspace(100, 8, rank=2, noise=0.1, random_state=0)
>>> problem.X.shape, problem.components.shape
((100, 8), (2, 8))
>>> datasets.breast_cancer().names[0]
'mean radius'
"""

from .images import Images, digits, faces
from .originals import original
from .planted import PlantedPursuit, PlantedSubspace, planted_pursuit, planted_subspace
from .tables import Table, breast_cancer
from .words import Words, docstrings, news

__all__ = [
    "Images",
    "PlantedPursuit",
    "PlantedSubspace",
    "Table",
    "Words",
    "breast_cancer",
    "digits",
    "docstrings",
    "faces",
    "news",
    "original",
    "planted_pursuit",
    "planted_subspace",
]
