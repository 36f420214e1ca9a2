"""Every way in which llama.cpp decodes, held against its plain decoding: within .3 as in CI, and within .03.

    tests/engines/run.sh llamacpp [PART OF A TITLE]      # "quick", "n-gram", "probabilistic, paths", …

A part of the suites `tests/engines/suites/llamacpp-*.toml`: `quick` as in CI, `full`, `six` and `paths`.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.engines.llamacpp.fleet import Fleet
from tests.engines.runs import Run, carry_out

ADAPTIVE = "llamacpp:adaptive_target=0.5"
DRAFTING = ("greedy", "probabilistic", "n-gram")


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is asked of one server.

    Args:
        subject: Name of a server of the fleet.
        suite: Name of the suite behind `llamacpp-`.
        expected: Verdict of each check.
        options: Further options of the audit.
        bounded: Checks of which every view must be bounded within the tolerance.
    """

    subject: str
    suite: str
    expected: dict[str, str]
    options: dict[str, object] = field(default_factory=dict)
    bounded: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Subject and suite."""
        return f"{self.subject}{' with adaptive_p' if 'engine' in self.options else ''}, {self.suite}"

    def run(self, fleet: Fleet) -> Run:
        """Return the audit, its servers started."""
        metrics = {} if self.subject == "plain-too" else {"metrics": f"{fleet[self.subject]}/metrics"}
        servers = {"endpoint": f"{fleet[self.subject]}/v1", "reference": f"{fleet['plain']}/v1"}
        return Run(
            title=self.title,
            suite=f"llamacpp-{self.suite}",
            expected=self.expected,
            options={**servers, **metrics, **self.options},
            bounded=self.bounded,
        )


def _all(verdict: str, *checks: str) -> dict[str, str]:
    return dict.fromkeys(checks, verdict)


_FULL = ("GRD1", "LAW1")
_STREAMED: dict[str, object] = {"stream": True}

CASES = (
    # Plain decoding has no verifier to be seen: its laws are bounded, and that is all.
    Case(subject="plain-too", suite="quick", expected=_all("inconclusive", *_FULL)),
    *(Case(subject=name, suite="quick", expected=_all("conforms", *_FULL, "CTR5")) for name in DRAFTING),
    Case(subject="synth", suite="quick", expected=_all("violates", *_FULL)),
    Case(subject="greedy", suite="quick", expected={"LGP1": "violates"}),
    Case(subject="draft-without-type", suite="quick", expected={"CTR5": "violates"}),
    Case(subject="greedy", suite="quick", expected={"LAW1": "conforms"}, options={"engine": ADAPTIVE}),
    Case(subject="probabilistic", suite="quick", expected={"LAW1": "violates"}, options={"engine": ADAPTIVE}),
    Case(subject="plain-too", suite="full", expected=_all("inconclusive", *_FULL) | {"GRD2": "conforms"}),
    *(Case(subject=name, suite="full", expected=_all("conforms", *_FULL, "GRD2")) for name in DRAFTING),
    Case(subject="greedy", suite="full", expected={"LAW1": "conforms"}, options={"engine": ADAPTIVE}),
    Case(subject="plain-too", suite="six", expected={"LAW1": "inconclusive"}),
    *(Case(subject=name, suite="six", expected={"LAW1": "conforms"}) for name in DRAFTING),
    *(
        Case(subject=name, suite="paths", expected={"LAW3": "conforms"}, options=_STREAMED, bounded=("LAW3",))
        for name in DRAFTING
    ),
    Case(subject="plain-too", suite="paths", expected={"LAW3": "inconclusive"}, options=_STREAMED, bounded=("LAW3",)),
)


def main(only: str = "") -> int:
    """Run those whose title holds a text, or all; return the exit code."""
    chosen = [case for case in CASES if only in case.title]
    if not chosen:
        print(f"no title holds {only!r}: {'; '.join(case.title for case in CASES)}", file=sys.stderr)
        return 2
    with TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder) / "models")
        try:
            return carry_out(case.run(fleet) for case in chosen)
        finally:
            fleet.stop()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
