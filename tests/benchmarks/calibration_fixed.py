"""False alarms of every test at a planned N: python -m tests.benchmarks.calibration_fixed [--level 0.001] [NAME…].

Each method judges audits of healthy subjects. At .05 there are 2,000 and more than 131 alarms fail the method, at .001
there are 20,000 and more than 35 fail it. Randomised p-values of those audits must be uniform (Kolmogorov–Smirnov at
.001). A naive method that looks again and again must be caught. Exit code 1 if anything is not as it should be.
"""

import argparse
import sys
from collections.abc import Callable
from math import ceil

import numpy as np
from scipy.stats import kstest

from specaudit.stats.budget import holm
from specaudit.stats.chisquare import CRESSIE_READ, LIKELIHOOD_RATIO, PEARSON
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.homogeneity import homogeneity
from specaudit.stats.intervals import excess_p, paired_ratio, percentile_upper, proportion_upper, ratio_interval
from specaudit.stats.mmd import hamming_mmd
from specaudit.stats.montecarlo import MonteCarlo
from specaudit.stats.ties import Divergence, flip_floor, triage

RULES = {0.05: (2_000, 131), 0.001: (20_000, 35)}
"""By level: null audits, and the most alarms among them, 3.2 standard deviations above what is expected."""

ZIPF = np.arange(1.0, 1001.0) ** -1 / (np.arange(1.0, 1001.0) ** -1).sum()
SKEWED = np.array([0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.04, 0.03, 0.02, 0.01])
UNIFORM_DRAWS = 199
KS_LEVEL = 0.001
EXCEEDANCES = 50

Audit = Callable[[np.random.Generator, float], bool]
Simulated = Callable[[np.random.Generator, dict[str, object]], MonteCarlo]


def goodness(law: np.ndarray, n: int, power: float = PEARSON) -> Simulated:
    """One sample of the law itself, tested by Monte Carlo."""

    def audit(rng: np.random.Generator, rule: dict[str, object]) -> MonteCarlo:
        test = goodness_of_fit([rng.multinomial(n, law)], [law], power=power, rng=rng, **rule)
        assert test.monte_carlo is not None
        return test.monte_carlo

    return audit


def two_arms(n: int, m: int, power: float = PEARSON) -> Simulated:
    """Two arms of two prompts whose laws differ, asked unequally often, tested by permutation."""

    def audit(rng: np.random.Generator, rule: dict[str, object]) -> MonteCarlo:
        first = [rng.multinomial(n, SKEWED), rng.multinomial(m, SKEWED[::-1])]
        second = [rng.multinomial(m, SKEWED), rng.multinomial(n, SKEWED[::-1])]
        test = homogeneity(first, second, power=power, rng=rng, **rule)
        assert test.monte_carlo is not None
        return test.monte_carlo

    return audit


def model_equality(rng: np.random.Generator, rule: dict[str, object]) -> MonteCarlo:
    """Two arms of three prompts, eight ragged completions each, by Hamming MMD."""
    prompts = np.repeat(np.arange(3), 8)
    tokens = np.where(rng.random((2, 24, 12)) < 0.7, prompts[:, None], rng.integers(3, 6, size=(2, 24, 12)))
    first, second = np.where(np.arange(12) < rng.integers(4, 13, size=(2, 24, 1)), tokens, -1)
    result = hamming_mmd(first, second, prompts, prompts, rng=rng, **rule).monte_carlo
    assert result is not None
    return result


SIMULATED: dict[str, Simulated] = {
    "goodness, skewed": goodness(SKEWED, 300),
    "goodness, skewed, G": goodness(SKEWED, 300, LIKELIHOOD_RATIO),
    "goodness, skewed, Cressie-Read": goodness(SKEWED, 300, CRESSIE_READ),
    "goodness, Zipf V=1000 n=200": goodness(ZIPF, 200),
    "homogeneity": two_arms(200, 50),
    "homogeneity, G": two_arms(200, 50, LIKELIHOOD_RATIO),
    "Hamming MMD": model_equality,
}


def simulated(method: Simulated) -> Audit:
    """An audit that rejects by its p-value, with ten times the draws that the level needs."""

    def audit(rng: np.random.Generator, level: float) -> bool:
        return method(rng, {"draws": ceil(10 / level), "stop_after": EXCEEDANCES}).p_value <= level

    return audit


def checks_by_holm(rng: np.random.Generator, level: float) -> bool:
    """Five healthy checks whose p-values go together, and one at fault."""
    shared = rng.random()
    p_values = {str(i): shared if rng.random() < 0.5 else rng.random() for i in range(5)}
    return bool(holm(p_values | {"fault": 0.0}, level).rejected - {"fault"})


def copies(rng: np.random.Generator, level: float) -> bool:
    """Equal pairs within and across requests, equally likely."""
    return excess_p(int(rng.binomial(500, 0.02)), 500, int(rng.binomial(800, 0.02)), 800) <= level


def proportion(rng: np.random.Generator, level: float) -> bool:
    """A rate above its own upper bound."""
    return proportion_upper(int(rng.binomial(400, 0.05)), 400, level) < 0.05


def acceptance(rng: np.random.Generator, level: float) -> bool:
    """An acceptance outside its interval, with windows that differ among each other."""
    drafts = rng.integers(200, 400, size=40)
    interval = ratio_interval(rng.binomial(drafts, rng.beta(70, 30, size=40)), drafts, 1 - level)
    return not interval.low <= 0.7 <= interval.high


def speed(rng: np.random.Generator, level: float) -> bool:
    """A speed-up outside its interval, with load that differs between blocks."""
    load = rng.lognormal(0, 0.5, size=12)
    interval = paired_ratio(1.7 * load * rng.lognormal(0, 0.1, size=12), load, 1 - level)
    return not interval.low <= 1.7 <= interval.high


def latency(rng: np.random.Generator, level: float) -> bool:
    """A percentile of latencies above its bound."""
    bound = percentile_upper(rng.exponential(size=900), 0.95, confidence=1 - level)
    return bound is not None and bound < np.log(20)


def near_ties(rng: np.random.Generator, level: float) -> bool:
    """Greedy flips as frequent as in the replay arm, called too many."""

    def flips(positions: int) -> tuple[np.ndarray, np.ndarray]:
        margins = rng.exponential(0.7, size=positions)
        return np.where(rng.random(positions) < 0.3 * np.exp(-4 * margins), np.minimum(margins, 2), 0.0), margins

    return triage(*flips(300), [flip_floor(*flips(2000))], level).kind is Divergence.SOFT


OTHERS: dict[str, Audit] = {
    "Holm over dependent checks": checks_by_holm,
    "excess of copies": copies,
    "Clopper-Pearson": proportion,
    "ratio over windows": acceptance,
    "paired log-ratio": speed,
    "latency percentile": latency,
    "near ties, soft excess": near_ties,
}


def looking_again(rng: np.random.Generator, level: float) -> bool:
    """The naive method: a chi-square test after every hundred draws, none of them paid for."""
    looks = rng.multinomial(100, SKEWED, size=20).cumsum(axis=0)
    return any(goodness_of_fit([counts], [SKEWED]).asymptotic_p <= level for counts in looks)


def alarms(audit: Audit, level: float) -> int:
    """Alarms among the audits of the rule."""
    rng = np.random.default_rng(0)
    return sum(audit(rng, level) for _ in range(RULES[level][0]))


def uniformity(method: Simulated) -> float:
    """p-value of the randomised p-values' being uniform."""
    rng = np.random.default_rng(1)
    results = [method(rng, {"draws": UNIFORM_DRAWS}) for _ in range(RULES[0.05][0])]
    return float(kstest([result.randomised_p(rng.random()) for result in results], "uniform").pvalue)


def main() -> None:
    """Print a line per method, and the naive one's last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="methods whose name contains one of these; all if none"
    )
    parser.add_argument("--level", type=float, choices=sorted(RULES), default=0.05)
    options = parser.parse_args()
    audits, most = RULES[options.level]
    failed = False
    print(
        f"alarms in {audits:,} null audits at {options.level:g}, {audits * options.level:.0f} expected, {most} allowed"
    )
    methods = {name: simulated(method) for name, method in SIMULATED.items()} | OTHERS
    for name, audit in methods.items():
        if options.names and not any(part in name for part in options.names):
            continue
        count = alarms(audit, options.level)
        uniform = uniformity(SIMULATED[name]) if name in SIMULATED else 1.0
        failed |= count > most or uniform < KS_LEVEL
        told = f", uniform with p {uniform:.3f}" if name in SIMULATED else ""
        print(f"{name:<32} {count:>5}{told}", flush=True)
    count = alarms(looking_again, options.level)
    failed |= count <= most
    print(f"{'looking again and again (naive)':<32} {count:>5}: {'caught' if count > most else 'NOT CAUGHT'}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
