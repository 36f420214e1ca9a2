"""A claim goes to the checks that know claims."""

from specaudit.audit.claims import with_claim
from specaudit.audit.suites import load_suite
from specaudit.claims.reading import load_claim


def test_a_claimed_factor_is_held_against_the_measured_one():
    suite = with_claim(load_suite("vendor-claim"), load_claim("nvidia-llama-70b"), "claim")
    assert suite.checks["CLM1"]["required"] is True
    assert suite.checks["CLM2"]["required"] is True
    assert round(suite.checks["CLM2"]["stated"], 2) == 3.55
    assert "required" not in suite.checks["CLM3"]


def test_a_claimed_acceptance_is_held_against_the_measured_one():
    suite = with_claim(load_suite("vendor-claim"), load_claim("deepseek-v3-mtp"), "claim")
    assert suite.checks["CLM3"]["rate"] == 0.85
    assert suite.checks["CLM3"]["required"] is True


def test_a_suite_without_these_checks_gains_only_the_division():
    before = load_suite("quick")
    suite = with_claim(before, load_claim("nvidia-llama-70b"), "claim")
    assert suite.checks.keys() - before.checks.keys() == {"CLM1"}
