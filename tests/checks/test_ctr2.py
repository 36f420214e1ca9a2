"""CTR2 on decoders whose counters add up, and on mutants whose do not."""

import msgspec
import pytest

from specaudit.checks.ctr2 import LONG, Identities, IdentitySettings
from specaudit.checks.ctr_traffic import ANSWERS, STAGE
from specaudit.checks.interface import Budget
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.mutants import registry as mutants
from tests.checks.drive import drive, engine

BUDGET = Budget(alpha=1e-3, delta=1e-3, seed=0)
CHECK = Identities()
SETTINGS = IdentitySettings(windows=22, requests=1, choices=8, max_tokens=16)


@pytest.fixture(scope="module")
def healthy() -> Evidence:
    return drive(CHECK, SETTINGS, engine())


def judged(name: str, settings: IdentitySettings = SETTINGS):
    return CHECK.judge(settings, drive(CHECK, settings, engine(name)), BUDGET)


def test_correct_counters_add_up(healthy: Evidence) -> None:
    finding = CHECK.judge(SETTINGS, healthy, BUDGET)
    assert finding.verdict is Verdict.CONFORMS
    assert finding.summary == "The counters add up in all of 30 windows."
    assert finding.effect is not None
    assert finding.effect.high == pytest.approx(1 - 1e-3 ** (1 / 30))
    assert all(finding.coverage.values())


@pytest.mark.parametrize(
    ("mutant", "words"),
    [
        ("bonus-in-numerator", "(bonus-counted)"),
        ("nonprefix-accept-count", "drafts were accepted at position 1 although"),
        ("replay-counted", "(replayed-tokens)"),
        ("perpos-dp-overwrite", "(positions-of-one-rank)"),
        ("no-bonus", "(replayed-tokens)"),
    ],
)
def test_it_kills(mutant: str, words: str) -> None:
    finding = judged(mutant)
    assert finding.verdict is Verdict.VIOLATES
    assert words in finding.summary


@pytest.mark.parametrize("control", ["count-past-stop", "lenience"])
def test_counting_past_a_stop_and_other_faults_are_not_its_affair(control: str) -> None:
    assert judged(control).verdict is Verdict.CONFORMS


@pytest.mark.parametrize("control", ["adaptive-length", "async-scheduling", "preemption", "tree-drafting"])
def test_it_spares(control: str) -> None:
    decoder = mutants.get_control(control).build(MARKOV4, draft_tokens=3)
    finding = CHECK.judge(SETTINGS, drive(CHECK, SETTINGS, ReferenceEngine(decoder)), BUDGET)
    assert finding.verdict is Verdict.CONFORMS, finding.summary


def test_few_windows_are_inconclusive() -> None:
    few = msgspec.structs.replace(SETTINGS, windows=4, long_windows=2)
    finding = CHECK.judge(few, drive(CHECK, few, engine()), BUDGET)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary == "The counters add up, but in 6 windows only."


def test_a_path_that_was_never_taken_leaves_it_open() -> None:
    """One draft token per step, judged by a coin that always says yes."""
    decoder = mutants.get("synthetic-acceptance:1").build(MARKOV4, draft_tokens=1)
    finding = CHECK.judge(SETTINGS, drive(CHECK, SETTINGS, ReferenceEngine(decoder)), BUDGET)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary == "The counters add up in all of 30 windows. But no draft was rejected."


def test_the_family_shares_its_windows(healthy: Evidence) -> None:
    assert list(healthy.stages) == [STAGE, LONG]
    assert CHECK.next_stage(healthy.plan, SETTINGS, healthy) is None


@pytest.mark.parametrize(("name", "verdict"), [("reference", "conforms"), ("last-step-uncounted", "violates")])
def test_answers_are_windows_where_no_page_counts(name: str, verdict: str) -> None:
    settings = msgspec.structs.replace(SETTINGS, windows=32)
    evidence = drive(CHECK, settings, engine(name), counters=False)
    assert list(evidence.stages) == [ANSWERS]
    finding = CHECK.judge(settings, evidence, BUDGET)
    assert (finding.verdict, finding.assumptions) == (verdict, ())
    assert ("(accepted-uncounted)" in finding.summary) == (name != "reference")
    assert finding.effect is not None
    assert finding.effect.name == "share of answers in which the counters disagree"


def test_without_counters_it_is_not_applicable() -> None:
    evidence = drive(CHECK, SETTINGS, engine(), counters=False, counts_in_answers=False)
    finding = CHECK.judge(SETTINGS, evidence, BUDGET)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "no speculation counters" in finding.summary
