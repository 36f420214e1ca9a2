"""Audits of real engines with the verdicts that are expected of them, told in a form that can be published."""

import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from specaudit.audit.audit import Audit
from specaudit.audit.run import run_audit
from specaudit.audit.suites import load_suite
from specaudit.checks.paths import UNDRAFTED
from specaudit.model.errors import CouldNotTest
from specaudit.model.finding import Finding
from specaudit.render.sentences import details

SUITES = Path(__file__).parent / "suites"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One audit.

    Args:
        title: What decodes.
        suite: Name of a file in `suites/`.
        expected: Verdict of each check; what is not named is not run.
        options: Further options of the audit.
        bounded: Checks of which every view, by depth and by path, must be bounded within the tolerance; but for
            undrafted steps, of which there are few.
        exit_code: What the audit ends with; None where the verdicts say enough.
    """

    title: str
    suite: str
    expected: Mapping[str, str]
    options: Mapping[str, object] = field(default_factory=dict)
    bounded: tuple[str, ...] = ()
    exit_code: int | None = None

    @property
    def name(self) -> str:
        """What it is asked for by, and told as."""
        return f"{self.title} ({self.suite})"

    def audit(self, out: Path) -> Audit:
        """Return what to run."""
        audit = Audit(suite=load_suite(str(SUITES / f"{self.suite}.toml")), out=out, select=tuple(self.expected))
        return replace(audit, **self.options)  # type: ignore[arg-type]


def carry_out(runs: Iterable[Run], only: str = "") -> int:
    """Run them all, or those whose name holds a text; print what was found; return 1 where it was not expected."""
    wrong = 0
    with TemporaryDirectory() as folder:
        for number, run in enumerate(runs):
            if only in run.name:
                wrong += _carried_out(run, Path(folder) / str(number))
                sys.stdout.flush()
    print(f"\n{wrong} verdicts are not as expected")
    return 1 if wrong else 0


def _carried_out(run: Run, out: Path) -> int:
    began = time.monotonic()
    print(f"\n{run.name}", flush=True)
    try:
        report = run_audit(run.audit(out))
    except CouldNotTest as error:
        print(f"  could not be tested: {error}")
        return len(run.expected)
    wrong = 0
    if report.stopped is not None:
        print(f"  collecting stopped, exit code {report.exit_code}: {report.stopped}")
    for finding in report.findings:
        _tell(finding, run.expected[finding.check])
        wrong += str(finding.verdict) != run.expected[finding.check]
        wrong += finding.check in run.bounded and not _bounds_told(finding)
    tokens = ", ".join(f"{role} {count:,}" for role, count in report.tokens.items())
    print(f"  tokens: {tokens}; {time.monotonic() - began:.0f} s")
    return wrong + (run.exit_code not in (None, report.exit_code))


def _tell(finding: Finding, expected: str) -> None:
    good = str(finding.verdict) == expected
    print(f"  {finding.check} {finding.verdict}{'' if good else f', expected {expected}'}: {finding.summary}")
    for line in details(finding):
        print(f"    {line}")


def _bounds_told(finding: Finding) -> bool:
    """Print the bound of every view; return whether all are within the tolerance."""
    for view in finding.views:
        high = "no bound" if view.effect.high is None else f"at most {view.effect.high:.4f}"
        print(f"    {view.name}: total variation {view.effect.value:.4f}, {high}, {view.samples:,} tokens")
    needed = (view.effect for view in finding.views if view.name != UNDRAFTED)
    return all(one.high is not None and one.high < one.tolerance for one in needed)
