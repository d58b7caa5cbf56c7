"""Time against size: the same problem from small to large, for the figure.

A case is called after its method and its number of rows. Sizes go as far as the slowest contestant
answers in about a minute; one that takes longer leaves before.
"""

from dataclasses import replace

from benchmarks import kernel, manifold_isomap, manifold_mds, nonnegative, pca, robust
from benchmarks.harness import Case

REPEATS = 2
METHOD = ""


def sizes(method, title, rows, make, size, smoke, judge, limits, contestants, params=None):
    """Enter one problem with several numbers of rows; `contestants` gives those for a number."""
    for n in rows:
        yield Case(
            f"{method} {n}",
            f"{n:_}".replace("_", " ") + f" {title}",
            make,
            size | {"n": n},
            smoke,
            judge,
            limits,
            contestants(n),
            params or {},
            method=method,
            repeats=REPEATS,
            cold=0,
        )


def parts(rng, n, d):
    """Draw sums of ten parts in noise."""
    clean = rng.exponential(size=(n, 10)) @ rng.exponential(size=(10, d))
    return clean + rng.random((n, d))


def pursuits():
    """Enter planted problems; TensorLy leaves before it takes minutes."""
    scheme = (robust.OURS[0], robust.TEXTBOOK, robust.GRAM)
    for n in (125, 250, 500, 1000, 2000):
        everyone = (*scheme, *(robust.TENSORLY[1:] if n <= 500 else ()))
        one = robust.pursuit(f"RobustPCA {n}", n, everyone)
        yield replace(one, method="RobustPCA", repeats=REPEATS, cold=0)


ALMOST = 1.001  # of another's stress or residual variance: the same to three digits

CASES = (
    *sizes(
        "PCA",
        "x 100, 10 components",
        (1000, 10_000, 100_000, 1_000_000),
        pca.normal,
        {"d": 100, "deviations": (3, 1), "offset": 10},
        {"n": 400, "d": 30, "deviations": (3, 1), "offset": 10},
        pca.captured_variance,
        {"shortfall": 1e-8},
        lambda n: tuple(pca.pca(package) for package in pca.LABELS),
        {"k": 10},
    ),
    *sizes(
        "NMF",
        "x 200, 10 parts, to the loss of 100 of scikit-learn's iterations",
        (300, 1000, 3000, 10_000, 30_000),
        nonnegative.problem(parts),
        {"d": 200, "k": 10, "iterations": 100},
        {"n": 60, "d": 40, "k": 3, "iterations": 20},
        nonnegative.reached,
        nonnegative.EQUAL,
        lambda n: nonnegative.BOTH,
        {"loss": "frobenius"},
    ),
    *sizes(
        "KernelPCA",
        "x 20, Gaussian kernel, 2 components",
        (500, 1000, 2000, 4000, 8000),
        kernel.gaussian,
        {"d": 20},
        {"n": 60, "d": 4},
        kernel.residual,
        {"residual": kernel.RESIDUAL},
        lambda n: kernel.EIGEN[:2],
    ),
    *pursuits(),
    *sizes(
        "MDS",
        "x 10, in the plane",
        (250, 500, 1000, 2000, 4000),
        manifold_mds.cloud,
        {"d": 10},
        {"n": 60, "d": 10},
        manifold_mds.against(manifold_mds.CLASSICAL, manifold_mds.raw_stress),
        {"over scikit-learn's": ALMOST},
        lambda n: (manifold_mds.OURS, manifold_mds.CLASSICAL),
    ),
    *sizes(
        "Isomap",
        "points of a Swiss roll, all ways",
        (500, 1000, 2000, 4000, 8000),
        manifold_isomap.roll,
        {},
        {"n": 300},
        manifold_isomap.beside,
        {"over scikit-learn's": ALMOST},
        lambda n: manifold_isomap.BOTH,
        {"neighbours": manifold_isomap.NEIGHBOURS},
    ),
)
