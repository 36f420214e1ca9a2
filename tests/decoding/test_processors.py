import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.processors import UNFILTERED, SamplingParameters, process

from .strategies import steady

# Few different values, so that ties are frequent; −inf forbids a token.
LOGITS = st.lists(
    st.sampled_from([-math.inf, -3.0, -1.0, 0.0, 0.5, 2.0]) | st.floats(-50, 50), min_size=1, max_size=8
).filter(lambda row: max(row) > -math.inf)
TEMPERATURES = st.floats(0.05, 20)
MASSES = st.floats(0.01, 1)


def sampling(temperature=1.0, top_k=0, top_p=1.0):
    return SamplingParameters(temperature=temperature, top_k=top_k, top_p=top_p)


@steady
@given(logits=LOGITS, temperature=st.just(0.0) | TEMPERATURES, top_k=st.integers(0, 9), top_p=MASSES)
def test_the_result_is_a_law_on_allowed_tokens(logits, temperature, top_k, top_p):
    law = process(logits, sampling(temperature, top_k, top_p))
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert (law >= 0).all()
    assert (law[np.isneginf(logits)] == 0).all()
    assert law[np.argmax(logits)] == law.max() > 0


@steady
@given(logits=LOGITS, temperature=TEMPERATURES)
def test_without_filters_it_is_the_softmax(logits, temperature):
    weights = [math.exp((logit - max(logits)) / temperature) for logit in logits]
    expected = np.array(weights) / math.fsum(weights)
    np.testing.assert_allclose(process(logits, sampling(temperature)), expected, rtol=1e-12)


@steady
@given(logits=LOGITS, top_k=st.integers(1, 9), temperature=TEMPERATURES)
def test_top_k_keeps_the_k_first_of_a_stable_ranking(logits, top_k, temperature):
    law, whole = process(logits, sampling(temperature, top_k)), process(logits, sampling(temperature))
    ranking = sorted(range(len(logits)), key=lambda token: -logits[token])
    assert (law[ranking[top_k:]] == 0).all()
    kept = ranking[:top_k]
    np.testing.assert_allclose(law[kept], whole[kept] / whole[kept].sum(), rtol=1e-12)


@steady
@given(logits=LOGITS, top_p=MASSES, top_k=st.integers(0, 9), temperature=TEMPERATURES)
def test_top_p_keeps_the_smallest_set_that_reaches_the_mass(logits, top_p, top_k, temperature):
    law = process(logits, sampling(temperature, top_k, top_p))
    before = process(logits, sampling(temperature, top_k))
    ranking = sorted(range(len(before)), key=lambda token: -before[token])
    kept = int(np.count_nonzero(law))
    assert set(np.flatnonzero(law)) == {token for token in ranking[:kept] if before[token] > 0}
    assert before[ranking[:kept]].sum() >= top_p - 1e-12
    assert before[ranking[: kept - 1]].sum() < top_p + 1e-12
    np.testing.assert_allclose(law[law > 0], before[law > 0] / before[law > 0].sum(), rtol=1e-12)


@pytest.mark.parametrize(
    ("probabilities", "parameters", "expected"),
    [
        pytest.param([0.5, 0.3, 0.2], sampling(top_p=0.5), [1, 0, 0], id="reached exactly"),
        pytest.param([0.5, 0.3, 0.2], sampling(top_p=0.51), [0.625, 0.375, 0], id="the crossing token stays"),
        pytest.param([0.5, 0.3, 0.2], sampling(top_p=1e-9), [1, 0, 0], id="never empty"),
        pytest.param([0.25] * 4, sampling(top_p=0.5), [0.5, 0.5, 0, 0], id="nucleus ties: lowest index"),
        pytest.param([0.25] * 4, sampling(top_k=1), [1, 0, 0, 0], id="top-k ties: lowest index"),
        pytest.param([0.2, 0.4, 0.2, 0.2], sampling(top_k=2), [1 / 3, 2 / 3, 0, 0], id="tie at the threshold"),
        pytest.param([0.4, 0.3, 0.2, 0.1], sampling(top_k=2, top_p=0.57), [1, 0, 0, 0], id="top-k before top-p"),
        pytest.param([0.1, 0.45, 0.45], sampling(temperature=0), [0, 1, 0], id="greedy ties: lowest index"),
        pytest.param([0.1, 0.9], sampling(temperature=0, top_k=1, top_p=0.1), [0, 1], id="greedy ignores filters"),
        pytest.param([0.1, 0.9], sampling(temperature=0.5), [0.01 / 0.82, 0.81 / 0.82], id="temperature"),
        pytest.param([0.3, 0.7], sampling(temperature=1e-300), [0, 1], id="a tiny temperature"),
        pytest.param([0.3, 0.7], sampling(top_k=5), [0.3, 0.7], id="top-k beyond the vocabulary"),
    ],
)
def test_cases(probabilities, parameters, expected):
    np.testing.assert_allclose(process(np.log(probabilities), parameters), expected, atol=1e-15)


def test_temperature_comes_before_top_p():
    # At temperature 2 the head of this law has 0.6 of the mass, at temperature 1 it had 0.69.
    law = process(np.log([9 / 13, 4 / 13]), sampling(temperature=2, top_p=0.65))
    np.testing.assert_allclose(law, [0.6, 0.4])


@steady
@given(rows=st.lists(st.lists(st.floats(-20, 20), min_size=4, max_size=4), min_size=6, max_size=6))
def test_every_row_is_processed_by_itself(rows):
    parameters = sampling(0.7, 3, 0.8)
    batch = process(np.reshape(rows, (2, 3, 4)), parameters)
    np.testing.assert_array_equal(batch.reshape(6, 4), [process(row, parameters) for row in rows])


def test_the_callers_logits_stay_as_they_are():
    logits = np.array([1.0, 3.0, 2.0])
    process(logits, sampling(0.5, 2, 0.5))
    assert logits.tolist() == [1, 3, 2]


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        ([[0, 1], [-np.inf, -np.inf]], r"logits\[1\] have no finite maximum: \[-inf, -inf\]"),
        ([0, np.nan], "no finite maximum"),
        ([0, np.inf], "no finite maximum"),
    ],
)
@pytest.mark.parametrize("temperature", [0, 1])
def test_logits_that_are_no_law_are_refused(logits, message, temperature):
    with pytest.raises(ValueError, match=message):
        process(logits, sampling(temperature))


@pytest.mark.parametrize(
    "parameters",
    [{"temperature": -1}, {"temperature": np.inf}, {"temperature": np.nan}, {"top_k": -1}, {"top_p": 0}, {"top_p": 2}],
)
def test_parameters_out_of_range_are_refused(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"{name} must be"):
        SamplingParameters(**parameters)


def test_the_default_changes_nothing():
    assert SamplingParameters() == UNFILTERED == sampling(1.0, 0, 1.0)
