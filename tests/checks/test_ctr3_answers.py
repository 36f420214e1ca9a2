"""CTR3 where no page counts speculation, and the answers count their own."""

import msgspec
import pytest

from specaudit.checks.ctr3 import AcceptanceLength, AcceptanceSettings
from specaudit.checks.ctr_traffic import ANSWERS
from specaudit.checks.interface import Budget
from specaudit.decoding.accounting import Counters
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from tests.checks.drive import drive, engine

BUDGET = Budget(alpha=1e-3, delta=1e-3, seed=0)
CHECK = AcceptanceLength()
SETTINGS = AcceptanceSettings(windows=24, requests=4, max_tokens=32, tolerance=0.4)
BY_ANSWERS = {"counters": False, "counts_in_answers": True}


@pytest.fixture(scope="module")
def counted() -> tuple[Evidence, Counters]:
    subject = engine()
    return drive(CHECK, SETTINGS, subject, **BY_ANSWERS), subject.decoder.counters


def test_answers_are_the_windows(counted: tuple[Evidence, Counters]) -> None:
    evidence, counters = counted
    finding = CHECK.judge(SETTINGS, evidence, BUDGET)
    assert list(evidence.stages) == [ANSWERS]
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert finding.summary.endswith("from 96 answers.")
    assert finding.measured["verifier length"] == 1 + counters.accepted / counters.drafts
    assert finding.measured["drafted steps"] == counters.drafts


def test_what_was_stated_too_high_is_refuted(counted: tuple[Evidence, Counters]) -> None:
    stated = msgspec.structs.replace(SETTINGS, stated=(3.2, 4.0))
    assert CHECK.judge(stated, counted[0], BUDGET).verdict is Verdict.VIOLATES


def test_an_engine_that_does_not_tell_its_steps_has_no_length() -> None:
    """llama.cpp's timings: drafted and accepted tokens, and no steps."""

    def as_llamacpp(planned, response):
        fields = response.speculation["metrics"]["speculative_decoding"]
        timings = {
            "predicted_n": response.completion_tokens,
            "draft_n": fields["num_draft_tokens"],
            "draft_n_accepted": fields["num_accepted_draft_tokens"],
        }
        return msgspec.structs.replace(response, speculation={"timings": timings})

    evidence = drive(CHECK, SETTINGS, engine(), spoil=as_llamacpp, **BY_ANSWERS)
    finding = CHECK.judge(SETTINGS, evidence, BUDGET)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "draft tokens were accepted, a share of 0." in finding.summary
