"""Names that tables carry, and pandas frames where pandas is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["column_names", "component_names", "loading_frame", "pandas", "row_names"]


def pandas() -> Any:
    """Return the module, or say how to get it."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "Frames need pandas, which is not installed. Run: pip install pandas. "
            "The arrays are there without it."
        ) from None
    return pandas


def loading_frame(parts: dict[str, NDArray], columns: NDArray, components: tuple[str, ...]) -> Any:
    """Return a frame with a row for each column of the table, and the parts side by side."""
    pd = pandas()
    frames = {
        name: pd.DataFrame(values, index=columns, columns=list(components))
        for name, values in parts.items()
    }
    return pd.concat(frames, axis=1)


def row_names(table: Any, n: int) -> NDArray:
    """Return the index of a pandas table, else the numbers of the rows."""
    index = getattr(table, "index", None)
    # a list has a method of that name
    return np.arange(n) if index is None or callable(index) else np.asarray(index)


def column_names(table: Any, d: int, prefix: str = "x") -> NDArray:
    """Return the names of the columns of a table, of any kind that has names."""
    names = getattr(table, "columns", None)
    if names is None:
        name = getattr(table, "name", None)  # of a single column
        names = [f"{prefix}{j}" for j in range(d)] if name is None else [name]
    return np.asarray(list(names), dtype=object)


def component_names(estimator: Any, k: int) -> tuple[str, ...]:
    """Return the names that the estimator gives its scores."""
    if hasattr(estimator, "get_feature_names_out"):
        return tuple(map(str, estimator.get_feature_names_out()))
    return tuple(f"component{j}" for j in range(k))
