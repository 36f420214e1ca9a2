import numpy as np
import pytest

from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.processors import UNFILTERED, SamplingParameters

START = [0.2, 0.8, 0.0]
TRANSITION = [[0.5, 0.25, 0.25], [0.0, 0.0, 1.0], [0.1, 0.6, 0.3]]
MODEL = MarkovModel(START, TRANSITION)


def test_laws_are_those_it_was_made_from():
    contexts = np.array([[-1, 0], [1, 2]])
    laws = MODEL.probabilities(contexts, UNFILTERED)
    np.testing.assert_allclose(laws, [[START, TRANSITION[0]], TRANSITION[1:]], atol=1e-15)
    assert (laws[1, 0] == [0, 0, 1]).all()


def test_logits_are_log_probabilities():
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(MODEL.logits(np.array([-1, 2])), np.log([START, TRANSITION[2]]))


def test_probabilities_are_processed():
    greedy = MODEL.probabilities(np.array([-1, 0, 1, 2]), SamplingParameters(temperature=0))
    np.testing.assert_array_equal(greedy, [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])
    filtered = MODEL.probabilities(np.array(2), SamplingParameters(top_k=2))
    np.testing.assert_allclose(filtered, [0, 2 / 3, 1 / 3])


def test_changing_a_result_does_not_change_the_model():
    MODEL.probabilities(np.array([0]), UNFILTERED)[:] = 7
    MODEL.logits(np.array([0]))[:] = 7
    np.testing.assert_allclose(MODEL.probabilities(np.array(0), UNFILTERED), TRANSITION[0])
    np.testing.assert_allclose(MODEL.logits(np.array(0)), np.log(TRANSITION[0]))


def test_vocabulary_size():
    assert MODEL.vocabulary_size == 3


@pytest.mark.parametrize(
    ("start", "transition", "message"),
    [
        ([0.5, 0.5], [[1.0]], r"got \[2\] and \[1, 1\]"),
        ([[1.0]], [[1.0]], r"got \[1, 1\] and \[1, 1\]"),
        ([], np.empty((0, 0)), r"got \[0\] and \[0, 0\]"),
        ([0.5, 0.4], np.eye(2), "start must sum to 1, got 0.9"),
        ([0.5, 0.5], [[1, 0], [0.3, 0.6]], r"transition\[1\] must sum to 1, got 0.9"),
        ([1.5, -0.5], np.eye(2), r"start must be finite and not negative, got \[1.5, -0.5\]"),
        ([1, 0], [[np.nan, 1], [0, 1]], r"transition\[0\] must be finite"),
        ([1, 0], [[np.inf, 0], [0, 1]], r"transition\[0\] must be finite"),
    ],
)
def test_laws_that_are_none_are_refused(start, transition, message):
    with pytest.raises(ValueError, match=message):
        MarkovModel(start, transition)
