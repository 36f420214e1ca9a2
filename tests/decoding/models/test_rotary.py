import numpy as np
import pytest

from specaudit.decoding.models.rotary import rotate, rotations


@pytest.mark.parametrize("width", [2, 8])
def test_scores_depend_on_the_distance_alone(width):
    rng = np.random.default_rng(0)
    query, key = rng.normal(size=(2, 1, 1, 1, width))

    def score(place, other):
        turned = [rotate(x, *rotations(np.array([[at]]), width, 100.0)) for x, at in ((query, place), (key, other))]
        return float((turned[0] * turned[1]).sum())

    assert np.isclose(score(7, 3), score(104, 100), rtol=0, atol=1e-12)
    assert not np.isclose(score(7, 3), score(7, 4), atol=1e-3)
    assert np.isclose(score(5, 5), (query * key).sum())


def test_a_pair_turns_by_its_frequency():
    heads = np.zeros((1, 1, 1, 4))
    heads[..., 1] = 1
    turned = rotate(heads, *rotations(np.array([[10]]), 4, 100.0))
    assert np.allclose(turned[0, 0, 0], [0, np.cos(1), 0, np.sin(1)])
