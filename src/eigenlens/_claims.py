"""The promises an estimator may make. Each has its check in :mod:`eigenlens.testing`.

An estimator lists the names of the promises it keeps in its class attribute ``claims``. The
README's table of methods is made from them, without `RELATIONS`, which most have in common.
"""

from __future__ import annotations

__all__ = ["CLAIMS", "RELATIONS"]

CLAIMS: dict[str, str] = {
    "orthonormal": "components are orthonormal",
    "bounded": "no component is longer than 1",
    "nonnegative": "components, scores and what they stand for have no entry below zero",
    "uncorrelated": "scores on the training data are uncorrelated",
    "nested": "the first components do not depend on how many are asked for",
    "inverse": "with all components, inverse_transform undoes transform",
    "recovers": "finds a planted low-dimensional subspace under noise",
    "breakdown": "gross errors in a few cells do not move the components",
    "certificate": "certificate_ bounds the true error",
    "missing": "fits tables with holes, and fills them better than the mean does",
    "weights": "a row of weight w counts as w rows",
    "streaming": "partial_fit in any batches equals fit on all rows",
    "mergeable": "fits of parts, merged, equal the fit of the whole",
    "shift": "adding a row to all rows moves means and places by it, and nothing else",
    "scale": "multiplying the data multiplies the scores, or nothing, and turns no component",
    "rotation": "rotating the data rotates the components and leaves the scores alone",
    "row_order": "the order of the rows does not matter",
    "column_order": "the order of the columns does not matter",
    "zero_columns": "columns of zeros change nothing else",
    "repeated_rows": "a table given twice, one below the other, has the same components and scores",
}

RELATIONS = (
    "shift",
    "scale",
    "rotation",
    "row_order",
    "column_order",
    "zero_columns",
    "repeated_rows",
)
"""Claims that say how an answer moves with the data: see the table in ``docs/contract.md``."""
