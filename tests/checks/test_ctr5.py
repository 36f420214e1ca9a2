"""CTR5: silence, placeholders and coins are found; honest decoders are left alone."""

import msgspec
import pytest

from specaudit.checks.ctr5 import REPEATS, SHORT, SpeculationOn, SpeculationSettings
from specaudit.checks.ctr_traffic import STAGE
from specaudit.checks.interface import Budget
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.mutants import registry as mutants
from tests.checks.drive import drive, engine

BUDGET = Budget(alpha=1e-3, delta=1e-3, seed=0)
CHECK = SpeculationOn()
SETTINGS = SpeculationSettings(
    windows=4, requests=1, choices=4, max_tokens=16, prompts=16, repeats=5, repeated_tokens=24
)


@pytest.fixture(scope="module")
def healthy() -> Evidence:
    return drive(CHECK, SETTINGS, engine())


def judged(name: str, **hidden: object) -> Finding:
    return CHECK.judge(SETTINGS, drive(CHECK, SETTINGS, engine(name), **hidden), BUDGET)


def test_real_speculation_conforms(healthy: Evidence) -> None:
    finding = CHECK.judge(SETTINGS, healthy, BUDGET)
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert finding.measured["prompts repeated"] == 16
    assert finding.measured["prompts accepted otherwise"] == 0
    assert finding.measured["drafted steps in answers of one token"] == 0
    assert finding.measured["drafted steps"] > 500


@pytest.mark.parametrize(
    ("mutant", "words"),
    [
        ("spec-silently-off", "Speculation is off in silence: nothing was drafted in"),
        ("padded-drafts-counted", "Placeholders count as drafts: 16 drafted steps in 16 answers of one token"),
        ("synthetic-acceptance", "What is accepted is left to chance"),
    ],
)
def test_it_kills(mutant: str, words: str) -> None:
    finding = judged(mutant)
    assert finding.verdict is Verdict.VIOLATES
    assert words in finding.summary


def test_a_fault_of_the_rule_is_not_its_affair() -> None:
    assert judged("resid-from-target").verdict is Verdict.CONFORMS


@pytest.mark.parametrize("control", ["adaptive-length", "async-scheduling", "sampler-match", "tree-drafting"])
def test_it_spares(control: str) -> None:
    decoder = mutants.get_control(control).build(MARKOV4, draft_tokens=3)
    finding = CHECK.judge(SETTINGS, drive(CHECK, SETTINGS, ReferenceEngine(decoder)), BUDGET)
    assert finding.verdict is Verdict.CONFORMS, finding.summary


def test_where_greedy_decoding_cannot_be_asked_for_coins_are_not_excluded() -> None:
    finding = judged("reference", temperature="one")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "Greedy decoding cannot be asked for" in finding.summary
    assert finding.effect is None


def test_few_prompts_are_inconclusive() -> None:
    few = msgspec.structs.replace(SETTINGS, prompts=8)
    finding = CHECK.judge(few, drive(CHECK, few, engine()), BUDGET)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "of 8 prompts 0 were accepted otherwise when asked again, and at least 10 without any are needed" in (
        finding.summary
    )


def test_its_stages(healthy: Evidence) -> None:
    assert list(healthy.stages) == [STAGE, SHORT, REPEATS]
    repeats = healthy.stages[REPEATS]
    assert {len(block) for block in repeats.blocks} == {1}, "each request is alone"
    assert len({slot.request.seed for slot in repeats.slots()}) == 16 * 5


def test_without_counters_it_is_not_applicable() -> None:
    assert judged("reference", counters=False, counts_in_answers=False).verdict is Verdict.NOT_APPLICABLE


BY_ANSWERS = {"counters": False, "counts_in_answers": True}


def test_where_no_page_counts_the_answers_do() -> None:
    finding = judged("reference", **BY_ANSWERS)
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert finding.measured["prompts repeated"] == 16


@pytest.mark.parametrize("mutant", ["spec-silently-off", "synthetic-acceptance"])
def test_it_kills_by_answers(mutant: str) -> None:
    assert judged(mutant, **BY_ANSWERS).verdict is Verdict.VIOLATES
