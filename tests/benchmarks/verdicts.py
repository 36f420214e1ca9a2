"""How often LAW1 of the suite `quick` says what is true. Run it: python -m tests.benchmarks.verdicts [AUDITS].

Healthy decoders ought to conform in at least 95 % of audits (the suite plans its samples for that), and mutants to
violate in all of them. The baseline in the same run is the law at its highest evidence, exact; beside it the
reference's own words, which cost more tokens.
"""

import sys

from specaudit.audit.suites import load_suite
from specaudit.checks.interface import Budget
from specaudit.checks.law1.check import EmittedLaw
from specaudit.checks.registry import settings_of
from specaudit.model.finding import Verdict
from tests.checks.drive import drive, engine

LEVELS = {"exact": {"reveal": True}, "sampled": {"logprobs": 0, "logprobs_mode": "unknown"}}


def share(subject: str, verdict: Verdict, level: str, audits: int) -> tuple[float, float]:
    """Return the share of audits with that verdict, and the mean number of generated tokens in an audit."""
    check, suite = EmittedLaw(), load_suite("quick")
    settings = settings_of(suite, check.id)
    budget = Budget(alpha=suite.alpha / len(suite.checks), delta=suite.alpha, seed=0)
    hits = tokens = 0
    for seed in range(audits):
        evidence = drive(check, settings, engine(subject), seed=seed, **LEVELS[level])
        hits += check.judge(settings, evidence, budget).verdict is verdict
        requests = [planned.request for stage in evidence.stages.values() for planned in stage.slots()]
        tokens += sum(request.n * request.max_tokens for request in requests)
    return hits / audits, tokens / audits


def main() -> None:
    """Print one line per subject and level; mutants need few audits to show that they never conform."""
    audits = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    for level in LEVELS:
        for subject in ("reference", "resid-from-target", "reuse-uniform", "draft0-unverified"):
            healthy = subject == "reference"
            wanted = Verdict.CONFORMS if healthy else Verdict.VIOLATES
            count = audits if healthy else max(1, audits // 10)
            found, tokens = share(subject, wanted, level, count)
            told = f"{wanted.value} in {found:.1%} of {count} audits"
            print(f"{level:<8} {subject:<18} {told}, {tokens:,.0f} tokens each")


if __name__ == "__main__":
    main()
