"""What scikit-learn's checks find wrong with a table, asked once its sums are not finite."""

from __future__ import annotations

from typing import Any, Literal

from .._compat import check_array
from .blocks import Blocks

__all__ = ["require_sound"]


def require_sound(X: Any, who: str, finite: bool | Literal["allow-nan"]) -> None:
    """Raise scikit-learn's error for the first rows of which something is wrong.

    Parameters
    ----------
    X : {array-like, sparse matrix, Blocks}
    who : str
        The estimator that the error names.
    finite : bool or "allow-nan"
        What scikit-learn calls `ensure_all_finite`.
    """
    if isinstance(X, Blocks):
        X.fold(_checked, shared=(who, finite))
    else:
        _checked(X, who, finite)


def _checked(X: Any, who: str, finite: bool | Literal["allow-nan"]) -> int:
    rules = {"accept_sparse": True, "estimator": who, "input_name": "X"}
    return int(check_array(X, ensure_all_finite=finite, **rules).shape[0])
