"""Every way in which llama.cpp decodes, held against its plain decoding within total variation .03.

    tests/engines/run.sh llamacpp [quick|full|six …]

runs the audits of these suites, all of them unless named: `quick` within .3 as in CI, `full` and `six` within .03.
Prints a line for each subject and check, and ends with 1 where a verdict is not the expected one.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from specaudit.audit.run import Audit, run_audit
from specaudit.audit.suites import load_suite
from tests.engines.llamacpp.fleet import Fleet

HERE = Path(__file__).parent
ADAPTIVE = "llamacpp:adaptive_target=0.5"

CONFORM = {"GRD1": "conforms", "LAW1": "conforms", "LAW3": "conforms"}
VIOLATE = {"GRD1": "violates", "LAW1": "violates", "LAW3": "violates"}
UNSEEN = dict.fromkeys(CONFORM, "inconclusive")
"""Plain decoding has no verifier to be seen: its laws are bounded, and that is all."""

_TWO = ("GRD1", "LAW1")

RUNS: tuple[tuple[str, str, str | None, dict[str, str]], ...] = (
    ("plain-too", "quick", None, {check: "inconclusive" for check in _TWO}),
    ("greedy", "quick", None, {check: "conforms" for check in _TWO}),
    ("probabilistic", "quick", None, {check: "conforms" for check in _TWO}),
    ("n-gram", "quick", None, {check: "conforms" for check in _TWO}),
    ("synth", "quick", None, {check: "violates" for check in _TWO}),
    ("greedy", "quick", None, {"LGP1": "violates"}),
    ("draft-without-type", "quick", None, {"CTR5": "violates"}),
    ("greedy", "quick", ADAPTIVE, {"LAW1": "conforms"}),
    ("probabilistic", "quick", ADAPTIVE, {"LAW1": "violates"}),
    ("plain-too", "full", None, UNSEEN),
    ("greedy", "full", None, CONFORM),
    ("probabilistic", "full", None, CONFORM),
    ("n-gram", "full", None, CONFORM),
    ("synth", "full", None, VIOLATE),
    ("greedy", "six", None, {"LAW1": "conforms"}),
    ("probabilistic", "six", None, {"LAW1": "conforms"}),
    ("n-gram", "six", None, {"LAW1": "conforms"}),
)
"""Subject, suite, engine, and the verdicts that are expected."""


def main(suites: Sequence[str]) -> int:
    """Run those of some suites, or all; return the exit code."""
    print(" ".join(["$ tests/engines/run.sh llamacpp", *suites]))
    runs = [run for run in RUNS if not suites or run[1] in suites]
    if not runs:
        print(f"there are {', '.join(dict.fromkeys(run[1] for run in RUNS))}")
        return 2
    wrong = 0
    with TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder) / "models")
        try:
            for number, (subject, suite, engine, expected) in enumerate(runs):
                wrong += _run(fleet, Path(folder) / str(number), subject, suite, engine, expected)
        finally:
            fleet.stop()
    print(f"{wrong} verdicts are not as expected")
    return 1 if wrong else 0


def _run(fleet: Fleet, out: Path, subject: str, suite: str, engine: str | None, expected: dict[str, str]) -> int:
    began = time.monotonic()
    report = run_audit(
        Audit(
            suite=load_suite(str(HERE / f"{suite}.toml")),
            out=out,
            endpoint=f"{fleet[subject]}/v1",
            reference=f"{fleet['plain']}/v1",
            metrics=None if subject == "plain-too" else f"{fleet[subject]}/metrics",
            engine=engine,
            select=tuple(expected),
        )
    )
    tokens = ", ".join(f"{role} {count:,}" for role, count in report.tokens.items())
    print(f"\n{subject}, {suite}{f', {engine}' if engine else ''}: {tokens} tokens, {time.monotonic() - began:.0f} s")
    wrong = 0
    for finding in report.findings:
        good = str(finding.verdict) == expected[finding.check]
        wrong += not good
        print(f"  {finding.check} {finding.verdict}{'' if good else f', expected {expected[finding.check]}'}")
        print(f"    {finding.summary}")
    sys.stdout.flush()
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
