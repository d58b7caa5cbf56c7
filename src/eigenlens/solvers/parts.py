"""What the solvers of ``X = W H`` without negative numbers share: penalties, result, certificate.

All minimise, over codes W (n x k) and parts H (k x d) with no negative entry::

    sum over rows i of  s_i (D(x_i | w_i H) + P_W(w_i))  +  P_H(H),   P(A) = l1 |A|_1 + l2/2 |A|^2

D is a beta-divergence, summed over what is observed of a row, and s_i the weight of the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ops.weights import total
from .solution import Certificate, Solution

__all__ = ["NONE", "Parts", "Penalty", "certify"]

RESIDUAL = "KKT residual of W and H"


@dataclass(frozen=True, slots=True)
class Penalty:
    """``l1 |A|_1 + l2/2 |A|^2`` on one of the factors."""

    l1: float = 0.0
    l2: float = 0.0

    def curved(self, G: NDArray) -> NDArray:
        """Return matrices of quadratic forms with the penalty's curvature added."""
        return G + self.l2 * np.eye(G.shape[-1]) if self.l2 else G

    def of(self, A: NDArray, weight: NDArray | None = None) -> float:
        """Return the penalty on a factor whose rows have weights."""
        if not (self.l1 or self.l2):
            return 0.0
        rows = self.l1 * A.sum(axis=1) + 0.5 * self.l2 * np.einsum("ij,ij->i", A, A)
        return total(rows, weight)


NONE = Penalty()


@dataclass(frozen=True, kw_only=True)
class Parts(Solution):
    """Codes W and parts H; the codes are solved for to the end with the parts as they are.

    Those of a table in blocks are :class:`eigenlens.solvers.blocked.Codes`.
    """

    components: NDArray
    codes: Any


def certify(decrease: float, scale: float, tol: float) -> Certificate:
    """Return the residual of the conditions of optimality (Karush, Kuhn, Tucker).

    `decrease` is the sum, over all entries of W and H, of what a Newton step of that entry alone,
    cut off at zero, takes off the objective by its quadratic model; `scale` is the objective's
    size. The root of their ratio is a projected gradient in units that no rescaling of X, W or H
    changes. It is zero where the conditions hold, and nowhere else.
    """
    if scale > 0:
        value = float(np.sqrt(max(decrease, 0.0) / scale))
    else:  # of a table of zeros, or of one that underflows
        value = 0.0 if decrease == 0 else np.inf
    return Certificate(RESIDUAL, value, tol)
