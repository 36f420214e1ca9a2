"""False alarms of LAW3 and LAW4 where completions end by themselves, and where a server loses some of them.

Run it: python -m tests.benchmarks.calibration_lengths [AUDITS].

Whole judgements of completions that are drawn from a small chain with its law known. A healthy subject may be accused
in 131 of 2,000 audits at a level of .05 (more has a probability below 1e-3); one that is off by more than what is
tolerated, and loses what would show it, may be bounded below the tolerance as often. The baseline in the same run
loses nothing.
"""

import sys
import time

import numpy as np

from specaudit.checks.interface import Budget
from specaudit.checks.law3.check import LawByDepth
from specaudit.checks.law4 import Independence, IndependenceSettings
from specaudit.model.finding import Finding, Verdict
from tests.checks.law3.lengths import LOSSES, SETTINGS, answers, evidence, hiding, sample

LAW3, LAW4 = LawByDepth(), Independence()
FEW = IndependenceSettings(requests=64, prompts=1)
NOTHING = "nothing is lost"
HIDDEN = "nothing is lost, EOS is not told"
HIDING = "a faulty subject loses what shows it"


def audit(check_id: str, case: str, rng: np.random.Generator, seed: int) -> Finding:
    """Judge one sample of a case."""
    budget = Budget(alpha=0.05, delta=0.05, seed=seed)
    how = {"eos_told": case != HIDDEN} | ({"lost": LOSSES[case](rng)} if case in LOSSES else {})
    if check_id == "LAW4":
        return LAW4.judge(FEW, evidence("LAW4", answers(rng, 256), choices=4, **how), budget)
    if case == HIDING:
        drawn, lost = hiding(rng, 120)
        return LAW3.judge(SETTINGS, evidence("LAW3.sample.0", drawn, lost=lost), budget)
    return LAW3.judge(SETTINGS, evidence("LAW3.sample.0", sample(rng, 40), **how), budget)


def wrong(case: str, finding: Finding) -> bool:
    """Say whether a healthy subject was accused, or a faulty one bounded below the tolerance."""
    if case != HIDING:
        return finding.verdict is Verdict.VIOLATES
    first = [view.effect.high for view in finding.views if view.name == "tokens 1 to 3"]
    return bool(first) and first[0] is not None and first[0] < SETTINGS.tolerance


def main() -> None:
    """Print one line per check and case."""
    audits = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    for check_id, cases in (("LAW3", (NOTHING, HIDDEN, *LOSSES, HIDING)), ("LAW4", (NOTHING, HIDDEN, *LOSSES))):
        for case in cases:
            begun, rng = time.process_time(), np.random.default_rng(sum(map(ord, check_id + case)))
            count = sum(wrong(case, audit(check_id, case, rng, seed)) for seed in range(audits))
            what = "false conforms" if case == HIDING else "false alarms"
            told = case if case in (NOTHING, HIDDEN, HIDING) else f"lost: {case}"
            print(
                f"{check_id}  {told:<38} {count:>4} {what} in {audits:,}; {time.process_time() - begun:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
