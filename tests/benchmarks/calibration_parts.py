"""False alarms, and false `conforms`, of what LAW1, LAW3, LAW5 and LAW6 decide by. Run it: python -m
tests.benchmarks.calibration_parts [LEVEL].

By the rules of a calibration: 2,000 audits at .05, of which at most 131 may be wrong, or 20,000 at 1e-3 and at most 35.
The baseline in the same run is a naive test that looks again and again, and must be caught.
"""

import sys
import time

import numpy as np

from specaudit.calibrate.nulls import parts, tests_and_bets
from specaudit.calibrate.nulls.method import RULES

NAIVE = "chi-square looked at again and again"


def main() -> None:
    """Print one line per method."""
    level = float(sys.argv[1]) if len(sys.argv) > 1 else 0.05
    audits, most = RULES[level]
    for name, method in {**parts.METHODS, NAIVE: tests_and_bets.METHODS[NAIVE]}.items():
        start, rng = time.process_time(), np.random.default_rng(sum(map(ord, name)))
        wrong = sum(method.audit(rng, level) <= level for _ in range(audits))
        kept = "keeps the rule" if wrong <= most else "caught" if method.negative_control else "breaks the rule"
        print(
            f"{name:<58} {method.error:<14} {wrong:>4} of {audits:,} at {level:g} (≤ {most}): {kept}; "
            f"{time.process_time() - start:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
