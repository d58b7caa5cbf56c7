"""What is wrong with a file of data."""

from __future__ import annotations

__all__ = ["DataError"]


class DataError(ValueError):
    r"""A file of data cannot be used: says which, where and what to do.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import eigenlens
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ragged.csv")
    ...     _ = path.write_text("a,b\n1,2\n3\n")
    ...     try:
    ...         eigenlens.open(path)
    ...     except eigenlens.DataError as error:
    ...         print(str(error)[:53])
    ragged.csv, line 3: 1 fields where 2 are expected. Co
    """
