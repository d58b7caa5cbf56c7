"""How many components: share of draws in which each rule finds the planted number of factors.

Five factors with random orthonormal vectors in Gaussian noise of rms 1. Strengths are singular
values in units of the limit of detection, (n d)^(1/4). White noise has the same deviation in every
column; uneven noise has deviations log-uniform between 1/2 and 2, scaled to rms 1.
"""

import time
from dataclasses import dataclass
from typing import NamedTuple

import joblib
import numpy as np

from benchmarks.report import Table
from eigenlens.select import RULES, consensus, fraction, minka
from eigenlens.select.factored import factored

DRAWS = 200
SHAPES = ((100, 50), (500, 200), (2000, 100))
STRENGTHS = (1.5, 3, 10)
STEPS = np.linspace(1, 1.5, 5)  # five factors, the strongest half again as strong as the weakest
SHADOWS = {
    "one at 15, four at 3 to 4.5": (15, 4.5, 4, 3.5, 3),
    "one at 15, four at 3": (15, 3, 3, 3, 3),
    "one at 30, four at 3 to 4.5": (30, 4.5, 4, 3.5, 3),
    "no factor": (),
}


@dataclass(frozen=True)
class Problem:
    """One kind of planted table."""

    label: str
    n: int
    d: int
    strengths: tuple
    uneven: bool

    def draw(self, seed):
        """Give one table."""
        rng = np.random.default_rng(seed)
        k = len(self.strengths)
        U, V = (np.linalg.qr(rng.standard_normal((size, k)))[0] for size in (self.n, self.d))
        deviations = np.ones(self.d)
        if self.uneven:
            deviations = np.exp(rng.uniform(np.log(0.5), np.log(2), self.d))
            deviations /= np.sqrt(np.mean(deviations**2))
        noise = rng.standard_normal((self.n, self.d)) * deviations
        return (U * np.array(self.strengths) * (self.n * self.d) ** 0.25) @ V.T + noise


def problems(uneven):
    """Give the problems of one kind of noise, by size and strength."""
    for n, d in SHAPES:
        for weakest in STRENGTHS:
            label = f"{n} x {d}, {weakest} to {1.5 * weakest:g}"
            yield Problem(label, n, d, tuple(weakest * STEPS), uneven)


class Case(NamedTuple):
    """One table of the results."""

    name: str
    title: str
    problems: list[Problem]


CASES = (
    Case("white", "white noise", list(problems(uneven=False))),
    Case("uneven", "uneven noise", list(problems(uneven=True))),
    Case(
        "shadow",
        "500 x 200, uneven noise: strong factors hide weak ones",
        [Problem(label, 500, 200, s, True) for label, s in SHADOWS.items()],
    ),
)


def answers(problem, seed):
    """Give what each rule finds in one table."""
    table = factored(problem.draw([17, seed]))
    agreed = consensus(table, np.random.default_rng([18, seed]))
    found = {choice.rule: choice.k for choice in agreed.choices} | {"consensus": agreed.k}
    spectral = table.spectral
    for name, rule in (("mle", minka(problem.n)), ("0.9", fraction(0.9))):
        found[name] = rule(spectral.spectrum, spectral.total_variance, True)
    return found


def run(options):
    """Draw and count; all rules see the same tables."""
    draws = 2 if options.smoke else options.repeats or DRAWS
    columns = [*RULES, "mle", "0.9"]
    for name, title, listed in CASES:
        if not options.wants(name):
            continue
        chosen = listed[:1] if options.smoke else listed
        rows, begin = [], time.perf_counter()
        for problem in chosen:
            jobs = (joblib.delayed(answers)(problem, seed) for seed in range(draws))
            found = joblib.Parallel(n_jobs=1 if options.smoke else -1)(jobs)
            truth = len(problem.strengths)
            hits = [np.mean([f[rule] == truth for f in found]) for rule in columns]
            rows.append([problem.label, *(f"{hit:.0%}" for hit in hits)])
        notes = [
            f"{draws} draws each; {time.perf_counter() - begin:.0f} s",
            "mle and 0.9, the rules on spectra, cannot answer 0",
        ]
        yield Table(name, f"hit rate, {title}", ["planted", *columns], rows, notes)
