"""The output law of the shipped verifiers, by enumeration of all drafts and all coins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.decoding.verify.block import BlockVerifier
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.one_hot import OneHotVerifier
from specaudit.decoding.verify.sampler_match import SamplerMatchVerifier
from specaudit.decoding.verify.verified import accepted_run
from specaudit.decoding.worlds import MARKOV4

from .. import enumeration
from ..strategies import steady
from .exact import random_laws, step_law, word_law

VERIFIERS = [ChainVerifier, BlockVerifier, OneHotVerifier, SamplerMatchVerifier]


def laws(seed, vocabulary, width):
    rng = np.random.default_rng(seed)
    return random_laws(rng, vocabulary, width), random_laws(rng, vocabulary, width + 1)


def distance(verifier, q, p, num_draft=None):
    """Total variation between what is emitted and the target."""
    return abs(step_law(verifier, q, p, num_draft) - word_law(p)).sum() / 2


@pytest.mark.parametrize("verifier", VERIFIERS)
@settings(steady, max_examples=25)
@given(seed=st.integers(0, 2**32), vocabulary=st.integers(1, 4), width=st.integers(0, 3), data=st.data())
def test_any_drafter_leaves_the_law_of_any_target(verifier, seed, vocabulary, width, data):
    num_draft = data.draw(st.integers(0, width))
    q, p = laws(seed, vocabulary, width)
    assert distance(verifier(), q, p, num_draft) < 1e-12


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_the_largest_case_is_exact(verifier):
    assert distance(verifier(), *laws(1, 4, 3)) < 1e-12


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_a_drafter_that_agrees_in_places_leaves_the_law(verifier):
    q, p = laws(2, 3, 3)
    assert distance(verifier(), [p[0], q[1], p[2]], p) < 1e-12


@pytest.mark.parametrize("width", [0, 1, 2, 3])
def test_words_of_several_steps_are_exact(width):
    law = enumeration.word_law(ChainVerifier(), MARKOV4, width, 5)
    np.testing.assert_allclose(law, enumeration.chain_law(MARKOV4.target, -1, 5), rtol=0, atol=1e-12)


class ResidualFromTarget(ChainVerifier):
    def residual(self, p, q):
        return p


class AbsoluteResidual(ChainVerifier):
    def residual(self, p, q):
        return abs(p - q)


class AcceptedByTheTargetAlone(ChainVerifier):
    def accepted(self, draft, q, p, coins):
        return coins < p.entries(draft)


class ReplacementFromTheFirstPosition(ChainVerifier):
    def replacement(self, q, p, rows, positions):
        return super().replacement(q, p, rows, np.zeros_like(positions))


class OneCoin(ChainVerifier):
    def coins(self, rng, batch, width):
        coins = super().coins(rng, batch, width)
        coins[:, :width] = coins[:, :1]
        return coins


class TokenwiseResidual(BlockVerifier):
    def weighted(self, p, weights):
        return p


class UncappedWeights(BlockVerifier):
    def run_weights(self, draft, q, p):
        ratios = p.entries(draft) / q.entries(draft)
        return np.column_stack([np.ones(len(draft)), ratios.cumprod(axis=1)]).clip(0, 1)


class BlockCoinsReadAsAChain(BlockVerifier):
    def verify(self, draft, q, p, num_draft, coins):
        weights = self.run_weights(draft, q, p)
        accepted = coins[:, :-1] < self.run_acceptance(q, p, num_draft, weights)
        whole = accepted_run(accepted, num_draft)
        return super().verify(draft, q, p, whole, coins)


class OneHotResidualWithTheDraft(OneHotVerifier):
    def residual(self, p, q):
        return p


class Redraw(SamplerMatchVerifier):
    def verify(self, draft, q, p, num_draft, coins):
        drawn = super().verify(draft, q, p, num_draft, coins)
        rows = np.flatnonzero(drawn.n_accepted < num_draft)
        n = drawn.n_accepted[rows]
        drawn.out[rows, n] = (coins[rows, n + 1, None] < p.at(rows, n).cumsum(axis=1)).argmax(axis=1)
        return drawn


@pytest.mark.parametrize(
    "fault",
    [
        ResidualFromTarget,
        AbsoluteResidual,
        AcceptedByTheTargetAlone,
        ReplacementFromTheFirstPosition,
        TokenwiseResidual,
        UncappedWeights,
        BlockCoinsReadAsAChain,
        OneHotResidualWithTheDraft,
        Redraw,
        OneCoin,
    ],
)
@pytest.mark.parametrize("width", [2, 3])
def test_faults_are_seen(fault, width):
    # With two tokens, no coin that rises leads to the same redrawn token twice.
    q, p = laws(3, 2 if fault is Redraw else 3, width)
    assert distance(fault(), q, p) > 1e-3


@pytest.mark.parametrize("fault", [ResidualFromTarget, TokenwiseResidual, OneHotResidualWithTheDraft])
def test_faults_are_seen_in_ragged_rows(fault):
    q, p = laws(6, 3, 3)
    assert distance(fault(), q, p, 0) < 1e-12
    assert distance(fault(), q, p, 2) > 1e-3
