from dataclasses import fields

import numpy as np
import pytest

from specaudit.decoding.models.weights import Shape, perturb, random_weights


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"heads": 3}, "kv_heads must divide heads, got 2 and 3"),
        ({"head_width": 5}, "head_width must be even for rotary positions, got 5"),
    ],
)
def test_impossible_shapes_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        Shape(**sizes)


def test_weights_are_a_function_of_the_seed():
    same, again, other = (random_weights(Shape(), seed).head for seed in (1, 1, 2))
    assert (same == again).all()
    assert (same != other).all()


def test_a_tied_head_is_the_embedding():
    weights = random_weights(Shape(tied=True, sharpness=3, width=9), 0)
    assert np.allclose(weights.head, weights.embedding[:-1].T)


def test_noise_reaches_every_matrix_and_spares_the_norms():
    weights = random_weights(Shape(layers=2), 0)
    noisy = perturb(weights, 0.1, seed=1)
    for before, after in zip(weights.layers, noisy.layers, strict=True):
        for field in fields(before):
            matrix, moved = getattr(before, field.name), getattr(after, field.name)
            change = (moved - matrix).std() / matrix.std() if matrix.ndim == 2 else 0
            assert np.isclose(change, 0.1, rtol=0.1) if matrix.ndim == 2 else (matrix == moved).all()
    assert (noisy.embedding != weights.embedding).all()
    assert (noisy.head != weights.head).all()


def test_one_seed_is_one_direction_of_noise():
    weights = random_weights(Shape(layers=1), 0)
    near, far = (perturb(weights, scale, seed=3).head - weights.head for scale in (0.1, 0.2))
    assert np.allclose(2 * near, far)
