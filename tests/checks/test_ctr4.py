"""CTR4 on what is counted: past a stop, on the page and in the answers, by honest engines and by others."""

import msgspec
import pytest

from specaudit.checks.ctr4 import Billing, BillingSettings
from specaudit.checks.endings import STOPS, endings, stop_token
from specaudit.checks.interface import Budget
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.completion import Response
from specaudit.model.finding import Finding, Verdict
from specaudit.mutants import registry as mutants
from tests.checks.drive import drive, engine

BUDGET = Budget(alpha=1e-3, delta=1e-3, seed=0)
CHECK = Billing()
SETTINGS = BillingSettings()
BY_ANSWERS = {"counters": False, "counts_in_answers": True}


def judged(name: str, settings: BillingSettings = SETTINGS, **more: object) -> Finding:
    return CHECK.judge(settings, drive(CHECK, settings, engine(name), **more), BUDGET)


def told_by(change) -> object:
    """Change what vLLM's request metrics of every answer say."""

    def spoil(planned: object, response: Response) -> Response:
        fields = response.speculation["metrics"]["speculative_decoding"]
        changed = {"metrics": {"speculative_decoding": {**fields, **change(fields, response)}}}
        return msgspec.structs.replace(response, speculation=changed)

    return spoil


@pytest.mark.parametrize("hidden", [{}, BY_ANSWERS])
def test_an_honest_engine_conforms(hidden: dict[str, bool]) -> None:
    finding = judged("reference", **hidden)
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert (
        finding.summary == "All of 64 bills are for the tokens that arrived, and what counts as accepted was emitted."
    )
    assert finding.measured["stopped answers"] > 55
    assert finding.measured["stopped inside an accepted block"] > 30
    assert finding.measured["counted past their end"] == 0


@pytest.mark.parametrize(
    ("mutant", "words"),
    [
        ("rejected-tokens-billed", "answers are billed for more than arrived"),
        ("count-past-stop", "Tokens count as accepted that were cut off at a stop"),
        ("padded-drafts-counted", "(unheard-trimming)"),
        ("last-step-uncounted", "answers count their own speculation wrongly"),
    ],
)
def test_it_kills(mutant: str, words: str) -> None:
    finding = judged(mutant)
    assert finding.verdict is Verdict.VIOLATES
    assert words in finding.summary


@pytest.mark.parametrize(
    ("engine", "source"), [("llama.cpp", "ggml-org/llama.cpp issue 28049"), ("vllm", "vllm-project/vllm issue 56101")]
)
def test_an_engine_that_is_known_to_count_so_is_named_with_its_source(engine: str, source: str) -> None:
    (_, known) = judged("count-past-stop", engine=engine).notes
    assert source in known
    assert "past_the_end = 1 under [checks.CTR4]" in known
    assert len(judged("count-past-stop").notes) == 1


def test_an_engine_that_stops_at_no_token_id_is_asked_for_bills_alone() -> None:
    """llama.cpp has no stop_token_ids: asking for them ended the audit."""
    finding = judged("reference", engine="llama.cpp", refused=("stop_token_ids",))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "All of 64 bills" in finding.summary
    assert "whether tokens count as accepted that a stop cuts off was not looked at" in finding.summary
    assert "llama.cpp counts before it cuts" in finding.notes[0]
    assert "past_the_end = 1" in finding.next_step
    settings = msgspec.structs.replace(SETTINGS, past_the_end=1.0)
    assert judged("reference", settings, refused=("stop_token_ids",)).verdict is Verdict.CONFORMS


def test_answers_that_count_past_a_stop_are_found_without_a_page() -> None:
    """Every step is told to have accepted two drafts more than it did."""

    def more(fields: dict[str, int], response: Response) -> dict[str, object]:
        extra = 2 * (fields["num_spec_steps"] > 0)
        histogram = [0] * 8
        histogram[min(7, fields["num_accepted_draft_tokens"] + extra)] = 1
        return {
            "num_spec_steps": 1,
            "num_accepted_draft_tokens": fields["num_accepted_draft_tokens"] + extra,
            "num_draft_tokens": 7,
            "acceptance_histogram": histogram,
        }

    finding = judged("reference", msgspec.structs.replace(SETTINGS, max_tokens=4), spoil=told_by(more), **BY_ANSWERS)
    assert finding.verdict is Verdict.VIOLATES, finding.summary


def test_answers_that_contradict_themselves_are_wrong() -> None:
    finding = judged("reference", spoil=told_by(lambda fields, response: {"num_spec_steps": 1000}))
    assert finding.verdict is Verdict.VIOLATES
    assert "64 of 64 answers count their own speculation wrongly: the answer states 1,000 steps" in finding.summary


@pytest.mark.parametrize("control", ["adaptive-length", "async-scheduling", "preemption", "tree-drafting"])
def test_it_spares(control: str) -> None:
    decoder = mutants.get_control(control).build(MARKOV4, draft_tokens=3)
    finding = CHECK.judge(SETTINGS, drive(CHECK, SETTINGS, ReferenceEngine(decoder)), BUDGET)
    assert finding.verdict is Verdict.CONFORMS, finding.summary


def test_where_nothing_is_counted_bills_are_all_there_is_to_judge() -> None:
    finding = judged("reference", counters=False, counts_in_answers=False)
    assert finding.verdict is Verdict.CONFORMS
    assert finding.measured == {}


def test_who_tolerates_counting_past_a_stop_is_not_asked_for_stopped_answers() -> None:
    settings = msgspec.structs.replace(SETTINGS, past_the_end=1.0)
    evidence = drive(CHECK, settings, engine("count-past-stop"))
    assert STOPS not in evidence.stages
    assert CHECK.judge(settings, evidence, BUDGET).verdict is Verdict.CONFORMS


def test_stops_that_the_engine_ignores_leave_it_open() -> None:
    def ignored(planned, response: Response) -> Response:
        whole = tuple(msgspec.structs.replace(one, finish_reason="length") for one in response.completions)
        return msgspec.structs.replace(response, completions=whole)

    finding = judged("reference", spoil=ignored)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "no stop was seen to fall inside an accepted block" in finding.summary
    assert "past_the_end = 1" in finding.next_step


def test_the_stop_token_is_neither_the_commonest_nor_the_rarest() -> None:
    evidence = drive(CHECK, SETTINGS, engine())
    assert stop_token(evidence, "CTR4") == 3
    assert endings(evidence).tokens == 0
