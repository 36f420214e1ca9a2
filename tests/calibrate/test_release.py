"""The published calibration of a release, against what mutants say of themselves today."""

from pathlib import Path

import pytest

from specaudit.calibrate.matrix import ANY, LEVELS, SHARPER_IF_EXACT
from specaudit.calibrate.subjects import found, plain
from specaudit.model.calibration import Calibration, Kill
from specaudit.model.record import from_json
from specaudit.mutants import registry

PUBLISHED = Path(__file__).parents[2] / "reports/calibration/release/calibration.json"
CALIBRATION = from_json(PUBLISHED.read_bytes(), Calibration)
MUTANTS = sorted({one.subject for one in CALIBRATION.kills if one.subject.startswith("mutant:")})


def enough(kill: Kill) -> bool:
    """Whether a cell is of a check that is to find the mutant, with no more evidence than the mutant says it needs."""
    mutant = found(kill.subject)
    if kill.check not in mutant.killed_by:
        return False
    if kill.level == ANY or (kill.check in SHARPER_IF_EXACT and kill.level != "exact"):
        return True
    return LEVELS.index(kill.level) >= LEVELS.index(mutant.evidence)  # the most telling comes first


def test_it_was_a_whole_one_and_all_was_as_it_should_be():
    assert not CALIBRATION.quick
    assert CALIBRATION.passed
    assert not CALIBRATION.survivors


@pytest.mark.parametrize("subject", MUTANTS)
def test_a_mutant_is_found_by_its_checks_with_the_evidence_that_it_asks_for(subject):
    killers = {one.check for one in CALIBRATION.kills if one.subject == subject and one.killed and enough(one)}
    assert killers, f"{subject} was not found by {', '.join(found(subject).killed_by)}"


def test_what_was_judged_is_still_there():
    assert {plain(subject) for subject in MUTANTS} <= set(registry.names())
