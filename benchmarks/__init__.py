"""Ours and the peers, timed at equal quality: ``python -m benchmarks NAME``.

A benchmark is one module with a docstring and ``CASES``, a tuple of `benchmarks.harness.Case`;
one that measures in its own way has ``run(options)`` instead, which gives `benchmarks.report.Table`
after `Table`. Adding one is that file and a line here.
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
    "manifold": "benchmarks.manifold",
    "scale": "benchmarks.scale",
}
