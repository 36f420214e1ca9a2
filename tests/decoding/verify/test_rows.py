import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.verify.block import BlockVerifier
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.one_hot import OneHotVerifier
from specaudit.decoding.verify.rows import ArrayRows, OneHotRows, Rows, ScaledRows, as_rows, stretches
from specaudit.decoding.verify.sampler_match import SamplerMatchVerifier

from ..strategies import steady, verifications
from .cells import Prescribed

VERIFIERS = [ChainVerifier, BlockVerifier, OneHotVerifier, SamplerMatchVerifier]


class Log:
    """A function of places that tells what it was asked for."""

    def __init__(self, laws):
        self.laws = laws
        self.asked = []

    def __call__(self, rows, positions):
        self.asked += zip(rows.tolist(), positions.tolist(), strict=True)
        return self.laws[rows, positions]


class Single(Rows):
    """A view that makes one row at a time, and no entries of its own."""

    def __init__(self, laws):
        self.laws = laws

    @property
    def shape(self):
        return self.laws.shape

    def at(self, rows, positions):
        return np.array([self.laws[place] for place in zip(rows, positions, strict=True)]).reshape(-1, self.shape[2])

    def part(self, rows):
        return Single(self.laws[rows])


def scattered(laws):
    """The same laws in an array that is not contiguous."""
    return np.repeat(laws, 2, axis=2)[:, :, ::2]


@pytest.mark.parametrize("verifier", VERIFIERS)
@pytest.mark.parametrize("view", [Log, Single, scattered, np.asfortranarray])
@steady
@given(arguments=verifications(), seed=st.integers(0, 2**32))
def test_what_laws_are_given_as_does_not_matter(verifier, view, arguments, seed):
    draft, q, p, num_draft = arguments
    coins = np.random.default_rng(seed).random((len(draft), draft.shape[1] + 1))
    plain = verifier()(draft, q, p, num_draft, Prescribed(coins))
    seen = verifier()(draft, view(q), view(p), num_draft, Prescribed(coins))
    np.testing.assert_array_equal(seen.out, plain.out)


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_a_long_batch_is_the_sum_of_its_rows(verifier):
    rng = np.random.default_rng(4)
    rows = 24_000
    q, p = rng.dirichlet(np.ones(3), (rows, 2)), rng.dirichlet(np.ones(3), (rows, 3))
    draft, num_draft, coins = rng.integers(0, 3, (rows, 2)), rng.integers(0, 3, rows), rng.random((rows, 3))
    assert len(list(stretches(rows, 3))) > 1
    whole = verifier()(draft, q, p, num_draft, Prescribed(coins))
    computed = verifier()(draft, Log(q), Log(p), num_draft, Prescribed(coins))
    np.testing.assert_array_equal(computed.out, whole.out)
    order = rng.permutation(rows)
    shuffled = verifier()(draft[order], q[order], p[order], num_draft[order], Prescribed(coins[order]))
    np.testing.assert_array_equal(shuffled.out, whole.out[order])


def test_only_the_rows_that_decide_are_computed():
    # Row 0 accepts both drafts, row 1 rejects its second, row 2 drafts one and rejects it, row 3 drafts nothing.
    q, p = np.full((4, 2, 4), 0.25), np.full((4, 3, 4), 0.25)
    p[1, 1] = p[2, 0] = [0, 0.5, 0.5, 0]
    q_log, p_log = Log(q), Log(p)
    draft, num_draft = np.array([[0, 0], [0, 0], [0, 9], [9, 9]]), np.array([2, 2, 1, 0])
    coins = Prescribed(np.full((4, 3), 0.5))
    verified = ChainVerifier()(draft, q_log, p_log, num_draft, coins, check=False)
    assert verified.n_accepted.tolist() == [2, 1, 0, 0]
    entries = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]
    assert sorted(q_log.asked) == sorted([*entries, (1, 1), (2, 0)])
    assert set(p_log.asked) == {*entries, (0, 2), (3, 0)}
    assert len(p_log.asked) <= len(entries) + 4 + 2


def test_entries_alone_are_read_of_a_view_that_knows_them():
    class Entries(Single):
        def entries(self, tokens):
            return np.take_along_axis(self.laws[:, : tokens.shape[1]], tokens[:, :, None], axis=2)[:, :, 0]

        def part(self, rows):
            return Entries(self.laws[rows])

        def at(self, rows, positions):
            assert positions.tolist() == [2] * len(positions)
            return super().at(rows, positions)

    p = np.full((5, 3, 4), 0.25)
    coins = Prescribed(np.full((5, 3), 0.5))
    draft = np.zeros((5, 2), dtype=int)
    verified = ChainVerifier()(draft, Entries(p[:, :2]), Entries(p), np.full(5, 2), coins, check=False)
    assert verified.n_accepted.tolist() == [2] * 5


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_extra_memory_stays_under_two_rows_per_request(verifier):
    rng = np.random.default_rng(5)
    batch, width, vocabulary = 8, 3, 60_000
    p = rng.random((batch, width + 1, vocabulary), dtype=np.float32)
    q = rng.random((batch, width, vocabulary), dtype=np.float32)
    p /= p.sum(axis=2, keepdims=True)
    q /= q.sum(axis=2, keepdims=True)
    draft, num_draft = rng.integers(0, vocabulary, (batch, width)), np.full(batch, width)
    tracemalloc.start()
    verifier()(draft, q, p, num_draft, rng, check=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * batch * p[0, 0].nbytes


def test_single_precision_stays_what_it_is():
    p = np.full((1, 2, 4), 0.25, dtype=np.float32)
    assert ArrayRows(p).at(np.array([0]), np.array([1])).dtype == np.float32
    assert ScaledRows(ArrayRows(p), np.ones((1, 2))).at(np.array([0]), np.array([1])).dtype == np.float32
    np.testing.assert_array_equal(ChainVerifier().residual(p[0], p[0]), np.zeros((2, 4)))


def test_one_hot_and_scaled_rows_are_what_they_say():
    rows = OneHotRows(np.array([[1, 0], [2, 2]]), 3)
    assert rows.shape == (2, 2, 3)
    assert rows.at(np.array([0, 1]), np.array([1, 0])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert rows.entries(np.array([[1], [1]])).tolist() == [[1], [0]]
    scaled = ScaledRows(rows, np.array([[0.5, 0.25], [1, 2]])).part(slice(1, 2))
    assert scaled.shape == (1, 2, 3)
    assert scaled.at(np.array([0]), np.array([1])).tolist() == [[0, 0, 2]]
    assert scaled.entries(np.array([[2, 0]])).tolist() == [[1, 0]]
    assert as_rows(rows, 7, 7) is rows
