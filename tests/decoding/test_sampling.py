import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.sampling import inverse_cdf

from .strategies import laws, steady

ALMOST_ONE = np.nextafter(1, 0)


@pytest.mark.parametrize(
    ("weights", "uniform", "token"),
    [
        ([0, 0, 0.5, 0.5], 0.0, 2),
        ([0.5, 0.5, 0, 0], ALMOST_ONE, 1),
        ([0, 1, 0], 0.0, 1),
        ([0, 1, 0], ALMOST_ONE, 1),
        ([0.25, 0.25, 0.5], 0.25, 1),
        ([0.1] * 10, ALMOST_ONE, 9),
        ([0.1] * 10 + [0], ALMOST_ONE, 9),
        ([0, 5e-324, 0], ALMOST_ONE, 1),
        ([3, 1], 0.74, 0),
        ([3, 1], 0.76, 1),
    ],
)
def test_no_uniform_draws_a_weightless_token(weights, uniform, token):
    assert inverse_cdf(np.array([weights], dtype=float), np.array([uniform])) == [token]


@steady
@given(law=laws(5), uniform=st.floats(0, 1, exclude_max=True))
def test_every_drawn_token_has_weight(law, uniform):
    assert law[inverse_cdf(law[None], np.array([uniform]))] > 0


@steady
@given(law=laws(4))
def test_frequencies_on_a_grid_of_uniforms_are_the_law(law):
    grid = (np.arange(1000) + 0.5) / 1000
    tokens = inverse_cdf(np.broadcast_to(law, (1000, 4)), grid)
    np.testing.assert_allclose(np.bincount(tokens, minlength=4) / 1000, law, atol=1.01e-3)


def test_an_empty_batch_draws_nothing():
    assert inverse_cdf(np.empty((0, 4)), np.empty(0)).shape == (0,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("vocabulary", [513, 1_024, 3_000])
def test_long_rows_are_drawn_in_their_proportions(vocabulary, dtype):
    rng = np.random.default_rng(6)
    weights = (rng.random((1, vocabulary)) * (rng.random((1, vocabulary)) < 0.3)).astype(dtype)
    grid = (np.arange(10_000) + 0.5) / 10_000
    tokens = inverse_cdf(np.broadcast_to(weights, (len(grid), vocabulary)), grid)
    exact = weights[0].astype(float) / weights.sum(dtype=float)
    np.testing.assert_allclose(np.bincount(tokens, minlength=vocabulary) / len(grid), exact, atol=1.01e-4)
    assert (np.diff(tokens) >= 0).all()


@pytest.mark.parametrize("place", [0, 511, 512, 700, 1_099])
@pytest.mark.parametrize("uniform", [0.0, 0.5, ALMOST_ONE])
@pytest.mark.parametrize("weight", [5e-324, 0.1, 3.0])
def test_no_uniform_draws_a_weightless_token_of_a_long_row(place, uniform, weight):
    weights = np.zeros((1, 1_100))
    weights[0, place] = weight
    assert inverse_cdf(weights, np.array([uniform])) == [place]


def test_blocks_that_round_apart_from_their_tokens_stay_with_their_tokens():
    weights = np.zeros((1, 1_024), dtype=np.float32)
    weights[0, :300] = np.float32(0.1)
    weights[0, 1_000] = 1e-9
    tokens = inverse_cdf(np.broadcast_to(weights, (3, 1_024)), np.array([ALMOST_ONE, 1 - 1e-12, 0.9999999]))
    assert set(tokens) <= {299, 1_000}


@pytest.mark.parametrize("vocabulary", [3, 100, 2_000])
def test_a_row_without_weight_gives_no_token(vocabulary):
    weights = np.zeros((3, vocabulary))
    weights[1, -1] = 1
    assert inverse_cdf(weights, np.array([0.0, 0.5, ALMOST_ONE])).tolist() == [-1, vocabulary - 1, -1]


@pytest.mark.parametrize("vocabulary", [3, 100, 2_000])
def test_a_row_is_drawn_as_it_would_be_alone(vocabulary):
    rng = np.random.default_rng(7)
    weights, uniforms = rng.random((30, vocabulary), dtype=np.float32), rng.random(30)
    alone = [int(inverse_cdf(weights[i : i + 1], uniforms[i : i + 1])[0]) for i in range(30)]
    assert inverse_cdf(weights, uniforms).tolist() == alone
