import numpy as np
import pytest

from specaudit.laws.contexts import scored_law
from specaudit.laws.edge import DOUBT, edge_of
from specaudit.model.completion import TokenLogprobs
from specaudit.model.request import Sampling

TOP2 = Sampling(top_k=2)


def edge(logprobs, sampling, mode="raw", doubt=DOUBT):
    position = TokenLogprobs(token=0, logprob=None, top=tuple(enumerate(logprobs)))
    law = scored_law(position, sampling, mode)
    return edge_of(position, law, sampling, mode, doubt)


def raw(*weights):
    return np.log(np.array(weights) / sum(weights)).tolist()


def test_a_clear_cut_leaves_no_doubt():
    found = edge(raw(0.6, 0.3, 0.1), TOP2)
    assert (found.tokens, found.beyond) == (frozenset(), False)


def test_tokens_on_both_sides_of_a_close_cut_are_in_doubt():
    found = edge(raw(0.5, 0.2, 0.19, 0.01), TOP2)
    assert (found.tokens, found.beyond) == (frozenset({1, 2}), False)


def test_a_doubt_may_be_smaller_than_a_step_of_bfloat16():
    weights = raw(0.5, 0.2, 0.19, 0.01)
    assert edge(weights, TOP2, doubt=0.06).tokens == {1, 2}
    assert not edge(weights, TOP2, doubt=0.05).tokens


def test_if_the_last_reported_is_in_doubt_so_may_be_the_next():
    found = edge([-1.0, -1.2, -1.3], TOP2)
    assert (found.tokens, found.beyond) == (frozenset({1, 2}), True)


def test_a_vocabulary_that_is_kept_whole_has_no_edge():
    found = edge(raw(0.5, 0.3, 0.2), Sampling())
    assert (found.tokens, found.beyond) == (frozenset(), False)


@pytest.mark.parametrize("mode", ["raw", "processed"])
def test_where_nothing_is_told_of_what_was_cut_the_least_likely_stands_for_the_edge(mode):
    logprobs = raw(0.6, 0.4) if mode == "processed" else [-1.0, -2.0]
    found = edge(logprobs, TOP2, mode)
    assert (found.tokens, found.beyond) == (frozenset({1}), True)


def test_processed_logprobs_without_filters_have_no_edge():
    assert not edge(raw(0.6, 0.4), Sampling(), "processed").tokens


def test_doubt_is_measured_in_natural_logarithms():
    near, far = (edge(raw(1, 0.5, 0.5 * np.exp(-gap)), TOP2).tokens for gap in (DOUBT - 0.01, DOUBT + 0.01))
    assert near
    assert not far
