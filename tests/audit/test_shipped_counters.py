"""Shipped suites kill the faults of the counters, with the settings that they ship, and spare what only looks odd."""

import pytest

from specaudit.audit.suites import load_suite
from specaudit.calibrate.drive import drive
from specaudit.checks import registry
from specaudit.checks.interface import budget_of
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.finding import Verdict
from specaudit.mutants import registry as mutants
from tests.model.builders import plan


def verdict(suite_name: str, check_id: str, variant: mutants.Mutant) -> Verdict:
    """Let one check of a suite judge a decoder, at the check's share of the suite's error budget."""
    suite = load_suite(suite_name)
    check, settings = registry.get(check_id), registry.settings_of(suite, check_id)
    head = plan(suite=suite, checks=tuple(suite.checks), alpha=suite.alpha, metrics="in process", concurrency=8)
    engines = {
        "subject": ReferenceEngine(variant.build(MARKOV4, draft_tokens=3)),
        "reference": ReferenceEngine(SpeculativeDecoder(MARKOV4, draft_tokens=0)),
    }
    evidence = drive(check, settings, head, engines, reveal=False, hidden={"subject": {}, "reference": {}})
    return check.judge(settings, evidence, budget_of(head, check_id)).verdict


@pytest.mark.parametrize(
    ("suite", "check", "mutant"),
    [
        ("ci-gate", "CTR2", "no-bonus"),
        ("ci-gate", "CTR2", "bonus-in-numerator"),
        ("ci-gate", "CTR2", "nonprefix-accept-count"),
        ("ci-gate", "CTR2", "replay-counted"),
        ("ci-gate", "CTR2", "perpos-dp-overwrite"),
        ("ci-gate", "CTR5", "spec-silently-off"),
        ("ci-gate", "CTR5", "padded-drafts-counted"),
        ("ci-gate", "CTR5", "synthetic-acceptance"),
        ("one-endpoint", "CTR4", "count-past-stop"),
        ("one-endpoint", "CTR4", "rejected-tokens-billed"),
    ],
)
def test_it_is_killed(suite: str, check: str, mutant: str) -> None:
    assert verdict(suite, check, mutants.get(mutant)) is Verdict.VIOLATES


@pytest.mark.parametrize("check", ["CTR1", "CTR2", "CTR3", "CTR5"])
def test_restarts_between_two_windows_are_void_and_no_fault(check: str) -> None:
    assert verdict("ci-gate", check, mutants.get_control("restart")) is Verdict.CONFORMS


@pytest.mark.parametrize("suite", ["ci-gate", "one-endpoint", "long"])
def test_the_suites_have_them(suite: str) -> None:
    assert {"CTR1", "CTR2", "CTR3", "CTR5"} <= set(load_suite(suite).checks)
