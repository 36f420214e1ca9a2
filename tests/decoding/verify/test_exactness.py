"""The output law of the shipped verifier, by enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.worlds import MARKOV4
from specaudit.mutants.rule import Draft0Unverified, ResidualFromTarget

from ..enumeration import block_law, chain_law, word_law
from ..strategies import steady, worlds


def total(blocks):
    return sum(mass.sum() for mass in blocks)


@settings(steady, max_examples=60)
@given(world=worlds(), width=st.integers(0, 3), data=st.data())
def test_any_drafter_leaves_the_law_of_any_target(world, width, data):
    assert total(block_law(ChainVerifier(), world, -1, width)) == pytest.approx(1, abs=1e-12)
    length = data.draw(st.integers(1, width + 2))
    law = word_law(ChainVerifier(), world, width, length)
    np.testing.assert_allclose(law, chain_law(world.target, -1, length), rtol=0, atol=1e-12)


@pytest.mark.parametrize("width", [0, 1, 2, 3])
def test_words_of_several_steps_are_exact(width):
    law = word_law(ChainVerifier(), MARKOV4, width, 5)
    np.testing.assert_allclose(law, chain_law(MARKOV4.target, -1, 5), rtol=0, atol=1e-12)


@pytest.mark.parametrize("fault", [ResidualFromTarget, Draft0Unverified])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_faults_are_seen(fault, width):
    assert total(block_law(fault(), MARKOV4, -1, width)) == pytest.approx(1, abs=1e-12)
    faulty = word_law(fault(), MARKOV4, width, 3)
    assert abs(faulty - chain_law(MARKOV4.target, -1, 3)).sum() / 2 > 0.1
