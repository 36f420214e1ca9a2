"""The audit's processors and the decoder's are two implementations of one definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.decoding.processors import SamplingParameters, process
from specaudit.laws.processors import processed
from specaudit.model.request import Sampling

LAWS = st.lists(st.integers(-12, 12).map(lambda x: x / 4), min_size=1, max_size=12).map(np.array)


@given(
    logits=LAWS,
    temperature=st.sampled_from([0.0, 0.3, 0.7, 1.0, 1.5]),
    top_k=st.integers(0, 14),
    top_p=st.sampled_from([1.0, 0.9, 0.5, 0.1]),
)
@settings(max_examples=400)
def test_both_implementations_agree(logits, temperature, top_k, top_p):
    ours = processed(logits, Sampling(temperature=temperature, top_k=top_k, top_p=top_p))
    theirs = process(logits, SamplingParameters(temperature=temperature, top_k=top_k, top_p=top_p))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@given(
    weights=st.lists(st.integers(1, 60), min_size=2, max_size=8).map(np.array),
    kept=st.integers(1, 8),
    rounding=st.sampled_from([0.0, 1e-16, -1e-16, 1e-12, -1e-12]),
)
@settings(max_examples=400)
def test_both_agree_where_the_nucleus_ends_exactly_at_a_token(weights, kept, rounding):
    """top_p = .93 on a law with .59 + .34: which side of the edge a sum falls on must not depend on its order."""
    law = weights / weights.sum()
    edge = float(np.sort(law)[::-1][: min(kept, len(law))].sum()) + rounding
    if 0 < edge <= 1:
        ours = processed(np.log(law), Sampling(top_p=edge))
        theirs = process(np.log(law), SamplingParameters(top_p=edge))
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@given(logits=LAWS, shift=st.floats(-50, 50))
def test_a_constant_does_not_matter(logits, shift):
    sampling = Sampling(temperature=0.7, top_k=3)
    np.testing.assert_allclose(processed(logits + shift, sampling), processed(logits, sampling), atol=1e-9)


def test_impossible_tokens_stay_impossible():
    law = processed(np.array([0.0, -np.inf, 0.0]), Sampling())
    assert law.tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(), [0.5, 0.3, 0.15, 0.05]),
        (Sampling(temperature=0), [1, 0, 0, 0]),
        (Sampling(top_k=2), [0.625, 0.375, 0, 0]),
        (Sampling(top_p=0.5), [1, 0, 0, 0]),
        (Sampling(top_p=0.51), [0.625, 0.375, 0, 0]),
        (Sampling(temperature=0.5), [0.25 / 0.365, 0.09 / 0.365, 0.0225 / 0.365, 0.0025 / 0.365]),
    ],
)
def test_known_values(sampling, expected):
    law = processed(np.log([0.5, 0.3, 0.15, 0.05]), sampling)
    np.testing.assert_allclose(law, expected, atol=1e-12)
