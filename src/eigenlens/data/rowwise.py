"""What a fitted model says of each row by itself, asked of a table in blocks."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from ..ops import threads
from .blocks import Blocks
from .dask import DaskBlocks
from .tables import table_of

__all__ = ["ROWWISE", "Rowwise", "of_table", "rowwise"]

ROWWISE = frozenset(
    {"transform", "inverse_transform", "predict", "score_samples", "impute", "denoise"}
)
"""Methods that answer for each row by itself."""

Method = TypeVar("Method", bound=Callable[..., Any])


def rowwise(method: Method) -> Method:
    """Let a method of arrays take tables in blocks.

    A Dask array or dataframe gives a lazy Dask array. Another table gives an array, made block by
    block.
    """

    @functools.wraps(method)
    def called(self: Any, X: Any, *args: Any, **given: Any) -> Any:
        table = table_of(X)
        if table is None:
            return method(self, X, *args, **given)
        return of_table(self, method.__name__, table, args, given)

    return called  # type: ignore[return-value]


class Rowwise:
    """A method of a model as a function of blocks, which are arrays without names."""

    def __init__(self, model: Any, name: str, *args: Any, **given: Any) -> None:
        self.model = copy.copy(model)
        vars(self.model).pop("feature_names_in_", None)  # columns are in their places already
        vars(self.model).pop("_sklearn_output_config", None)  # a block is an array
        self.name, self.args, self.given = name, args, given
        self.none: NDArray | None = None

    def __call__(self, block: Any) -> NDArray:
        """Return what the method says of the rows of a block."""
        if block.shape[0] == 0 and self.none is not None:
            return self.none
        with config_context(transform_output="default"):
            found: NDArray = getattr(self.model, self.name)(block, *self.args, **self.given)
        return found


def of_table(
    model: Any, name: str, table: Blocks, args: Any, given: Any, *, lazy: bool = False
) -> Any:
    """Return what the method `name` of a model says of the rows of a table.

    A lazy Dask array of Dask's; of another an array or, if `lazy`, a table in blocks.
    """
    check_is_fitted(model)
    back = name == "inverse_transform"
    width = getattr(model, "_n_features_out", None) if back else None
    width = model.n_features_in_ if width is None else width
    if not back and table.named and hasattr(model, "feature_names_in_"):
        table = table.select(model.feature_names_in_)
    if len(table.names) != width:
        raise ValueError(
            f"X has {len(table.names)} features, but {type(model).__name__} is expecting {width} "
            "features as input."
        )
    rows = Rowwise(model, name, *args, **given)
    if lazy and not isinstance(table, DaskBlocks):
        made = table.map(rows)
        made.named = False  # as an array is that a model makes of one with names
        return made
    if not isinstance(table, DaskBlocks):
        return np.concatenate(
            [rows(block) for block in threads.looking_ahead(table) if block.shape[0]]
        )
    rows.none = rows(np.ones((1, width), table.dtype))[:0]  # tells the shape and dtype of answers
    width = rows.none.shape[1] if rows.none.ndim > 1 else None
    return table.map(rows).to_dask(rows.none.dtype, width)
