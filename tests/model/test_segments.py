"""What is known of a completion when only a part of it, or only its text, is judged."""

import msgspec
import pytest

from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response, TokenLogprobs
from specaudit.model.entries import ProbeEntry
from specaudit.model.evidence import END
from specaudit.model.plan import Stage
from specaudit.model.segments import begun, ended, only
from tests.model.builders import attempt, evidence, plan, planned

WHOLE = Completion(
    tokens=(1, 2, 9, 4),
    text="d",
    finish_reason="length",
    logprobs=tuple(TokenLogprobs(token=token, logprob=-1.0) for token in (1, 2, 9, 4)),
    reasoning="ab",
    reasoning_length=3,
)


@pytest.mark.parametrize(("segment", "tokens"), [("all", (1, 2, 9, 4)), ("reasoning", (1, 2, 9)), ("answer", (4,))])
def test_a_segment_has_its_own_tokens_and_logprobs(segment, tokens):
    part = only(WHOLE, segment)
    assert part.tokens == tokens
    assert tuple(position.token for position in part.logprobs) == tokens
    assert (part.text, part.reasoning) == (WHOLE.text, WHOLE.reasoning)


@pytest.mark.parametrize(("segment", "tokens"), [("reasoning", ()), ("answer", (1, 2))])
def test_without_reasoning_all_is_answer(segment, tokens):
    assert only(Completion(tokens=(1, 2), text="ab"), segment).tokens == tokens


@pytest.mark.parametrize("segment", ["reasoning", "answer"])
def test_where_the_border_is_not_known_nothing_is(segment):
    part = only(msgspec.structs.replace(WHOLE, reasoning_length=None), segment)
    assert (part.tokens, part.logprobs) == (None, None)
    assert only(msgspec.structs.replace(WHOLE, tokens=None, logprobs=None), segment).tokens is None


@pytest.mark.parametrize(
    ("tokens", "text", "finish", "has_begun"),
    [((1,), None, "length", True), ((), "a", "length", True), ((), "", "stop", True), ((), "", "length", False)],
)
def test_what_never_came_to_a_segment_tells_nothing_of_it(tokens, text, finish, has_begun):
    assert begun(Completion(tokens=tokens, text=text, finish_reason=finish)) == has_begun


@pytest.mark.parametrize(
    ("tokens", "finish", "exact", "inexact"),
    [
        ((1, 2, 3), "length", (1, 2, 3), (1, 2, 3)),
        ((1, 2), "length", None, (1, 2)),
        ((1, 2), "stop", (1, 2), (1, 2)),
        ((1, 2, 3, 4), "stop", None, (1, 2, 3)),
        ((1, 2, 3, 4), "length", None, (1, 2, 3)),
        ((1, 2), "abort", None, None),
        ((1, 2), None, None, None),
        (None, "length", None, None),
    ],
)
def test_a_cap_must_fit_where_all_tokens_are_known(tokens, finish, exact, inexact):
    completion = Completion(tokens=tokens, finish_reason=finish)
    assert ended(completion, 3, exact=True) == exact
    assert ended(completion, 3, exact=False) == inexact


STAGE = Stage(name="s", blocks=((planned(n=3),),))


def drawn(*completions, segment="all", **found):
    """The draws of a subject that was found to be so, from one answer."""
    role = ProbeEntry(role="subject", capabilities=Capabilities(engine="openai", **found))
    answers = [attempt("s", 0, Response(completions=completions))]
    return evidence(STAGE, answers, role, header=plan(segment=segment)).draws("s")["subject"]


def test_tokens_of_another_tokenizer_need_not_fit_the_cap():
    long, short = (
        Completion(tokens=(1, 1, 1, 1), finish_reason="length"),
        Completion(tokens=(1,), finish_reason="length"),
    )
    assert drawn(long, short, tokens="ids").lost_fraction == 1
    draws = drawn(long, short, tokens="retokenized")
    assert draws.tokens.tolist() == [[0, 0, 0], [0, END, END]]
    assert draws.planned == 3


def test_an_answer_that_reasoning_left_no_room_for_is_no_loss():
    none = Completion(tokens=(1, 2, 9), text=None, finish_reason="length", reasoning="ab", reasoning_length=3)
    draws = drawn(none, WHOLE, WHOLE, segment="answer", tokens="ids")
    assert draws.tokens.tolist() == [[0, END, END]] * 2
    assert (draws.planned, draws.lost_fraction) == (2, 0)


def test_hidden_reasoning_that_used_up_the_cap_is_no_loss():
    none, some = Completion(tokens=(), text="", finish_reason="length"), Completion(tokens=(5,), finish_reason="length")
    assert drawn(none, some, some, tokens="ids", reasoning="hidden").planned == 2
    assert drawn(none, some, some, tokens="ids").lost_fraction == 1
