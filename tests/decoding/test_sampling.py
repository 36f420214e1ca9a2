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
