"""What a fit costs on more rows and more machines: a small model, and the table it gives.

    seconds = passes (n / w) max(bytes of a row / disk, operations of a row / rate)
              + passes (overhead + ceil(log_8 chunks) answer / network) + client

n rows on w workers of one core; the rate of a method is what ``python -m benchmarks scale --case
methods`` measured on one machine, for each core. ``python -m benchmarks.scale_model`` prints the
table of docs/scale.md.
"""

import math
from dataclasses import dataclass

DISK = 0.46e9  # bytes a second that a worker reads from its own disk: measured here, cold
NETWORK = 1e9  # bytes a second between workers: assumed
OVERHEAD = 0.2  # seconds that a pass takes on a cluster beside its work: measured on two workers
EIGEN = 8e9  # operations a second of an eigenproblem, 9 d^3 of them: measured on one core
CHUNK = 2e8  # bytes of a chunk: assumed


@dataclass(frozen=True)
class Method:
    """A method: passes, operations a row and pass, numbers in an answer, and what a core does."""

    name: str
    passes: int
    operations: float
    answer: float
    rate: float


def methods(d: int) -> list[Method]:
    """Give the methods for d columns, with the settings of the table."""
    k, r, m = 20, 20, 1000
    return [
        Method("PCA", 1, d**2, d**2, RATES["PCA"]),
        Method("NMF, 20 parts, 100 iterations", 104, 4 * d * k + 16 * k**2, d * k, RATES["NMF"]),
        Method("RobustPCA, rank 20, 40 rounds", 50, d**2 + 4 * d * r, d**2, RATES["RobustPCA"]),
        Method("KernelPCA, 1000 landmarks", 15, 2 * d * m + m**2, m**2, RATES["KernelPCA"]),
        Method("VectorQuantizer, 20 centres, 50 steps", 52, 2 * d * k, d * k, RATES["VQ"]),
    ]


def seconds(method: Method, n: float, d: int, workers: int) -> tuple[float, str]:
    """Give the time of a fit of float32 rows, and what bounds it."""
    reading, computing = 4 * d / DISK, method.operations / method.rate
    rows = n / workers * max(reading, computing)
    depth = math.ceil(math.log(max(8.0, n * 4 * d / CHUNK), 8))
    joining = OVERHEAD + depth * 8 * method.answer / NETWORK
    client = 9 * d**3 / EIGEN
    total = method.passes * (rows + joining + (client if method.answer >= d**2 else 0.0))
    return total, "disk" if reading > computing else "core"


def main() -> None:
    """Print the table as Markdown."""
    print("| method | 1e7 x 100, 2 workers | 1e9 x 1000, 100 workers | bound by |")
    print("| --- | ---: | ---: | --- |")
    for small, large in zip(methods(100), methods(1000), strict=True):
        here, _ = seconds(small, 1e7, 100, 2)
        there, bound = seconds(large, 1e9, 1000, 100)
        print(f"| {small.name} | {time_of(here)} | {time_of(there)} | {bound} |")


def time_of(seconds: float) -> str:
    """Give a time in words."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


RATES = {"PCA": 2e10, "NMF": 2e9, "RobustPCA": 2e9, "KernelPCA": 1e10, "VQ": 4e9}
"""Operations a second and core."""

if __name__ == "__main__":
    main()
