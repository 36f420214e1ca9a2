"""Coverage of every bound of total variation. Run it: python -m tests.benchmarks.bounds [--level 0.001] [WORLD…].

Subjects below, exactly at and above the tolerance are drawn, in the direction that X² sees least. What counts is how
often one is said to be below the tolerance: false at and above it, and a failure of the bound beyond the most that the
rule allows. Lower bounds fail when they exceed the truth. Last comes the bound that tempts and is none, the estimate
less its expectation under equality; exit code 1 unless it alone fails.
"""

import argparse
import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np

from specaudit.stats.distance import smallest_upper_bound, tv_between, tv_from_law, tv_upper_bound
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.homogeneity import homogeneity
from tests.benchmarks.calibration_fixed import RULES, ZIPF

FACTORS = (0.8, 1.0, 1.2)
"""True total variation, in tolerances."""

NAIVE = "estimate less expectation"


@dataclass(frozen=True, kw_only=True)
class World:
    """Prompts with their laws and the draws of each; the reference arm draws as many."""

    laws: tuple[np.ndarray, ...]
    draws: int
    tolerance: float


WORLDS = {
    "64 even words": World(laws=(np.full(64, 1 / 64),), draws=3000, tolerance=0.05),
    "four common words, 16 rare": World(
        laws=(np.r_[np.full(4, 0.2), np.full(16, 0.0125)],), draws=2000, tolerance=0.05
    ),
    "ten prompts, 16 words": World(laws=(np.full(16, 1 / 16),) * 10, draws=600, tolerance=0.05),
    "Zipf V=1000 n=200": World(laws=(ZIPF,), draws=200, tolerance=0.3),
    "Zipf V=1000 n=20000": World(laws=(ZIPF,), draws=20_000, tolerance=0.1),
}


def moved(law: np.ndarray, distance: float) -> np.ndarray:
    """The law with every other cell raised in proportion and the others lowered, at that total variation."""
    up = np.arange(len(law)) % 2 == 1
    return law * np.where(up, 1 + distance / law[up].sum(), 1 - distance / law[~up].sum())


def audit(rng: np.random.Generator, world: World, distance: float, level: float) -> dict[str, float]:
    """Every bound of one audit, by name."""
    counts = [rng.multinomial(world.draws, moved(law, distance)) for law in world.laws]
    others = [rng.multinomial(world.draws, law) for law in world.laws]
    one, two = tv_from_law(counts, world.laws), tv_between(counts, others)
    fit, same = goodness_of_fit(counts, world.laws), homogeneity(counts, others)
    bounds = {
        "one-sample, noncentral": lambda delta: tv_upper_bound(fit, delta=delta),
        "two-sample, noncentral": lambda delta: tv_upper_bound(same, delta=delta),
        "one-sample, any law": one.upper_bound,
    }
    return {name: bound(level) for name, bound in bounds.items()} | {
        "two-sample, any law": two.upper_bound(level),
        "smallest of the first three": smallest_upper_bound(bounds, level).value,
        "lower, one-sample": one.lower_bound(level),
        "lower, two-sample": two.lower_bound(level),
        NAIVE: one.upper_bound(level) - one.expected_under_equality,
    }


def failures(world: World, level: float) -> tuple[Counter[tuple[str, float]], dict[str, float]]:
    """How often each bound is said to be below the tolerance (or, if a lower one, misses), and the means at it."""
    rng, audits = np.random.default_rng(0), RULES[level][0]
    told: Counter[tuple[str, float]] = Counter()
    means: Counter[str] = Counter()
    for factor in FACTORS:
        truth = factor * world.tolerance
        for _ in range(audits):
            for name, bound in audit(rng, world, truth, level).items():
                told[name, factor] += bound > truth if name.startswith("lower") else bound < world.tolerance
                if factor == 1:
                    means[name] += bound / audits
    return told, dict(means)


def main() -> None:
    """Print a table per world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "worlds", nargs="*", metavar="WORLD", help="worlds whose name contains one of these; all if none"
    )
    parser.add_argument("--level", type=float, choices=sorted(RULES), default=0.05)
    options = parser.parse_args()
    audits, most = RULES[options.level]
    caught, failed = False, False
    print(f"{audits:,} audits at delta {options.level:g}, {most} failures allowed; truth in tolerances")
    for title, world in WORLDS.items():
        if options.worlds and not any(part in title for part in options.worlds):
            continue
        told, means = failures(world, options.level)
        print(f"\n{title}, tolerance {world.tolerance:g}")
        print(f"{'':<30}{'mean at 1':>10}" + "".join(f"{factor:>8g}" for factor in FACTORS), flush=True)
        for name, mean in means.items():
            print(f"{name:<30}{mean:>10.4f}" + "".join(f"{told[name, factor]:>8}" for factor in FACTORS))
            judged = FACTORS if name.startswith("lower") else [factor for factor in FACTORS if factor >= 1]
            beyond = any(told[name, factor] > most for factor in judged)
            caught |= beyond and name == NAIVE
            failed |= beyond and name != NAIVE
    print(f"\nevery bound {'FAILS' if failed else 'holds'}; the tempting one is {'caught' if caught else 'NOT CAUGHT'}")
    sys.exit(failed or not caught)


if __name__ == "__main__":
    main()
