"""The engines of t-SNE: what computes its gradient, or descends it altogether."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._compat import optional
from ..ops import threads
from ..solvers.embedding import EARLY, EVERY, AllPairs, Embedding, Forces, Schedule, Tree
from ..solvers.solution import Monitor
from ._openmp import by_openmp

__all__ = ["ENGINES", "choose_engine", "forces_of", "intelex"]

ENGINES = ("exact", "tree", "opentsne-bh", "opentsne-fft", "intelex")

ALL_PAIRS = 600  # rows, up to which all pairs of places cost less than a tree


def choose_engine(n_samples: int, n_components: int = 2) -> str:
    """Return the engine that ``engine='auto'`` takes: the fastest, at no loss of divergence.

    All pairs of places are quick for few rows, the tree for more. Those of other packages are never
    taken: wherever they were measured they were slower, or ended at a larger divergence.

    Parameters
    ----------
    n_samples, n_components : int

    Examples
    --------
    >>> from eigenlens import TSNE
    >>> TSNE.choose_engine(400)
    'exact'
    >>> TSNE.choose_engine(20_000)
    'tree'
    """
    return "exact" if n_components > 3 or n_samples <= ALL_PAIRS else "tree"


def forces_of(engine: str, P: Any, nu: float, angle: float) -> Forces:
    """Return the gradient as an engine computes it."""
    if engine == "exact":
        return AllPairs(P, nu)
    if engine == "tree":
        return Tree(P, nu, angle)
    return _OpenTSNE(engine, P, nu, angle)


class _OpenTSNE:
    """The gradient by openTSNE: pushes by a tree (Barnes-Hut), or by interpolation on a grid.

    Its kernel is ``(1 + |y|^2 / a)^-a``, which with ``a = (nu + 1) / 2`` is ours for places that
    are smaller by the root of ``nu / a``. It gives the gradient without the factor 4.
    """

    def __init__(self, engine: str, P: Any, nu: float, angle: float) -> None:
        module = optional("openTSNE.tsne", "tsne")
        tree = engine == "opentsne-bh"
        self.function = module.kl_divergence_bh if tree else module.kl_divergence_fft
        self.P, self.nu, self.angle = P.astype(np.float64), nu, angle
        self.alpha = (nu + 1) / 2
        self.size = float(np.sqrt(nu / self.alpha))
        self._exaggerated = 1.0, self.P

    def __call__(self, Y: NDArray, exaggeration: float, wanted: bool) -> tuple[NDArray, float]:
        """Return the gradient, and the divergence if it is wanted."""
        if self._exaggerated[0] != exaggeration:
            self._exaggerated = exaggeration, self.P * exaggeration
        value, gradient = by_openmp(
            self.function,
            Y / self.size,
            self._exaggerated[1],
            dof=self.alpha,
            bh_params={"theta": self.angle},
            fft_params={
                "n_interpolation_points": 3,
                "min_num_intervals": 50,
                "ints_in_interval": 1,
            },
            should_eval_error=wanted,
            # sums of the divergence by several threads come in any order
            n_jobs=1 if wanted else threads.n_threads(),
        )[:2]
        gradient *= 2 * (self.nu + 1) / self.nu * self.size
        return gradient, value / exaggeration - np.log(exaggeration) if wanted else np.nan


def intelex(
    P: Any, start: NDArray, schedule: Schedule, angle: float, *, monitor: Monitor
) -> Embedding:
    """Descend by scikit-learn-intelex (oneDAL), which does it all at once and shows the end."""
    daal = optional("daal4py", "bench")  # which scikit-learn-intelex comes with
    Y = np.array(start, dtype=np.float64, order="C")
    P = P.astype(np.float64)
    counts = [len(Y), P.nnz, schedule.patience, schedule.max_iter, EARLY, EVERY]
    numbers = [schedule.exaggeration, schedule.rates[0], schedule.min_grad_norm, angle]
    ended = np.zeros((3, 1))
    daal.daal_tsne_gradient_descent(
        Y, P, np.array(counts, dtype=np.float64)[:, None], np.array(numbers)[:, None], ended, 0
    )
    n_iter, value = int(ended[0, 0]), float(ended[1, 0])
    monitor(value)
    return Embedding(
        solver="intelex",
        engine="intelex",
        n_iter=n_iter,
        converged=n_iter < schedule.max_iter,
        objective_history=np.array([value]),
        embedding=Y,
        kl_divergence=value,
        learning_rate=schedule.rates[0],
    )
