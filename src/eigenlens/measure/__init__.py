"""How good and how stable: a statistician's table of a fitted linear model.

`diagnostics` says what each row and each column has to do with each component, and which rows stand
out. `bootstrap` says how far variances and loadings would move on another sample. `varimax` and
`promax` turn loadings so that they can be read. `sparse_path` weighs variance against the number of
nonzero loadings, and `stability` says which of these stay on other samples. `align` matches the
components of two answers.
"""

from __future__ import annotations

from .align import Alignment, align, largest_angle
from .bootstrap import Bootstrap, bootstrap
from .diagnostics import Columns, Diagnostics, Rows, diagnostics
from .rotation import Rotation, promax, varimax
from .sparse_path import SparsePath, sparse_path
from .stability import Stability, stability

__all__ = [
    "Alignment",
    "Bootstrap",
    "Columns",
    "Diagnostics",
    "Rotation",
    "Rows",
    "SparsePath",
    "Stability",
    "align",
    "bootstrap",
    "diagnostics",
    "largest_angle",
    "promax",
    "sparse_path",
    "stability",
    "varimax",
]
