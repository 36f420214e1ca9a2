"""Every defect of counters that was seen in public: pages or answers in, its name and the right verdict out."""

from typing import Any

import pytest

from specaudit.counters.acceptance import acceptance
from specaudit.counters.answers import AnswerCounts, read_answer
from specaudit.counters.defects import defects_among, defects_between, defects_in
from specaudit.counters.read import read_page
from specaudit.counters.window import Window
from specaudit.counters.windows import window

from .pages import vllm_page
from .recorded import reading
from .simulated import Server

FRESH = vllm_page()


def between(before: str, after: str, **known: Any) -> Window:
    (start,), (end,) = read_page(before), read_page(after)
    return window(start, end, **known)


def names(judged: Window, answers: tuple[AnswerCounts, ...] = ()) -> list[str]:
    return [defect.name for defect in defects_in(judged, answers)]


def test_a_stop_inside_an_accepted_block() -> None:
    """One step accepts 5 drafts, its third token is the stop: the verifier's length is 6, and 3 arrived."""
    after = vllm_page(drafts=1, draft_tokens=5, accepted=5, positions=(1,) * 5, generation=4, sequences=1)
    judged = between(vllm_page(positions=(0,) * 5), after, received_tokens=4, requests=1)
    assert judged.status == "valid"
    (defect,) = defects_in(judged)
    assert (defect.name, defect.meaning) == ("counted-past-the-end", "bias")
    assert "the verifier's length is 6.000, what arrived at most 3.000 per step" in defect.what
    figures = acceptance([judged], confidence=0.99)
    assert figures is not None
    assert figures.verifier_length is not None
    assert figures.user_length is not None
    assert (figures.verifier_length.value, figures.user_length.value) == (6, 3)


def test_a_draft_past_the_drafters_limit() -> None:
    """Short answers accept well; in long ones every step is padded, and reads as one that rejects all."""
    short = dict(drafts=400, draft_tokens=1200, accepted=700, positions=(350, 220, 130), generation=1140, sequences=40)
    long = {**short, "drafts": 1900, "draft_tokens": 5700, "generation": 2645, "sequences": 45}
    windows = [between(FRESH, vllm_page(**short)), between(vllm_page(**short), vllm_page(**long))]
    assert [judged.status for judged in windows] == ["valid", "valid"]
    assert [defect.name for defect in defects_among(windows)] == ["past-the-drafters-limit"]
    assert "none of 4,500 draft tokens" in defects_among(windows)[0].what
    assert defects_among(windows[:1]) == ()
    lone = between(vllm_page(**short), vllm_page(**{**long, "generation": 2641, "sequences": 41}))
    assert defects_among([windows[0], lone]) == (), "a greedy request that runs in a circle is no padding"
    few = between(vllm_page(**short), vllm_page(**{**short, "drafts": 401, "draft_tokens": 1203, "generation": 1141}))
    assert defects_among([windows[0], few]) == ()


def test_placeholders_counted_as_a_draft() -> None:
    """Ten answers of one token, which comes from prefill: nothing can have been drafted."""
    judged = between(FRESH, vllm_page(drafts=10, draft_tokens=30, generation=10, sequences=10))
    assert names(judged) == ["counted-past-the-end", "padded-drafts"]
    assert defects_in(judged)[1].meaning == "wrong"
    assert "10 steps are counted as drafted and at most 0 can have been" in defects_in(judged)[1].what


def test_steps_that_all_reject_are_no_placeholders() -> None:
    assert names(between(FRESH, vllm_page(drafts=40, draft_tokens=120, generation=44, sequences=4))) == []


def test_a_draft_that_a_grammar_forbids_whole() -> None:
    counts = dict(drafts=100, draft_tokens=60, accepted=20, positions=(15, 4, 1), generation=125, sequences=5)
    judged = between(FRESH, vllm_page(**counts))
    assert names(judged) == ["empty-drafts"]
    assert "40 or more had none" in defects_in(judged)[0].what


def test_a_draft_that_a_grammar_forbids_whole_in_an_answer() -> None:
    fields = {"num_spec_steps": 3, "per_step_drafted": [3, 0, 3], "per_step_accepted": [2, 0, 1]}
    counts = read_answer({"metrics": {"speculative_decoding": fields}})
    assert counts is not None
    after = vllm_page(drafts=3, draft_tokens=9, accepted=3, positions=(2, 1, 0), generation=7, sequences=1)
    assert names(between(FRESH, after), (counts,)) == ["empty-drafts"]


def test_drafts_trimmed_without_the_statistics_hearing_of_it() -> None:
    """The server counts K = 3 drafts in each of 20 steps; the answer knows that three of them had two."""
    counts = dict(drafts=20, draft_tokens=60, accepted=30, positions=(18, 8, 4), generation=51, sequences=1)
    told = AnswerCounts(engine="vllm", steps=20, draft_tokens=57, accepted=30)
    judged = between(FRESH, vllm_page(**counts), received_tokens=51, requests=1)
    assert judged.status == "valid"
    assert names(judged, (told,)) == ["unheard-trimming"]
    assert "have 60 draft tokens and the answers 57" in defects_in(judged, (told,))[0].what
    honest = AnswerCounts(engine="vllm", steps=20, draft_tokens=60, accepted=30)
    assert names(judged, (honest,)) == []


def test_positions_of_the_last_rank_only() -> None:
    """Two data-parallel ranks: the totals are of both, the positions of the one that wrote last."""
    counts = dict(drafts=1000, draft_tokens=3000, accepted=1800, positions=(450, 300, 150), generation=2900)
    judged = between(FRESH, vllm_page(**counts, sequences=100), received_tokens=2900, requests=100)
    assert judged.status == "void"
    assert judged.contradicts
    (defect,) = defects_in(judged)
    assert (defect.name, defect.meaning) == ("positions-of-one-rank", "wrong")
    assert "900 of 1,800 accepted tokens, 2 times as many" in defect.what


def test_replayed_tokens_counted_as_accepted() -> None:
    """A rollback makes 600 tokens be read again; they count as drafts that were all accepted."""
    counts = dict(drafts=700, draft_tokens=2100, accepted=1300, positions=(560, 430, 310), generation=1410)
    judged = between(FRESH, vllm_page(**counts, sequences=10), received_tokens=1410, requests=10)
    assert judged.status == "void"
    assert judged.contradicts
    assert "emit at least" in judged.reasons[0]
    assert "replayed-tokens" in names(judged)


def test_the_bonus_token_counted_as_accepted() -> None:
    counts = dict(drafts=400, draft_tokens=1200, accepted=830, positions=(350, 220, 130), generation=1140)
    judged = between(FRESH, vllm_page(**counts, sequences=40), received_tokens=1140, requests=40)
    assert judged.contradicts
    assert "bonus-counted" in names(judged)


def test_metrics_of_the_last_rank_only() -> None:
    counts = dict(drafts=400, draft_tokens=1200, accepted=700, positions=(350, 220, 130), generation=1140)
    judged = between(FRESH, vllm_page(**counts, sequences=40), received_tokens=4571, requests=160)
    assert judged.status == "void"
    (defect,) = defects_in(judged)
    assert (defect.name, defect.meaning) == ("one-rank-only", "void")
    assert "4 times as many" in defect.what


def test_the_mean_of_answers_turns_a_comparison_round() -> None:
    """Ours is better in every step that counts; one short answer of theirs, all accepted, wins the mean."""
    ours = [AnswerCounts(engine="vllm", steps=100, accepted=200), AnswerCounts(engine="vllm", steps=100, accepted=200)]
    theirs = [AnswerCounts(engine="vllm", steps=2, accepted=10), AnswerCounts(engine="vllm", steps=198, accepted=200)]
    (defect,) = defects_between(ours, theirs)
    assert (defect.name, defect.meaning) == ("mean-of-answers", "bias")
    assert "lengths are 3.000 and 4.005, over all steps 3.000 and 2.050" in defect.what
    assert defects_between(ours, theirs[1:]) == ()
    assert defects_between(ours, []) == ()


def test_tools_that_do_not_look_for_a_reset() -> None:
    judged = window(reading("vllm/draft_after"), reading("vllm/draft_restart"))
    assert judged.status == "void"
    (defect,) = defects_in(judged)
    assert (defect.name, defect.meaning) == ("reset", "void")
    assert "finds -43,724 drafts here, one that clamps at zero none" in defect.what


def test_a_restart_that_overtakes_the_old_value() -> None:
    judged = window(reading("vllm/draft_before"), reading("vllm/draftp_after"))
    assert judged.status == "void"
    assert names(judged) == ["overtaken-reset"]


def test_a_restart_that_overtakes_and_is_not_marked_is_seen_by_its_sums() -> None:
    old, new = Server(seed=4, alpha=0.5, marked=False), Server(seed=5, alpha=0.9, marked=False)
    old.serve(100, 64)
    new.serve(220, 64)
    judged = window(old.read(), new.read())
    assert judged.status == "void"
    assert not judged.contradicts
    assert names(judged) == ["overtaken-reset"]


@pytest.mark.parametrize("method", ["draft", "draftp", "ngram", "suffix"])
def test_healthy_recordings_have_no_defect_that_makes_them_wrong_or_void(method: str) -> None:
    judged = window(reading(f"vllm/{method}_before"), reading(f"vllm/{method}_after"))
    assert judged.status == "valid"
    assert {defect.meaning for defect in defects_in(judged)} <= {"bias"}
    assert defects_among([judged]) == ()


def test_a_healthy_server_has_no_defect_at_all() -> None:
    server = Server(seed=3)
    windows = []
    for _ in range(5):
        before = server.read()
        received = server.serve(4, 500)
        windows.append(window(before, server.read(), received, 4))
    # Its caps cut blocks, as everywhere, and it counts them before.
    assert {name for judged in windows for name in names(judged)} <= {"counted-past-the-end"}
    assert defects_among(windows) == ()
