import numpy as np
import pytest
from scipy.stats import kstest

from specaudit.stats.evalues.uniforms import position_uniforms


def grid(seed, completions=300, positions=300):
    index = np.indices((completions, positions)).reshape(2, -1)
    return position_uniforms(seed, *index)


def test_a_uniform_belongs_to_its_position():
    whole = grid(7)
    alone = position_uniforms(7, np.array([12, 0]), np.array([34, 0]))
    assert alone.tolist() == [whole[12 * 300 + 34], whole[0]]
    assert position_uniforms(2**70 + 7, np.array([0]), np.array([0])) == position_uniforms(
        2**70 % 2**64 + 7, np.array([0]), np.array([0])
    )


@pytest.mark.parametrize("seed", [0, 1, 2**63])
def test_they_are_uniform_and_do_not_repeat(seed):
    values = grid(seed)
    assert len(np.unique(values)) == len(values)
    assert ((values > 0) & (values < 1)).all()
    assert kstest(values, "uniform").pvalue > 1e-3


def test_neighbours_are_not_related():
    """Seeds, completions and positions one apart: correlations of 90,000 pairs have a standard deviation of 1/300."""
    here, there = grid(5).reshape(300, 300), grid(6).reshape(300, 300)
    for pair in ((here, there), (here[1:], here[:-1]), (here[:, 1:], here[:, :-1])):
        assert abs(np.corrcoef(pair[0].ravel(), pair[1].ravel())[0, 1]) < 4 / 300
