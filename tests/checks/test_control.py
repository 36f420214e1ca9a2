import pytest

from specaudit.checks.control import (
    cached_answers,
    law_is_told,
    no_common_law,
    no_greedy_decoding,
    not_under_control,
    only_copies,
    reachable,
)
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response
from specaudit.model.entries import ProbeEntry
from specaudit.model.plan import Stage
from specaudit.model.request import Sampling
from tests.model.builders import attempt, evidence, plan, planned

STAGE = Stage(name="s", blocks=((planned(),),))


def found(subject=None, reference=None, *, responses=(), segment="all"):
    """Evidence of arms in which so much was found."""
    probes = [
        ProbeEntry(role=role, capabilities=Capabilities(engine="openai", **(told or {})))
        for role, told in (("subject", subject), ("reference", reference))
    ]
    answers = [attempt("s", slot, response) for slot, response in enumerate(responses)]
    return evidence(STAGE, answers, *probes, header=plan(segment=segment))


FIXED = {"temperature": "default"}
IGNORED = {"temperature": "ignored"}
ONE = {"temperature": "one"}


class TestReachable:
    SAMPLING = Sampling(temperature=0.7, top_k=4, top_p=0.9, min_p=0.1)

    def test_what_every_arm_takes_stays(self):
        assert reachable(self.SAMPLING, found()) == self.SAMPLING

    def test_what_one_arm_refuses_becomes_neutral(self):
        both = found({"refused": ("top_k", "seed")}, {"refused": ("min_p",)})
        assert reachable(self.SAMPLING, both) == Sampling(temperature=0.7, top_p=0.9)

    @pytest.mark.parametrize("subject", [FIXED, IGNORED, ONE])
    def test_a_temperature_that_cannot_be_set_is_not_asked_for(self, subject):
        assert reachable(self.SAMPLING, found(subject)).temperature == 1.0


class TestTemperature:
    @pytest.mark.parametrize(
        ("subject", "said"),
        [
            (FIXED, "the subject refuses temperatures."),
            (IGNORED, "the subject ignores temperatures."),
            (ONE, "the subject takes no temperature but 1."),
        ],
    )
    def test_greedy_decoding_needs_one(self, subject, said):
        assert no_greedy_decoding(found(subject)) == f"Greedy decoding cannot be asked for: {said}"
        assert no_greedy_decoding(found()) == ""

    def test_arms_that_do_the_same_are_told_in_one_go(self):
        assert no_greedy_decoding(found(ONE, ONE)) == (
            "Greedy decoding cannot be asked for: the subject and the reference take no temperature but 1."
        )

    @pytest.mark.parametrize(
        ("subject", "reference", "told", "common"),
        [
            ({}, {}, True, True),
            (ONE, {}, True, True),
            (FIXED, FIXED, False, True),
            (FIXED, IGNORED, False, True),
            (FIXED, {}, False, False),
            ({}, IGNORED, False, False),
            (ONE, FIXED, False, False),
        ],
    )
    def test_laws_can_be_compared_where_both_or_none_can_be_set(self, subject, reference, told, common):
        both = found(subject, reference)
        assert law_is_told(both) == told
        assert (no_common_law(both) == "") == common

    def test_whose_temperature_is_not_known_is_told(self):
        assert no_common_law(found({}, FIXED)).startswith(
            "The temperature of the reference is its own, and that of the"
        )

    def test_of_a_segment_no_law_is_told(self):
        assert not law_is_told(found(segment="answer"))


def test_an_arm_that_repeats_itself_gives_no_draws():
    assert only_copies(found({}, {"repeats": "always"})).startswith("The reference gives requests that differ in")
    assert only_copies(found({"repeats": "bypassed"})) == ""


@pytest.mark.parametrize(
    ("signs", "why"),
    [
        ({}, None),
        ({"cache": "x-cache: MISS"}, None),
        ({"cached_tokens": 0, "prompt_tokens": 0}, None),
        ({"cached_tokens": 48, "prompt_tokens": 49}, None),
        ({"cached_tokens": 48}, None),
        ({"cache": "x-cache: HIT"}, "x-cache: HIT"),
        ({"cache": "x-cache: Hit from edge"}, "x-cache: Hit from edge"),
        ({"cached_tokens": 49, "prompt_tokens": 49}, "all 49 tokens of the prompt were cached"),
    ],
)
def test_answers_that_say_they_are_cached_are_counted(signs, why):
    response = Response(completions=(Completion(tokens=(1,)),), **signs)
    told = cached_answers(found(responses=[response]), ["s"])
    said = f"1 of 1 answers of the subject come from a cache, as they say themselves ({why}): they are no independent"
    assert told == ("" if why is None else f"{said} draws.")


class TestNotUnderControl:
    @pytest.mark.parametrize(
        ("subject", "said"),
        [
            (
                FIXED,
                "the temperature is the one parameter not under control: it refuses temperatures, so its own holds",
            ),
            (ONE, "it takes no temperature but 1, so that is what was asked for"),
            ({"refused": ("seed",)}, "seeds are refused, so no answer can be asked for again"),
            ({"refused": ("top_k", "min_p")}, "top_k, min_p cannot be sent, so the server's own values hold"),
            ({"repeats": "bypassed"}, "a cache answers requests again; each request named a user of its own"),
            ({"repeats": "always"}, "answers are repeated whatever the seed"),
            ({"tokens": "retokenized", "tokenizer": "ab"}, "tokens are those of the given tokenizer"),
            ({"tokens": "retokenized"}, "only text is told, and its characters stand for tokens"),
        ],
    )
    def test_each_thing_is_a_sentence(self, subject, said):
        (note,) = not_under_control(found(subject))
        assert note.startswith(f"the subject: {said}")

    def test_nothing_is_said_of_a_server_that_does_as_it_is_told(self):
        assert not_under_control(found({"refused": ("return_token_ids", "stream_options")})) == ()

    def test_what_both_do_is_said_once(self):
        assert [note.partition(":")[0] for note in not_under_control(found(FIXED, FIXED))] == [
            "the subject and the reference"
        ]


class TestReasoning:
    RESPONSE = Response(
        completions=(Completion(tokens=(1, 2), reasoning_length=1),), completion_tokens=9, reasoning_tokens=7
    )

    @pytest.mark.parametrize(
        ("kind", "segment", "said"),
        [
            ("hidden", "all", "7 of 9 billed tokens are reasoning that is not shown; nothing is said of its law"),
            ("shown", "all", "7 of 9 billed tokens are reasoning, judged as the first tokens of each completion"),
        ],
    )
    def test_its_tokens_are_counted(self, kind, segment, said):
        told = found({"reasoning": kind}, responses=[self.RESPONSE], segment=segment)
        assert not_under_control(told) == (f"the subject: {said}",)

    def test_a_segment_by_itself_is_told(self):
        told = found({"reasoning": "shown"}, {"reasoning": "shown"}, responses=[self.RESPONSE], segment="reasoning")
        assert not_under_control(told) == (
            "the subject and the reference: only the reasoning segment of completions is judged",
        )
