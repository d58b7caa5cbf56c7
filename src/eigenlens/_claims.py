"""The promises an estimator may make. Each has its check in :mod:`eigenlens.testing`.

An estimator lists the names of the promises it keeps in its class attribute ``claims``. The
README's table of methods is made from them.
"""

from __future__ import annotations

__all__ = ["CLAIMS"]

CLAIMS: dict[str, str] = {
    "orthonormal": "components are orthonormal",
    "bounded": "no component is longer than 1",
    "nonnegative": "components, scores and what they stand for have no entry below zero",
    "uncorrelated": "scores on the training data are uncorrelated",
    "nested": "the first components do not depend on how many are asked for",
    "rotation": "rotating the data rotates the components and leaves the scores alone",
    "inverse": "with all components, inverse_transform undoes transform",
    "row_order": "the order of the rows does not matter",
    "recovers": "finds a planted low-dimensional subspace under noise",
    "breakdown": "gross errors in a few cells do not move the components",
    "certificate": "certificate_ bounds the true error",
    "missing": "fits tables with holes, and fills them better than the mean does",
    "weights": "a row of weight w counts as w rows",
    "streaming": "partial_fit in any batches equals fit on all rows",
    "mergeable": "fits of parts, merged, equal the fit of the whole",
}
