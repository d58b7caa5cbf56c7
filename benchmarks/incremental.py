"""IncrementalPCA: speed and error on rows in batches, against scikit-learn and intelex (oneDAL).

scikit-learn's truncates at every batch, so that its answer is not that of PCA: the shortfall shows
by how much. Ours and intelex's are exact.
"""

import os
from importlib import import_module

from benchmarks.harness import Case, Contestant
from benchmarks.judges import captured_variance
from benchmarks.pca import GRAM, normal

METHOD = "IncrementalPCA"
CLASSES = {
    "eigenlens": ("eigenlens", "eigenlens"),
    "scikit-learn": ("sklearn", "sklearn.decomposition"),
    "intelex preview": ("sklearnex", "sklearnex.preview.decomposition"),
}
BATCH = 1000


def model(module, k):
    """Make the unfitted IncrementalPCA of a package."""
    made = import_module(module).IncrementalPCA(k, batch_size=BATCH)
    if module.startswith("sklearnex"):
        # oneDAL has threads of its own, which the variables for BLAS do not reach
        made.n_jobs = int(os.environ["BENCHMARK_NUM_THREADS"])
    return made


def answer(fitted):
    """Give what is judged; asking for it solves what was put off."""
    return {"components": fitted.components_, "variance": fitted.explained_variance_}


def by_fit(module):
    """Fit all rows at once, in batches inside."""
    return lambda X, k: answer(model(module, k).fit(X))


def by_partial_fit(module):
    """Call partial_fit with one batch after the other."""

    def fit(X, k):
        stream = model(module, k)
        for start in range(0, len(X), BATCH):
            stream.partial_fit(X[start : start + BATCH])
        return answer(stream)

    return fit


def case(name, title, way):
    """Make a case of one way to give the rows."""
    return Case(
        name,
        f"200 000 x 100, deviations 3 to 1, means up to 10, {title}, 10 components",
        normal,
        {"n": 200_000, "d": 100, "deviations": (3, 1), "offset": 10},
        {"n": 3000, "d": 30, "deviations": (3, 1), "offset": 10},
        captured_variance,
        {"shortfall": 1e-8},
        tuple(
            Contestant(label, package, way(module)) for label, (package, module) in CLASSES.items()
        ),
        {"k": 10},
        GRAM,
    )


CASES = (
    case("fit", f"batch_size={BATCH}", by_fit),
    case("stream", f"200 calls of partial_fit with {BATCH} rows", by_partial_fit),
)
