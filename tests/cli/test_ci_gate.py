"""The suite `ci-gate` on blatant faults; what it costs as a whole stands in its file."""

import pytest

from specaudit.audit.suites import load_suite
from specaudit.stats.intervals import proportion_upper
from tests.cli.conftest import Specaudit


@pytest.mark.parametrize(
    ("check", "mutant"),
    [("GRD1", "draft0-unverified"), ("LAW1", "resid-from-target"), ("LAW1", "reuse-uniform")],
)
def test_a_blatant_fault_is_caught_by_one_check_alone(specaudit: Specaudit, check: str, mutant: str) -> None:
    assert specaudit("run", "-q", "--suite", "ci-gate", "--engine", f"mutant:{mutant}", "--select", check).code == 1


def test_equal_completions_of_all_prompts_are_enough_to_conform() -> None:
    suite = load_suite("ci-gate")
    greedy = suite.checks["GRD1"]
    assert proportion_upper(0, greedy["prompts"], suite.alpha) <= greedy["tolerance"]
