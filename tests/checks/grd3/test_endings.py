"""How one completion ends beside another, and how one contradicts its own request."""

import pytest

from specaudit.checks.grd3.endings import Ending, compare, ended_as_asked, shown_eos
from specaudit.model.completion import Completion, Response
from specaudit.model.request import GREEDY, Request

EOS = 9
PLAIN = (1, 2, 3, EOS)


def asked(**rules):
    return Request(**{"prompt": (0,), "sampling": GREEDY, "seed": 0, "max_tokens": 8, "ignore_eos": False, **rules})


def answer(tokens, finish="stop", *, text=None, billed=None):
    completion = Completion(tokens=tuple(tokens), finish_reason=finish, text=text)
    return Response(completions=(completion,), completion_tokens=billed)


@pytest.mark.parametrize(
    ("rules", "ours", "plain", "ending", "why"),
    [
        ({}, answer(PLAIN), answer(PLAIN), Ending.EQUAL, ""),
        ({}, answer(PLAIN, billed=4), answer(PLAIN), Ending.EQUAL, ""),
        ({}, answer(PLAIN, billed=5), answer(PLAIN, billed=4), Ending.WRONG, "billed tokens 5"),
        ({}, answer(PLAIN, "length"), answer(PLAIN), Ending.WRONG, "its cap of 8 ended it after 4"),
        ({}, answer(PLAIN, "eos"), answer(PLAIN), Ending.WRONG, "finish reason 'eos'"),
        ({}, answer(PLAIN, text="abc"), answer(PLAIN, text="ab"), Ending.WRONG, "text 'abc'"),
        ({}, answer((*PLAIN, 1, 2)), answer(PLAIN), Ending.WRONG, "for 2 tokens behind the stop token 9"),
        (
            {"ignore_eos": True},
            answer((*PLAIN, 1, 2, 3, 4), "length"),
            answer((*PLAIN, 1, 2, 3, 4), "length"),
            Ending.EQUAL,
            "",
        ),
        ({"max_tokens": 3}, answer((1, 2, 3, 4), "length"), answer((1, 2, 3), "length"), Ending.WRONG, "at most 3"),
        (
            {"max_tokens": 3},
            answer((1, 2, 3), "length", billed=5),
            answer((1, 2, 3), "length"),
            Ending.WRONG,
            "is billed 5",
        ),
        ({"stop_token_ids": (2,)}, answer((1, 2, 3)), answer((1, 2)), Ending.WRONG, "behind the stop token 2"),
        ({"stop_token_ids": (2,), "min_tokens": 3}, answer((1, 2)), answer((1, 4, 3, 2)), Ending.WRONG, "at least 3"),
        ({"stop_token_ids": (2,), "min_tokens": 2}, answer((1, 2, 3, 2)), answer((1, 2, 3, 2)), Ending.EQUAL, ""),
        ({"stop": ("x",)}, answer((1, 2)), answer((1, 2, 3)), Ending.WRONG, "ends after 2 tokens"),
        ({}, answer((1, 4, 3, EOS)), answer(PLAIN), Ending.APART, ""),
    ],
)
def test_what_a_comparison_shows(rules, ours, plain, ending, why):
    found = compare(asked(**rules), ours, plain, EOS)
    assert found.ending is ending
    assert why in found.why


def test_an_early_end_at_an_eos_that_is_not_shown_may_be_a_near_tie():
    found = compare(asked(), answer((1, 2)), answer((1, 2, 3)), None)
    assert found.ending is Ending.ELSEWHERE


@pytest.mark.parametrize(
    ("rows", "eos"),
    [
        ([((1, 9), "stop"), ((2, 3, 9), "stop"), ((1, 1), "length")], 9),
        ([((1, 9), "stop"), ((2, 3), "stop")], None),
        ([((1, 9), "stop"), ((9, 3), "length")], None),
        ([((1, 2), "length")], None),
        ([((), "stop")], None),
    ],
)
def test_the_eos_is_the_token_that_ends_all_and_stands_nowhere_else(rows, eos):
    assert shown_eos(Completion(tokens=tokens, finish_reason=finish) for tokens, finish in rows) == eos


def test_a_plain_completion_shows_whether_its_stop_was_heeded():
    assert ended_as_asked(asked(stop=("x",)), answer((1, 2)).completions[0])
    assert not ended_as_asked(asked(stop=("x",)), answer(range(8), "length").completions[0])
    assert not ended_as_asked(asked(min_tokens=3), answer((1, 2)).completions[0])
