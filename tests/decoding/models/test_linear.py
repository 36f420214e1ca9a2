import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

from specaudit.decoding.models.linear import TILE, project


@settings(max_examples=40, deadline=None)
@given(
    shape=array_shapes(min_dims=1, max_dims=3, max_side=2 * TILE + 1), inputs=st.integers(1, 70), seed=st.integers(0, 9)
)
def test_it_is_the_matrix_product_and_every_row_has_the_bits_it_has_alone(shape, inputs, seed):
    rng = np.random.default_rng(seed)
    rows, weight = rng.normal(size=(*shape, inputs)), rng.normal(size=(inputs, 33))
    product = project(rows, weight)
    assert product.shape == (*shape, 33)
    assert np.allclose(product, rows @ weight, rtol=0, atol=1e-12)
    flat = product.reshape(-1, 33)
    alone = [project(row, weight) for row in rows.reshape(-1, inputs)]
    assert (flat == alone).all()
