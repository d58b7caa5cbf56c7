"""Ours and the peers, timed at equal quality: ``python -m benchmarks NAME``, or ``all``.

A benchmark is one module with a docstring and ``CASES``, a tuple of `benchmarks.harness.Case`;
one that measures in its own way has ``run(options)`` instead, which gives `benchmarks.score.Race`
or `benchmarks.report.Table`, one after the other, under names that are in ``CASES`` or ``TABLES``.
Adding one is that file and a line here.
"""

BENCHMARKS = {
    "pca": "benchmarks.pca",
    "rank": "benchmarks.rank",
    "missing": "benchmarks.missing",
    "import": "benchmarks.imports",
    "incremental": "benchmarks.incremental",
    "files": "benchmarks.files",
    "sparse": "benchmarks.sparse",
    "robust": "benchmarks.robust",
    "kernel": "benchmarks.kernel",
    "nonnegative": "benchmarks.nonnegative",
    "quantizer": "benchmarks.quantizer",
    "manifold": "benchmarks.manifold",
    "scale": "benchmarks.scale",
    "size": "benchmarks.size",
    "iterations": "benchmarks.iterations",
}
