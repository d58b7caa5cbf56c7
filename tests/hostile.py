"""Tables that a fit may stumble over, for hypothesis: of any shape, scale, rank, dtype, container.

Cells come from a seeded generator, all else from hypothesis, so that a failure shrinks to the
plainest table that shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse
from hypothesis import strategies as st

__all__ = ["Hostile", "table", "tables"]

MOST = 60  # rows and columns
DTYPES = ("float64", "float32", "float16", "int64", "int8", "uint8", "bool")
DECADES = {"float64": 150, "float32": 15, "float16": 2, "int64": 15, "int8": 2, "uint8": 2}
DENSE = ("C", "Fortran", "strided", "backwards", "read-only", "list", "pandas", "polars")
SPARSE = ("csr", "csc")
ODD = ("", "", "", "", "denormal", "spike", "ties", "one cell", "zero")
NAMES = ("", " ", "a\nb", "=1+1", "é\u0301", "\u202e", "nan", "<b>", "x" * 300, "🙂", "-1", "None")


@dataclass(frozen=True)
class Hostile:
    """One table, in the container it comes in, and how it was made."""

    X: Any
    container: str
    made: str

    def __repr__(self) -> str:
        return self.made

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.cells().shape

    def cells(self) -> np.ndarray:
        """Return the values as a plain array of their own."""
        if scipy.sparse.issparse(self.X):
            return self.X.toarray()
        return np.array(self.X)


@st.composite
def tables(draw: Any, *, least: float | None = None, sparse: bool = False) -> Any:
    """Draw a table, maybe a `sparse` one, whose cells are not below `least` if that is given."""
    sizes = st.one_of(st.integers(1, 8), st.integers(1, MOST))
    n, d = draw(sizes), draw(sizes)
    dtype = draw(st.sampled_from(DTYPES))
    most = DECADES.get(dtype, 0)
    recipe = {
        "shape": (n, d),
        "rank": draw(st.one_of(st.just(min(n, d)), st.integers(0, min(n, d)))),
        "noise": draw(st.sampled_from([0.0, 1e-12, 1e-3, 1.0])),
        "decades": draw(st.one_of(st.just(0), st.integers(-most, most))),
        "mean": draw(st.sampled_from([0.0, 1.0, -1e3, 1e8, 1e15])),
        "spread": draw(st.sampled_from([0, 0, 0, 3, 12, 100])),
        "twice": draw(st.sampled_from(["", "", "", "rows", "columns", "all rows"])),
        "constant": draw(st.sampled_from([0, 0, 1, 3])),
        "odd": draw(st.sampled_from(ODD)),
        "dtype": dtype,
        "seed": draw(st.integers(0, 99)),
        "least": least,
        "container": draw(st.sampled_from(DENSE + SPARSE if sparse else DENSE)),
    }
    made = ", ".join(f"{key}={value!r}" for key, value in recipe.items())
    return Hostile(table(**recipe), recipe["container"], f"table({made})")


def table(*, dtype: str, least: float, container: str, seed: int, **cells: Any) -> Any:
    """Return the table that a failure has printed."""
    X = _typed(_cells(seed=seed, **cells), dtype, least)
    return _contained(X, container, seed)


def _cells(shape, rank, noise, decades, mean, spread, twice, constant, odd, seed):
    """Return cells of about 1 before `mean` and `decades` are applied."""
    n, d = shape
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) / max(rank, 1) ** 0.5
    X += noise * rng.standard_normal(shape)
    X = X * 10.0 ** (spread * rng.uniform(-0.5, 0.5, d)) + mean * rng.integers(-1, 2, d)
    if twice == "rows":
        X = X[rng.integers(0, n, n)]
    elif twice == "columns":
        X = X[:, rng.integers(0, d, d)]
    elif twice == "all rows":
        X = np.repeat(X[:1], n, axis=0)
    X[:, rng.integers(0, d, min(constant, d))] = mean + 1.0
    if odd == "zero":
        X[:] = 0.0
    elif odd == "one cell":
        X[:] = 0.0
        X[-1, -1] = 1.0
    elif odd == "ties":
        X = np.round(X)
    elif odd == "spike":
        X.flat[rng.integers(X.size)] = 1e3 * max(1.0, np.abs(X).max())
    X = X * 10.0**decades
    if odd == "denormal":
        X = X / max(np.abs(X).max(), 1e-300) * 1e-310
        X.flat[rng.integers(X.size)] = 5e-324
    return X


def _typed(X: np.ndarray, dtype: str, least: float) -> np.ndarray:
    """Return finite cells of that dtype."""
    if least is not None:
        X = np.abs(X)
    if dtype == "bool":
        return X > 0
    kind = np.dtype(dtype)
    # halves: sums of two cells are finite too
    most = np.iinfo(kind).max if kind.kind in "iu" else float(np.finfo(kind).max)
    low = 0 if kind.kind == "u" else -most / 2
    return np.clip(X, low, most / 2).astype(kind)


def _contained(X: np.ndarray, container: str, seed: int) -> Any:
    if container == "Fortran":
        return np.asfortranarray(X)
    if container == "strided":
        wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
        wide[::2, 1::3] = X
        return wide[::2, 1::3]
    if container == "backwards":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    if container == "read-only":
        X.setflags(write=False)
    if container == "list":
        return X.tolist()
    if container in ("csr", "csc"):
        # scipy has no float16
        return scipy.sparse.csr_array(np.float32(X) if X.dtype == np.float16 else X).asformat(
            container
        )
    if container in ("pandas", "polars"):
        order = np.random.default_rng(seed).permutation(len(NAMES))
        few = [NAMES[i] for i in order[: X.shape[1]]]
        names = few + [f"column {j}" for j in range(len(few), X.shape[1])]
        if container == "pandas":
            return pd.DataFrame(X, columns=names)
        return pl.DataFrame(X, schema=names)
    return X
