"""Evidence is read in plan order, and what is not whole is lost, not repaired."""

import msgspec
import numpy as np
import pytest

from specaudit.model.entries import Failure, ResumeEntry, SealEntry, StageEntry, StopEntry
from specaudit.model.evidence import END
from specaudit.model.plan import Stage
from tests.model.builders import answer, attempt, evidence, planned

TWO = Stage(name="LAW1.sample", blocks=((planned(n=2), planned("reference")), (planned(prompt_index=1),)))


def test_slots_are_counted_over_all_blocks():
    assert [item.prompt_index for item in TWO.slots()] == [0, 0, 1]


def test_draws_are_in_plan_order_whatever_the_order_of_arrival():
    attempts = [
        attempt("LAW1.sample", 2, answer([7, 7, 7])),
        attempt("LAW1.sample", 0, answer([5, 6, 7], [6, 6, 6])),
        attempt("LAW1.sample", 1, answer([9, 9, 9])),
    ]
    forward = evidence(TWO, attempts).draws("LAW1.sample")
    backward = evidence(TWO, attempts[::-1]).draws("LAW1.sample")
    subject = forward["subject"]
    assert subject.vocabulary == (5, 6, 7, 9)
    assert subject.tokens.tolist() == [[0, 1, 2], [1, 1, 1], [2, 2, 2]]
    assert subject.prompt_index.tolist() == [0, 0, 1]
    assert subject.slot.tolist() == [0, 0, 2]
    assert forward["reference"].tokens.tolist() == [[3, 3, 3]]
    assert np.array_equal(subject.tokens, backward["subject"].tokens)
    assert subject.lost_fraction == 0


def test_a_slot_that_was_lost_counts_as_lost_choices():
    draws = evidence(TWO, [attempt("LAW1.sample", 0), attempt("LAW1.sample", 2, answer([1, 1, 1]))]).draws(
        "LAW1.sample"
    )
    assert draws["subject"].planned == 3
    assert draws["subject"].lost_fraction == pytest.approx(2 / 3)


def test_a_slot_that_was_never_asked_is_no_loss():
    draws = evidence(TWO, [attempt("LAW1.sample", 0)]).draws("LAW1.sample")
    assert draws["subject"].planned == 2
    assert draws["reference"].planned == 0
    assert draws["reference"].lost_fraction == 0


def test_stages_are_drawn_from_as_one():
    more = Stage(name="more", blocks=TWO.blocks)
    both = [attempt("LAW1.sample", 2, answer([1, 2, 3])), attempt("more", 2, answer([4, 5, 6]))]
    together = evidence(TWO, both, StageEntry(stage=more, digest="")).draws("LAW1.sample", "more")["subject"]
    assert together.tokens.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert together.slot.tolist() == [2, 2 + len(TWO.slots())]


def test_a_stage_keeps_prompts_once_and_its_slots_have_them():
    """What a request has in its own place stands behind the shared one."""
    asked = [msgspec.structs.replace(planned().request, prompt=own) for own in ((), (9,), ())]
    block = tuple(
        msgspec.structs.replace(planned(prompt_index=index), request=request)
        for index, request in zip((0, 0, 1), asked, strict=True)
    )
    stage = Stage(name="s", blocks=(block,), prompts=((7, 8), "text"))
    assert [one.request.prompt for one in stage.slots()] == [(7, 8), (7, 8, 9), "text"]
    assert stage.whole(stage.blocks[0][2]).request.prompt == "text"


def test_how_a_text_is_tokenized_need_be_told_once():
    texts = [msgspec.structs.replace(planned().request, prompt=text) for text in ("a", "a", "b")]
    stage = Stage(name="s", blocks=(tuple(msgspec.structs.replace(planned(), request=one) for one in texts),))
    told = msgspec.structs.replace(answer([1, 1, 1]), prompt_token_ids=(4, 5))
    found = evidence(stage, [attempt("s", 0, told), attempt("s", 1, answer([1, 1, 1]))])
    assert found.prompt_tokens("subject", "a") == (4, 5)
    assert found.prompt_tokens("subject", "b") is None
    assert found.prompt_tokens("subject", (1, 2)) == (1, 2)


def test_an_answer_after_a_refusal_counts_once():
    attempts = [attempt("LAW1.sample", 2), attempt("LAW1.sample", 2, answer([1, 2, 3]), number=2)]
    assert len(evidence(TWO, attempts).draws("LAW1.sample")["subject"].tokens) == 1


def test_a_stop_ends_a_row_and_a_cut_loses_it():
    stage = Stage(name="s", blocks=((planned(), planned(), planned(), planned()),))
    attempts = [
        attempt("s", 0, answer([4], finish="stop")),
        attempt("s", 1, answer([4], finish="length")),
        attempt("s", 2, answer(None)),
        attempt("s", 3, answer([4, 4, 4, 4])),
    ]
    draws = evidence(stage, attempts).draws("s")["subject"]
    assert draws.tokens.tolist() == [[0, END, END]]
    assert draws.lost_fraction == pytest.approx(3 / 4)


def test_more_choices_than_asked_for_are_not_counted():
    draws = evidence(Stage(name="s", blocks=((planned(),),)), [attempt("s", 0, answer([1, 1, 1], [2, 2, 2]))]).draws(
        "s"
    )
    assert draws["subject"].tokens.tolist() == [[0, 0, 0]]


def test_tokens_may_be_texts():
    draws = evidence(Stage(name="s", blocks=((planned(),),)), [attempt("s", 0, answer([" a", "b", " a"]))]).draws("s")
    assert draws["subject"].vocabulary == (" a", "b")
    assert draws["subject"].tokens.tolist() == [[0, 1, 0]]


def test_a_stage_without_any_answer_gives_empty_draws():
    draws = evidence(TWO, []).draws("LAW1.sample")
    assert draws["subject"].tokens.shape == (0, 3)


def test_a_resumption_ends_the_effect_of_a_stop():
    stop, resumption = StopEntry(why="it died"), ResumeEntry(tool="0", resumed="2026")
    assert evidence(TWO, [], stop).stop == stop
    assert evidence(TWO, [], stop, resumption).stop is None
    again = evidence(TWO, [], stop, resumption, msgspec.structs.replace(stop, why="again"))
    assert again.stop is not None
    assert again.stop.why == "again"
    assert evidence(TWO, [], stop, resumption, SealEntry(records=0)).sealed


def test_an_answer_or_a_loss_settles_a_slot_and_a_refusal_does_not():
    refusal = Failure(reason="status", message="busy", status=429, lost=False)
    refused = msgspec.structs.replace(attempt("LAW1.sample", 0), failure=refusal)
    entries = [refused, attempt("LAW1.sample", 1), attempt("LAW1.sample", 2, answer([1, 1, 1]))]
    found = evidence(TWO, entries)
    assert [found.is_settled("LAW1.sample", slot) for slot in range(3)] == [False, True, True]
    assert not found.is_settled("never planned", 0)
    assert found.attempts_at("LAW1.sample", 0) == [refused]
