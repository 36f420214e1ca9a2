"""LGP1: what is reported beside the tokens, against the target."""

import msgspec
import pytest

from specaudit.checks.interface import budget_of
from specaudit.checks.lgp1.check import ReportedLogprobs
from specaudit.checks.lgp1.requests import SAMPLE, SCORE
from specaudit.checks.lgp1.settings import LogprobSettings
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.finding import Verdict
from specaudit.model.request import Sampling
from specaudit.mutants import registry
from tests.checks.drive import drive, engine

CHECK = ReportedLogprobs()
SETTINGS = LogprobSettings(prompts=48, max_tokens=16, scored=4, tolerance=0.2)
SINGLE = {"scores_prompts": False}


def judged(subject=None, settings=SETTINGS, **changes):
    evidence = drive(CHECK, settings, subject or engine(), **changes)
    return CHECK.judge(settings, evidence, budget_of(evidence.plan, CHECK.id)), evidence


def processing():
    return ReferenceEngine(registry.get_control("processed-logprobs").build(MARKOV4, draft_tokens=3))


@pytest.mark.parametrize("how", [{"reveal": True}, {}, SINGLE], ids=["exact", "forced", "single"])
@pytest.mark.parametrize("mode", ["raw", "processed"])
def test_either_way_of_reporting_the_target_is_right_and_is_named(mode, how):
    found, evidence = judged(processing() if mode == "processed" else engine(), **how)
    assert found.verdict is Verdict.CONFORMS, found.summary
    assert f"only {mode} logprobs" in found.summary
    assert found.coverage["bonus tokens drawn"] > 0
    assert (SCORE in evidence.stages) == ("reveal" not in how)
    if how == SINGLE:
        asked = [planned.request for planned in evidence.stages[SCORE].slots()]
        assert {request.max_tokens for request in asked} == {1}
        assert {request.sampling for request in asked} == {Sampling()}
        assert len({request.prompt for request in asked}) == len(asked)


@pytest.mark.parametrize("how", [{"reveal": True}, SINGLE], ids=["exact", "single"])
@pytest.mark.parametrize(
    ("mutant", "told"),
    [
        ("zero-logprobs", "They are zero logprobs on verification steps"),
        ("logprobs-mode-mixed", "They are processed ones, while first tokens, which are never drafted, have raw ones"),
        ("logprob-row-shifted", "logprobs"),
        ("logprob-of-draft", "neither the target's raw nor its processed ones"),
    ],
)
def test_what_is_reported_instead_is_named(mutant, told, how):
    found, _ = judged(engine(mutant), **how)
    assert found.verdict is Verdict.VIOLATES, found.summary
    assert told in found.summary
    assert found.witness is not None
    assert abs(found.witness.observed - found.witness.expected) > SETTINGS.nats


def test_another_position_s_row_is_recognised_where_whole_answers_are_scored():
    found, _ = judged(engine("logprob-row-shifted"))
    assert found.summary.endswith("those of the position before: rows are picked one too early.")
    zero, _ = judged(engine("zero-logprobs"))
    assert "fewer likely tokens than were asked for" in zero.notes[0]


def changing(change, every=1):
    """Change the logprobs of the subject's answers."""

    def spoil(planned, response):
        if planned.arm != "subject" or planned.prompt_index % every:
            return response
        first = response.completions[0]
        return msgspec.structs.replace(
            response, completions=(msgspec.structs.replace(first, logprobs=change(first.logprobs)),)
        )

    return spoil


def only_some(logprobs):
    return logprobs[:3]


def null(logprobs):
    return tuple(msgspec.structs.replace(one, logprob=None) for one in logprobs)


@pytest.mark.parametrize("change", [lambda logprobs: None, null, only_some], ids=["none", "null", "fewer"])
def test_logprobs_that_do_not_come_are_lost_and_accuse_nobody(change):
    found, _ = judged(spoil=changing(change))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "came without the logprobs that were asked for" in found.summary
    some, _ = judged(spoil=changing(change, every=2))
    assert some.verdict is Verdict.INCONCLUSIVE
    assert "24 came without all logprobs" in some.summary
    assert some.effect.value == 0
    assert some.effect.high > 0.5


def test_a_logprob_of_another_token_is_no_logprob_of_this_one():
    def another(logprobs):
        return tuple(msgspec.structs.replace(one, token=(one.token + 1) % 4) for one in logprobs)

    found, _ = judged(spoil=changing(another))
    assert found.verdict is Verdict.VIOLATES
    assert found.witness.observed is None


def test_noise_within_the_tolerance_in_nats_is_none_and_a_few_answers_beyond_it_neither():
    def noisy(by):
        return lambda logprobs: tuple(msgspec.structs.replace(one, logprob=one.logprob + by) for one in logprobs)

    assert judged(spoil=changing(noisy(0.2)))[0].verdict is Verdict.CONFORMS
    few, _ = judged(spoil=changing(noisy(-0.4), every=24))
    assert few.verdict is Verdict.INCONCLUSIVE
    assert few.effect.value == 2 / 48
    assert judged(spoil=changing(noisy(-0.4), every=24), reveal=True)[0].verdict is Verdict.VIOLATES


def test_without_the_filters_only_raw_logprobs_are_known():
    settings = msgspec.structs.replace(SETTINGS, sampling=Sampling(temperature=0.5, presence_penalty=1.0))
    found, _ = judged(settings=settings)
    assert found.verdict is Verdict.CONFORMS, found.summary
    assert "only raw logprobs could be recognised" in found.notes[0]


@pytest.mark.parametrize(
    ("hidden", "reason"),
    [
        ({"logprobs": 0}, "The subject reports no logprobs."),
        ({"token_prompts": False}, "takes prompts of token ids"),
        ({"tokens": "texts", "subject_tokens": "texts"}, "not told as ids"),
        ({"logprobs_mode": "processed", "temperature": "ignored"}, "raw logprobs are not known"),
    ],
)
def test_what_cannot_be_scored_is_not_applicable(hidden, reason):
    found, evidence = judged(**hidden)
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert reason in found.summary
    assert not evidence.stages


def test_what_was_never_drafted_says_nothing_of_verification_steps():
    found, _ = judged(engine(draft_tokens=0))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "says nothing of verification steps: the subject decodes plainly" in found.summary
    found, _ = judged(counters=False)
    assert "cannot be seen without speculation counters" in found.summary


def test_no_answer_at_all_is_inconclusive():
    found, evidence = judged(spoil=lambda planned, response: None)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert list(evidence.stages) == [SAMPLE]
