"""Every pair of mechanisms against the exact law, with many words. Run it: python -m tests.benchmarks.combinations.

On a Markov world total variation must stay within .005, on the transformer within .02: 800,000 words of three tokens
are off by .0035 on average if all is right, 30,000 words of two tokens of eight by .0065. `--share 0.1` runs a tenth.
"""

import argparse
import time
from collections.abc import Iterable

import numpy as np

from specaudit.decoding.worlds import MARKOV4, TRANSFORMER8, World
from tests.decoding import combinations
from tests.decoding.plain import misfit, word_law

BATCH = 50_000
RUNS = ((MARKOV4, 800_000, 3, 0.005), (TRANSFORMER8[0], 30_000, 2, 0.02))


def measured(base: World, one: dict[str, str], words: int, length: int) -> tuple[float, float, int]:
    """Chi-square per degree of freedom, total variation, and number of possible words."""
    parameters, stop = combinations.rules(one, base.vocabulary_size)
    law = word_law(combinations.world(base, one), combinations.PROMPT, length, parameters, stop)
    spoken = [
        combinations.spoken(base, one, min(BATCH, words - first), first_seed=first, length=length)
        for first in range(0, words, BATCH)
    ]
    statistic, variation, impossible = misfit(np.concatenate(spoken), law)
    assert impossible == 0
    return statistic, variation, len(law[1])


def table(base: World, cover: Iterable[dict[str, str]], words: int, length: int, bound: float) -> float:
    """Print a row per combination; return the largest total variation."""
    worst = 0.0
    print(f"\n{base.name}: {words:,} words of {length} tokens each, total variation at most {bound}\n")
    print("| total variation | chi-square / dof | words | " + " | ".join(combinations.FACTORS) + " |")
    print("|---|---|---|" + "---|" * len(combinations.FACTORS))
    for one in cover:
        statistic, variation, possible = measured(base, one, words, length)
        worst = max(worst, variation)
        values = " | ".join(one[factor] for factor in combinations.FACTORS)
        print(f"| {variation:.4f} | {statistic:.2f} | {possible} | {values} |", flush=True)
    print(f"\nLargest total variation: {worst:.4f}")
    return worst


def main() -> None:
    """Print the tables; fail where a bound is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the words; bounds grow with its root")
    share = parser.parse_args().share
    cover = combinations.pairwise()
    print(f"{len(cover)} combinations in which every possible pair of {len(combinations.FACTORS)} mechanisms occurs")
    start = time.process_time()
    passed = [
        table(base, cover, int(words * share), length, bound) <= bound / share**0.5
        for base, words, length, bound in RUNS
    ]
    print(f"\n{time.process_time() - start:.0f} s of CPU")
    if not all(passed):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
