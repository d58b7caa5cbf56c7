"""Ways to bring columns to one scale, by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .blocks import Blocks
from .rowwise import Rowwise
from .scalers import MinMaxScaler, Normalizer, RobustScaler, StandardScaler

__all__ = ["SCALERS", "scaled", "scaler_of"]


class Scaling(NamedTuple):
    """A way to scale: the class for it, and what it does in words."""

    scaler: type | None
    words: str


SCALERS = {
    "standard": Scaling(StandardScaler, "each column was centred and brought to variance 1"),
    "minmax": Scaling(MinMaxScaler, "each column was brought to the range from 0 to 1"),
    "robust": Scaling(
        RobustScaler, "each column was brought to median 0 and distance 1 of quartiles"
    ),
    "normalize": Scaling(Normalizer, "each row was brought to length 1"),
    "none": Scaling(None, "columns were left as they are"),
}
"""Ways to scale, by name."""


def scaler_of(how: str) -> Any:
    """Return an unfitted scaler, None for ``"none"``."""
    if how not in SCALERS:
        raise ValueError(f"scale={how!r} is not one of {', '.join(SCALERS)}.")
    kind = SCALERS[how].scaler
    return None if kind is None else kind()


def scaled(blocks: Blocks, how: str) -> tuple[Any, Blocks]:
    """Return a fitted scaler (None for ``"none"``) and the table that it makes of `blocks`.

    Parameters
    ----------
    blocks : Blocks
    how : {'standard', 'minmax', 'robust', 'normalize', 'none'}

    Returns
    -------
    scaler : estimator or None
    table : Blocks

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.data.blocks import ArrayBlocks
    >>> from eigenlens.data.scaling import scaled
    >>> scaler, table = scaled(ArrayBlocks(np.array([[1.0, 30.0], [3.0, 10.0]])), "standard")
    >>> table.read()
    array([[-1.,  1.],
           [ 1., -1.]])
    """
    scaler = scaler_of(how)
    if scaler is None:
        return None, blocks
    if isinstance(scaler, StandardScaler) and sparse.issparse(next(iter(blocks), None)):
        scaler.set_params(with_mean=False)  # under which zeros stay zeros
    scaler.fit(blocks)
    scaler.feature_names_in_ = np.asarray(blocks.names, dtype=object)
    return scaler, blocks.map(Rowwise(scaler, "transform"))
