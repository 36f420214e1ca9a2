"""Reported logprobs tell a law only where they reach far enough."""

import numpy as np
import pytest

from specaudit.laws.contexts import scored_law
from specaudit.model.completion import TokenLogprobs
from specaudit.model.request import Sampling


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
