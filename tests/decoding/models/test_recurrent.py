import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.decoding.models.interface import BOS, Model
from specaudit.decoding.models.recurrent import RecurrentModel, SnapshotCache
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.models.weights import Shape
from specaudit.decoding.processors import softmax
from tests.decoding.models.reading import keep_prefix, prompts, read_all, read_on

VOCABULARY, WIDTH = 16, 24
MODEL: Model = RecurrentModel.from_seed(VOCABULARY, WIDTH, seed=1)


def test_a_loop_over_tokens_computes_the_same():
    tokens = prompts(np.random.default_rng(0), 1, 12, VOCABULARY)
    out = read_all(MODEL, tokens)
    state = np.zeros(WIDTH)
    for t, token in enumerate(tokens[0]):
        x = MODEL.embedding[token]
        decay, drive, gate = np.split(x @ MODEL.gates, 3)
        a = 1 / (1 + np.exp(-1.5 - decay))
        state = a * state + np.sqrt(1 - a**2) * drive
        x = x + (state * gate / (1 + np.exp(-gate))) @ MODEL.output
        x = x / np.sqrt((x**2).mean() + 1e-6)
        assert np.allclose(out.features[0, t], x, rtol=0, atol=1e-12)
        assert np.allclose(out.logits[0, t], x @ MODEL.head, rtol=0, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(chunks=st.lists(st.integers(1, 20), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_reading_in_chunks_equals_reading_at_once_bit_by_bit(chunks, seed):
    tokens = prompts(np.random.default_rng(seed), 2, sum(chunks), VOCABULARY)
    cache, slots = MODEL.cache(3), np.array([2, 0])
    parts = [read_on(MODEL, cache, slots, part) for part in np.split(tokens, np.cumsum(chunks)[:-1], axis=1)]
    assert (np.concatenate([part.logits for part in parts], axis=1) == read_all(MODEL, tokens).logits).all()


@pytest.mark.parametrize("kept", range(6))
def test_rolling_back_restores_the_state_behind_the_last_accepted_token(kept):
    tokens = prompts(np.random.default_rng(2), 2, 20, VOCABULARY)
    cache, slots = MODEL.cache(2), np.array([1, 0])
    read_on(MODEL, cache, slots, tokens[:, :10])
    drafts = np.where(np.arange(5) < kept, tokens[:, 10:15], (tokens[:, 10:15] + 1) % VOCABULARY)
    MODEL.forward(drafts, np.full(2, 5), cache, slots)
    keep_prefix(cache, slots, [kept, 5 if kept == 5 else 0])
    assert cache.lengths.tolist() == [15 if kept == 5 else 10, 10 + kept]
    after = MODEL.forward(tokens[:1, 10 + kept :], np.array([10 - kept]), cache, slots[:1])
    assert (after.logits[0] == read_all(MODEL, tokens).logits[0, 10 + kept :]).all()


def test_what_is_not_committed_is_gone():
    tokens = prompts(np.random.default_rng(3), 1, 8, VOCABULARY)
    cache, slot = MODEL.cache(1), np.array([0])
    read_on(MODEL, cache, slot, tokens[:, :4])
    MODEL.forward(tokens[:, 5:], np.array([3]), cache, slot)
    again = MODEL.forward(tokens[:, 4:], np.array([4]), cache, slot)
    assert (again.logits == read_all(MODEL, tokens).logits[:, 4:]).all()


def test_a_released_slot_starts_afresh():
    tokens = prompts(np.random.default_rng(4), 1, 8, VOCABULARY)
    cache, slot = MODEL.cache(1), np.array([0])
    read_on(MODEL, cache, slot, tokens[:, :5])
    read_on(MODEL, cache, slot, tokens[:, 5:])
    cache.release(slot)
    assert cache.lengths.tolist() == [0]
    assert (read_on(MODEL, cache, slot, tokens).logits == read_all(MODEL, tokens).logits).all()


def test_a_second_commit_finds_nothing_pending_and_takes_nothing_back():
    tokens = prompts(np.random.default_rng(7), 1, 8, VOCABULARY)
    cache, slot = MODEL.cache(1), np.array([0])
    read_on(MODEL, cache, slot, tokens[:, :5])
    with pytest.raises(ValueError, match="a prefix of the 0 pending ones"):
        cache.commit(slot, np.array([[0]]))
    cache.commit(slot, np.array([[-1]]))
    assert (read_on(MODEL, cache, slot, tokens[:, 5:]).logits == read_all(MODEL, tokens).logits[:, 5:]).all()


def test_the_law_remembers_tokens_before_the_last():
    tokens = prompts(np.random.default_rng(5), 64, 12, VOCABULARY)
    tokens[:, -1] = 5
    last = softmax(read_all(MODEL, tokens).logits[:, -1])
    assert np.abs(last - last.mean(axis=0)).sum(axis=1).mean() / 2 > 0.15


def test_acceptance_falls_with_the_noise_on_a_drafters_weights():
    tokens = prompts(np.random.default_rng(6), 64, 12, VOCABULARY)
    p = softmax(read_all(MODEL, tokens).logits)
    drafters = [MODEL.perturbed(scale, seed=1) for scale in (0, 0.05, 0.1, 0.2, 0.5)]
    rates = [np.minimum(p, softmax(read_all(drafter, tokens).logits)).sum(axis=-1).mean() for drafter in drafters]
    assert np.isclose(rates[0], 1)
    assert (np.diff(rates) < -0.03).all()


def test_bad_input_is_refused():
    cache, slot, one = MODEL.cache(1), np.array([0]), np.array([1])
    token = np.array([[BOS]])
    with pytest.raises(ValueError, match="a recurrent state follows one path"):
        MODEL.forward(token, one, cache, slot, visible=np.ones((1, 1), dtype=np.bool_))
    with pytest.raises(ValueError, match="row 0: count must be 1 to 1, got 0"):
        MODEL.forward(token, one - 1, cache, slot)
    with pytest.raises(TypeError, match="a cache made by its cache"):
        MODEL.forward(token, one, Transformer.from_seed(Shape(), 0).cache(1), slot)
    MODEL.forward(np.array([[BOS, 1, 2]]), np.array([3]), cache, slot)
    for kept in ([0, 2], [1], [0, 1, 2, 3], [-1, 0]):
        with pytest.raises(ValueError, match="slot 0 cannot keep tokens"):
            cache.commit(slot, np.array([kept]))
    with pytest.raises(ValueError, match="sizes of at least 1, got 0"):
        SnapshotCache(0, 4)
    assert cache.reserve(slot, np.array([10**9])).all()
