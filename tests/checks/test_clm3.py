"""CLM3 on the correct decoder's own counters."""

from pathlib import Path
from typing import Any

import pytest

from specaudit.audit.run import run_audit
from specaudit.model.finding import Finding, Verdict
from specaudit.model.suite import Suite
from tests.audit.small import small_audit


def found(folder: Path, **settings: Any) -> Finding:
    table = {"windows": 20, "requests": 1, "choices": 4, "max_tokens": 16, "required": True, **settings}
    suite = Suite(name="claim", title="", alpha=0.02, checks={"CLM3": table})
    return run_audit(small_audit(folder / "out", suite=suite)).findings[0]


@pytest.mark.parametrize(
    ("claimed", "verdict"),
    [
        ({"length": 1.5}, Verdict.CONFORMS),
        ({"length": 3.9}, Verdict.VIOLATES),
        ({"rate": 0.2}, Verdict.CONFORMS),
        ({"rate": 0.98}, Verdict.VIOLATES),
        ({"length": 1.5, "rate": 0.98}, Verdict.VIOLATES),
    ],
)
def test_against_what_was_claimed(tmp_path, claimed, verdict):
    finding = found(tmp_path, **claimed)
    assert finding.verdict is verdict
    assert f"{max(claimed.values()):g} was claimed" in finding.summary
    assert finding.effect is not None


def test_a_claim_within_the_interval_is_not_decided(tmp_path):
    measured = found(tmp_path, length=1.5).effect
    assert measured is not None
    again = found(tmp_path / "again", length=measured.value, tolerance=0.001)
    assert again.verdict is Verdict.INCONCLUSIVE
    assert "more windows would settle" in again.summary


def test_few_windows_give_no_interval(tmp_path):
    finding = found(tmp_path, length=2.0, windows=3)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "fewer than 20 windows" in finding.summary


def test_without_a_claim_nothing_is_asked(tmp_path):
    finding = found(tmp_path)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert finding.summary == "No acceptance was claimed."
