import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.sampling import inverse_cdf
from specaudit.decoding.verify.sampler_match import SamplerMatchVerifier

from ..strategies import steady, verifications
from .cells import Prescribed


@steady
@given(arguments=verifications(), seed=st.integers(0, 2**32))
def test_the_tokens_are_the_targets_own_draws(arguments, seed):
    draft, q, p, num_draft = arguments
    batch, width = draft.shape
    coins = np.random.default_rng(seed).random((batch, width + 1))
    drawn = np.column_stack([inverse_cdf(p[:, i], coins[:, i]) for i in range(width + 1)])
    verified = SamplerMatchVerifier()(draft, q, p, num_draft, Prescribed(coins))
    emitted = verified.out >= 0
    np.testing.assert_array_equal(verified.out[emitted], drawn[emitted])
    np.testing.assert_array_equal(emitted, np.arange(width + 1) < verified.n_out[:, None])
    np.testing.assert_array_equal(verified.n_out, verified.n_accepted + 1)


def test_drafts_are_kept_as_far_as_they_guessed_the_draws():
    p = np.tile([0.5, 0.5], (3, 3, 1))
    coins = Prescribed(np.array([[0.2, 0.7, 0.2]] * 3))
    draft = np.array([[0, 1], [0, 0], [0, 1]])
    verified = SamplerMatchVerifier()(draft, p[:, :2], p, np.array([2, 2, 1]), coins)
    assert verified.out.tolist() == [[0, 1, 0], [0, 1, -1], [0, 1, -1]]
    assert verified.n_accepted.tolist() == [2, 1, 1]
