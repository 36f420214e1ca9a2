from specaudit.checks.answers import compare, in_pairs
from specaudit.model.completion import Completion, Response
from specaudit.model.plan import Stage
from specaudit.model.request import Request, Sampling
from tests.model.builders import attempt, evidence

REQUEST = Request(prompt=(), sampling=Sampling(), seed=0, max_tokens=3)


def compared(first, second):
    prompts = [(index,) for index in range(len(first))]
    requests = [REQUEST] * len(first)
    stage = Stage(name="X", blocks=in_pairs(prompts, requests, requests), prompts=tuple(prompts))
    responses = [*first, *second]
    attempts = [attempt("X", slot, response) for slot, response in enumerate(responses) if response is not None]
    return compare(evidence(stage, attempts), "X")


def tokens(*row):
    return Response(completions=(Completion(tokens=row),))


def text(said, reasoning=None):
    return Response(completions=(Completion(tokens=None, text=said, reasoning=reasoning),))


def test_the_first_request_of_every_pair_comes_before_the_second_of_any():
    blocks = in_pairs([(0,), (1,)], [REQUEST] * 2, [REQUEST] * 2)
    assert [[planned.prompt_index for planned in block] for block in blocks] == [[0, 1], [0, 1]]


def test_an_answer_that_ends_earlier_differs_from_its_end_on():
    found = compared([tokens(1)], [tokens(1, 2)])
    assert found.witness.what == "prompt 0, from token 2: 2 in place of the end"


def test_equal_answers_are_equal_and_the_first_difference_is_named():
    found = compared([tokens(1, 2), tokens(1, 2), tokens(1)], [tokens(1, 2), tokens(1, 3), tokens(1, 2)])
    assert (found.pairs, found.different) == (3, 2)
    assert found.witness.what == "prompt 1, from token 2: 3 in place of 2"


def test_where_no_tokens_are_revealed_texts_are_compared_reasoning_included():
    found = compared([text("a"), text("a", "x")], [text("a"), text("a", "y")])
    assert (found.pairs, found.different) == (2, 1)
    assert found.witness.what == "prompt 1, from character 1: 'y' in place of 'x'"


def test_answers_that_say_nothing_are_lost_and_not_equal():
    found = compared([text(""), text("a"), tokens()], [text(""), text("a"), tokens()])
    assert (found.pairs, found.different, found.lost) == (2, 0, 1)


def test_choices_beyond_those_asked_for_are_no_pairs():
    many = Response(completions=(Completion(tokens=(1,)), Completion(tokens=(2,))))
    other = Response(completions=(Completion(tokens=(1,)), Completion(tokens=(3,))))
    found = compared([many], [other])
    assert (found.pairs, found.different, found.lost) == (1, 0, 0)


def test_a_pair_with_a_lost_answer_is_no_pair():
    found = compared([tokens(1), None], [tokens(1), tokens(2)])
    assert (found.pairs, found.different) == (1, 0)
