"""Reported logprobs tell a law only where they reach far enough."""

from functools import reduce
from itertools import product

import numpy as np
import pytest

from specaudit.laws.contexts import ExactLaws, exact_laws, scored_law
from specaudit.laws.orders import LLAMA_CPP, SGLANG, TRANSFORMERS, VLLM
from specaudit.laws.processors import History, processed
from specaudit.laws.words import word_law
from specaudit.model.completion import TokenLogprobs
from specaudit.model.errors import UsageError
from specaudit.model.request import Sampling
from tests.laws.test_words import revealed


def position(*probabilities: float) -> TokenLogprobs:
    top = tuple((token, float(np.log(p))) for token, p in enumerate(probabilities))
    return TokenLogprobs(token=0, logprob=None, top=top)


def test_the_whole_vocabulary_tells_any_law():
    law = scored_law(position(0.5, 0.3, 0.2), Sampling(temperature=0.5), "raw")
    assert law == pytest.approx({0: 0.25 / 0.38, 1: 0.09 / 0.38, 2: 0.04 / 0.38})


def test_top_k_within_the_reported_tokens_tells_the_law():
    assert scored_law(position(0.5, 0.3), Sampling(top_k=2), "raw") == pytest.approx({0: 0.625, 1: 0.375})


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(top_k=3), Sampling(top_p=0.5)])
def test_a_cut_off_tail_does_not(sampling):
    assert scored_law(position(0.5, 0.3), sampling, "raw") is None


def test_processed_logprobs_are_taken_as_they_are():
    assert scored_law(position(0.7, 0.3), Sampling(temperature=0.3), "processed") == pytest.approx({0: 0.7, 1: 0.3})
    assert scored_law(position(0.7, 0.2), Sampling(temperature=0.3), "processed") is None


def test_an_unknown_mode_or_no_report_tells_nothing():
    assert scored_law(position(0.7, 0.3), Sampling(), "unknown") is None
    assert scored_law(TokenLogprobs(token=0, logprob=0.0), Sampling(), "raw") is None


def test_all_zero_logprobs_are_no_law():
    zeros = TokenLogprobs(token=0, logprob=0.0, top=((0, 0.0), (1, 0.0), (2, 0.0)))
    assert scored_law(zeros, Sampling(), "raw") is None
    assert scored_law(zeros, Sampling(), "processed") is None


def remembered(sampling, order=VLLM):
    return exact_laws(revealed(), sampling, order)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(presence_penalty=1.5),
        Sampling(frequency_penalty=0.7, top_k=2),
        Sampling(repetition_penalty=1.7, presence_penalty=-0.5),
        Sampling(bad_words=((0, 1), (2, 1, 0))),
        Sampling(bad_words=((0, 1),), frequency_penalty=0.5),
    ],
    ids=str,
)
@pytest.mark.parametrize("order", [VLLM, LLAMA_CPP, TRANSFORMERS], ids=lambda order: order.engine)
def test_words_behind_filters_that_look_back_are_those_of_every_path(sampling, order):
    """The laws merge what their filters do not tell apart; the sum over all 3^5 paths tells whether rightly."""
    try:
        laws = remembered(sampling, order)
        words = word_law(laws, (0, 2), 3, 2)
    except ValueError as error:
        assert "has no place for" in str(error)  # noqa: PT017 - not every engine has every filter
        return
    table = dict(zip(revealed().contexts, revealed().logprobs, strict=True))
    expected: dict[tuple[int, ...], float] = {}
    for path in product(range(3), repeat=5):
        mass = 1.0
        for i, token in enumerate(path):
            history = History(prompt=(0, 2), completion=path[:i])
            raw = np.array([-np.inf if x is None else x for x in table[((0, 2, *path[:i])[-1],)]])
            mass *= processed(raw, sampling, order=order, history=history)[token]
        expected[path[3:]] = expected.get(path[3:], 0.0) + mass
    assert words == pytest.approx({word: mass for word, mass in expected.items() if mass}, abs=1e-12)


def test_contexts_that_no_filter_tells_apart_are_one():
    laws = remembered(Sampling(presence_penalty=1.0))
    one, other = (reduce(laws.after, tokens, laws.start((0,))) for tokens in ((1, 2, 1, 0), (2, 1, 1, 1, 0)))
    assert one == other
    counting = remembered(Sampling(frequency_penalty=1.0))
    one, other = (reduce(counting.after, tokens, counting.start((0,))) for tokens in ((1, 2, 1, 0), (2, 1, 1, 1, 0)))
    assert one != other


def test_last_tokens_do_not_tell_a_law_that_looks_back():
    with pytest.raises(ValueError, match="look at more than the last tokens"):
        ExactLaws(revealed(), Sampling(presence_penalty=1.0))


@pytest.mark.parametrize(
    ("sampling", "told"),
    [
        (Sampling(top_k=2), True),
        (Sampling(top_k=2, top_p=0.7, min_p=0.3), True),
        (Sampling(top_k=2, logit_bias=((0, 5.0),)), False),
        (Sampling(top_k=2, allowed_token_ids=(0, 1)), False),
        (Sampling(top_k=2, bad_words=((1,),)), False),
        (Sampling(top_k=2, presence_penalty=1.0), False),
    ],
)
def test_a_part_of_the_law_tells_the_cut_one_unless_single_tokens_are_favoured(sampling, told):
    position = TokenLogprobs(token=0, logprob=-0.7, top=((0, np.log(0.5)), (1, np.log(0.3))))
    assert (scored_law(position, sampling, "raw", history=History()) is not None) is told


def test_the_whole_raw_law_tells_all_but_a_repetition_penalty_where_the_history_is_known():
    position = TokenLogprobs(token=0, logprob=-0.7, top=((0, np.log(0.5)), (1, np.log(0.3)), (2, np.log(0.2))))
    sampling = Sampling(presence_penalty=1.0, logit_bias=((2, 1.0),))
    law = scored_law(position, sampling, "raw", history=History(completion=(0,)))
    assert law == pytest.approx(dict(enumerate(processed(np.log([0.5 / np.e, 0.3, 0.2 * np.e]), Sampling()))))
    assert scored_law(position, sampling, "raw") is None
    assert scored_law(position, Sampling(repetition_penalty=1.1), "raw", history=History()) is None


def test_sglangs_joint_cut_needs_the_whole_law():
    position = TokenLogprobs(token=0, logprob=-0.7, top=((0, np.log(0.5)), (1, np.log(0.3))))
    assert scored_law(position, Sampling(top_k=2, top_p=0.6), "raw", SGLANG) is None


def test_bad_words_that_are_spelt_do_not_pass_for_ids():
    spelt = Sampling(bad_words=(("a",),))
    with pytest.raises(UsageError, match="Bad words are given as text"):
        exact_laws(revealed(), spelt)
    whole = ((0, np.log(0.5)), (1, np.log(0.5)))
    assert scored_law(TokenLogprobs(token=0, logprob=-0.7, top=whole), spelt, "raw") is None
    texts = (("a", np.log(0.5)), ("b", np.log(0.5)))
    assert scored_law(TokenLogprobs(token="a", logprob=-0.7, top=texts), spelt, "raw") == {"b": 1.0}
