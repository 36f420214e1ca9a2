import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.verify.chain import ChainVerifier

from ..enumeration import Prescribed
from ..strategies import steady, verifications

VERIFY = ChainVerifier()


@steady
@given(arguments=verifications(), seed=st.integers(0, 2**32))
def test_the_block_is_the_accepted_drafts_and_one_token_more(arguments, seed):
    draft, q, p, num_draft = arguments
    verified = VERIFY(draft, q, p, num_draft, np.random.default_rng(seed))
    column = np.arange(draft.shape[1] + 1)
    assert ((verified.n_accepted >= 0) & (verified.n_accepted <= num_draft)).all()
    np.testing.assert_array_equal(verified.n_out, verified.n_accepted + 1)
    np.testing.assert_array_equal(verified.out >= 0, column < verified.n_out[:, None])
    accepted = column[:-1] < verified.n_accepted[:, None]
    np.testing.assert_array_equal(verified.out[:, :-1][accepted], draft[accepted])


@steady
@given(arguments=verifications(), seed=st.integers(0, 2**32), extreme=st.booleans())
def test_no_token_that_the_target_excludes_is_emitted(arguments, seed, extreme):
    draft, q, p, num_draft = arguments
    coins = np.random.default_rng(seed).random((len(draft), draft.shape[1] + 1))
    if extreme:
        coins = np.where(coins < 0.5, 0, np.nextafter(1, 0))
    verified = VERIFY(draft, q, p, num_draft, Prescribed(coins))
    row, column = np.nonzero(verified.out >= 0)
    assert (p[row, column, verified.out[row, column]] > 0).all()


@steady
@given(arguments=verifications(), seed=st.integers(0, 2**32))
def test_a_ragged_row_is_a_narrow_row(arguments, seed):
    draft, q, p, num_draft = arguments
    width = draft.shape[1]
    coins = np.random.default_rng(seed).random((len(draft), width + 1))
    batch = VERIFY(draft, q, p, num_draft, Prescribed(coins))
    for i, n in enumerate(num_draft):
        own = coins[i : i + 1, [*range(n), width]]
        alone = VERIFY(draft[i : i + 1, :n], q[i : i + 1, :n], p[i : i + 1, : n + 1], np.array([n]), Prescribed(own))
        assert alone.out[0].tolist() == batch.out[i, : n + 1].tolist()


@pytest.mark.parametrize(
    ("p", "q", "coins", "out"),
    [
        pytest.param([0.5, 0.5], [0.8, 0.2], [0.624, 0.0], [0, 0], id="accepted below p/q"),
        pytest.param([0.5, 0.5], [0.8, 0.2], [0.625, 0.0], [1, -1], id="rejected at p/q: the test is strict"),
        pytest.param([0.0, 1.0], [0.8, 0.2], [0.0, 0.0], [1, -1], id="p = 0 is rejected by the coin 0"),
        pytest.param([0.6, 0.2, 0.2], [0.8, 0.2, 0.0], [0.9, 0.0], [2, -1], id="only the residual replaces"),
        pytest.param([0.5, 0.5], [0.5, 0.5], [np.nextafter(1, 0), 0.6], [0, 1], id="equal laws accept"),
    ],
)
def test_one_draft(p, q, coins, out):
    laws = np.array([[p, [1 / len(p)] * len(p)]])
    verified = VERIFY(np.array([[0]]), np.array([[q]]), laws, np.array([1]), Prescribed(np.array([coins])))
    assert verified.out.tolist() == [out]


def test_a_residual_lost_to_rounding_falls_back_on_the_target():
    q = np.array([[[0.1 + 0.2, 0.7]]])
    p = np.array([[[0.3, 0.7], [0.5, 0.5]]])
    assert p[0, 0, 0] < q[0, 0, 0]
    coins = np.array([[np.nextafter(1, 0), 0.5]])
    verified = VERIFY(np.array([[0]]), q, p, np.array([1]), Prescribed(coins))
    assert verified.n_accepted == [0]
    assert verified.out.tolist() == [[1, -1]]


def test_the_run_ends_at_the_first_rejection():
    p = np.array([[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]])
    verified = VERIFY(
        np.array([[0, 0, 0]]), np.full((1, 3, 2), 0.5), p, np.array([3]), Prescribed(np.full((1, 4), 0.5))
    )
    assert verified.out.tolist() == [[0, 1, -1, -1]]


def test_nothing_drafted_is_plain_sampling():
    p = np.array([[[0.25, 0.75]], [[0.25, 0.75]]])
    verified = VERIFY(
        np.empty((2, 0), dtype=int),
        np.empty((2, 0, 2)),
        p,
        np.zeros(2, dtype=int),
        Prescribed(np.array([[0.2], [0.3]])),
    )
    assert verified.out.tolist() == [[0], [1]]
    assert verified.n_accepted.tolist() == [0, 0]


def test_an_empty_batch_passes():
    empty = np.empty((0, 3), dtype=int)
    verified = VERIFY(empty, np.empty((0, 3, 4)), np.empty((0, 4, 4)), np.empty(0, dtype=int), np.random.default_rng(0))
    assert verified.out.shape == (0, 4)
    assert verified.n_out.shape == verified.n_accepted.shape == (0,)


def test_inputs_are_checked_unless_told_otherwise():
    arguments = np.array([[0]]), np.array([[[0.0, 1.0]]]), np.full((1, 2, 2), 0.5), np.array([1])
    with pytest.raises(ValueError, match="q = 0"):
        VERIFY(*arguments, np.random.default_rng(0))
    assert VERIFY(*arguments, np.random.default_rng(0), check=False).n_accepted == [1]


def test_tokens_per_step_are_those_of_theory():
    # α = Σ min(p, q) = .7, so E = 1 + α + α² + α³ = 2.533.
    rows = 400_000
    rng = np.random.default_rng(20)
    draft = rng.integers(0, 4, (rows, 3))
    q = np.broadcast_to(0.25, (rows, 3, 4))
    p = np.broadcast_to([0.5, 0.3, 0.15, 0.05], (rows, 4, 4))
    verified = VERIFY(draft, q, p, np.full(rows, 3), rng, check=False)
    assert verified.n_out.mean() == pytest.approx(2.533, abs=0.01)
