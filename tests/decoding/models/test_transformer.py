import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.decoding.models.attention import visible_entries
from specaudit.decoding.models.interface import BOS, Model
from specaudit.decoding.models.recurrent import RecurrentModel
from specaudit.decoding.models.transformer import Transformer, rms_norm
from specaudit.decoding.models.weights import Shape
from specaudit.decoding.processors import softmax
from tests.decoding.models.reading import keep_prefix, prompts, read_all, read_on

SMALL = Shape(vocabulary=16, width=16, layers=3, heads=4, kv_heads=2, head_width=4, hidden=24)
MODEL: Model = Transformer.from_seed(SMALL, seed=1)


def test_a_loop_over_heads_queries_and_keys_computes_the_same():
    """The architecture written out once more, one token at a time, from the papers' formulas."""
    tokens = prompts(np.random.default_rng(2), 1, 21, SMALL.vocabulary)
    assert np.allclose(read_all(MODEL, tokens).logits[0], written_out(MODEL, tokens[0]), atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(chunks=st.lists(st.integers(1, 20), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_reading_in_chunks_with_a_cache_equals_reading_at_once(chunks, seed):
    rng = np.random.default_rng(seed)
    tokens = prompts(rng, 2, sum(chunks), SMALL.vocabulary)
    cache, slots = MODEL.cache(3), np.array([2, 0])
    parts = [read_on(MODEL, cache, slots, part) for part in np.split(tokens, np.cumsum(chunks)[:-1], axis=1)]
    whole = read_all(MODEL, tokens)
    assert (np.concatenate([part.logits for part in parts], axis=1) == whole.logits).all()
    assert (np.concatenate([part.features for part in parts], axis=1) == whole.features).all()


def test_a_row_has_the_same_bits_alone_in_a_batch_and_at_any_width():
    rng = np.random.default_rng(3)
    lengths = np.array([1, 5, 16, 17, 31, 32, 33, 60])
    tokens = prompts(rng, 8, 64, SMALL.vocabulary)
    cache, slots = MODEL.cache(8), np.arange(8)
    first = MODEL.forward(tokens[:, :60], lengths, cache, slots)
    keep_prefix(cache, slots, lengths)
    new = np.take_along_axis(tokens, lengths[:, None] + np.arange(4), axis=1)
    together = MODEL.forward(new, np.full(8, 4), cache, slots).logits
    for row, length in enumerate(lengths):
        alone, slot = MODEL.cache(1), np.array([0])
        prefix = read_on(MODEL, alone, slot, tokens[row, None, :length]).logits
        assert (prefix[0] == first.logits[row, :length]).all()
        one_by_one = [read_on(MODEL, alone, slot, new[row, None, i, None]).logits[0, 0] for i in range(4)]
        assert (np.array(one_by_one) == together[row]).all()


def test_rejected_drafts_leave_no_trace():
    rng = np.random.default_rng(4)
    tokens = prompts(rng, 1, 40, SMALL.vocabulary)
    cache, slot = MODEL.cache(1), np.array([0])
    read_on(MODEL, cache, slot, tokens[:, :30])
    wrong = (tokens[:, 30:35] + [0, 0, 3, 5, 7]) % SMALL.vocabulary
    MODEL.forward(wrong, np.array([5]), cache, slot)
    keep_prefix(cache, slot, [2])
    after = MODEL.forward(tokens[:, 32:], np.array([8]), cache, slot)
    assert (after.logits == read_all(MODEL, tokens).logits[:, 32:]).all()


def test_a_preempted_sequence_is_recomputed_to_the_same_bits_in_other_pages():
    tokens = prompts(np.random.default_rng(13), 2, 40, SMALL.vocabulary)
    cache, first, second = MODEL.cache(2, tokens=64), np.array([0]), np.array([1])
    before = read_on(MODEL, cache, first, tokens[:1, :30]).logits
    read_on(MODEL, cache, second, tokens[1:, :16])
    assert not cache.reserve(second, np.array([24])).any(), "one page is left"
    cache.release(first)
    after = read_on(MODEL, cache, second, tokens[1:, 16:]).logits
    assert (after == read_all(MODEL, tokens).logits[1:, 16:]).all()
    cache.release(second)
    read_on(MODEL, cache, second, tokens[1:, :16])
    assert (read_on(MODEL, cache, first, tokens[:1, :30]).logits == before).all()


def test_a_tree_reads_each_path_as_if_it_were_alone():
    """Node parents: 0 → 1, 2; 1 → 3, 4; 2 → 5. The path 0, 2, 5 is then committed and read on."""
    rng = np.random.default_rng(5)
    parent = [-1, 0, 0, 1, 1, 2]
    paths = [[0], [0, 1], [0, 2], [0, 1, 3], [0, 1, 4], [0, 2, 5]]
    visible = np.array([[node in path for node in range(6)] for path in paths])
    depth = np.array([len(path) - 1 for path in paths])
    assert all(path[-2:-1] == ([parent[node]] if node else []) for node, path in enumerate(paths))
    before, nodes = prompts(rng, 2, 18, SMALL.vocabulary), rng.integers(0, SMALL.vocabulary, (2, 6))
    cache, slots = MODEL.cache(2), np.array([1, 0])
    read_on(MODEL, cache, slots, before)
    tree = MODEL.forward(nodes, np.full(2, 6), cache, slots, visible=visible, depth=depth)
    for node, path in enumerate(paths):
        alone = read_all(MODEL, np.column_stack([before, nodes[:, path]]))
        assert np.allclose(tree.logits[:, node], alone.logits[:, -1], rtol=0, atol=1e-12)
        assert np.allclose(tree.features[:, node], alone.features[:, -1], rtol=0, atol=1e-12)
    cache.commit(slots, np.array([[0, 2, 5], [0, 1, -1]]))
    assert cache.lengths.tolist() == [20, 21]
    more = rng.integers(0, SMALL.vocabulary, (2, 3))
    after = MODEL.forward(more, np.full(2, 3), cache, slots)
    for row, path in enumerate([[0, 2, 5], [0, 1]]):
        alone = read_all(MODEL, np.concatenate([before[row], nodes[row, path], more[row]])[None])
        assert np.allclose(after.logits[row], alone.logits[0, -3:], rtol=0, atol=1e-12)


def test_the_library_default_masks_the_corner_not_the_positions():
    """`scaled_dot_product_attention(is_causal=True)` documents its mask as `torch.ones(L, S).tril(diagonal=0)`."""

    def is_causal(queries, keys):
        return np.tril(np.ones((queries, keys), dtype=np.bool_), k=0)

    whole = visible_entries(np.array([0]), 6, 6)[0]
    assert (is_causal(6, 6) == whole).all()
    # Four queries behind two cached keys: the corner hides the cache and the tokens that should be seen.
    right = visible_entries(np.array([2]), 4, 6)[0]
    assert (right == whole[2:]).all()
    assert is_causal(4, 6).sum(axis=1).tolist() == [1, 2, 3, 4]
    assert right.sum(axis=1).tolist() == [3, 4, 5, 6]

    class Corner(Transformer):
        def mask(self, committed, width, size, visible):
            return np.broadcast_to(is_causal(width, size), (len(committed), width, size))

    tokens = prompts(np.random.default_rng(6), 1, 24, SMALL.vocabulary)
    wrong = Corner(SMALL, MODEL.weights)
    assert (read_all(wrong, tokens).logits == read_all(MODEL, tokens).logits).all()
    cache, slot = wrong.cache(1), np.array([0])
    read_on(wrong, cache, slot, tokens[:, :20])
    p, q = (
        softmax(m)
        for m in (
            wrong.forward(tokens[:, 20:], np.array([4]), cache, slot).logits,
            read_all(MODEL, tokens).logits[:, 20:],
        )
    )
    assert np.abs(p - q).sum(axis=-1).min() / 2 > 0.05


@pytest.mark.parametrize("tied", [False, True])
def test_the_law_is_peaked_but_not_degenerate_and_depends_on_more_than_the_last_token(tied):
    model = Transformer.from_seed(Shape(tied=tied), seed=0)
    tokens = prompts(np.random.default_rng(7), 64, 16, 32)
    p = softmax(read_all(model, tokens).logits)
    entropy = -(p * np.log(p)).sum(axis=-1)
    assert 1 < entropy[:, 1:].mean() < 2.5
    tokens[:, -1] = 5
    last = softmax(read_all(model, tokens).logits[:, -1])
    assert np.abs(last - last.mean(axis=0)).sum(axis=1).mean() / 2 > 0.15


def test_sharpness_is_a_dial_of_entropy():
    tokens = prompts(np.random.default_rng(8), 16, 16, 32)
    laws = [softmax(read_all(Transformer.from_seed(Shape(sharpness=s), 0), tokens).logits) for s in (0, 1, 2, 4)]
    entropy = [-(p * np.log(p)).sum(axis=-1).mean() for p in laws]
    assert np.isclose(entropy[0], np.log(32))
    assert (np.diff(entropy) < -0.3).all()


def acceptance(target, drafter, tokens):
    """Mean Σmin(p, q) over the places of the tokens."""
    return np.minimum(*(softmax(read_all(m, tokens).logits) for m in (target, drafter))).sum(axis=-1).mean()


def test_acceptance_rises_with_the_layers_that_a_drafter_keeps():
    target = Transformer.from_seed(Shape(), seed=0)
    tokens = prompts(np.random.default_rng(9), 64, 16, 32)
    rates = [acceptance(target, target.truncated(layers), tokens) for layers in (1, 2, 3, 4)]
    assert (np.diff(rates) > 0.05).all()
    assert rates[0] > 0.35
    assert np.isclose(rates[-1], 1)


def test_acceptance_falls_with_the_noise_on_a_drafters_weights():
    target = Transformer.from_seed(Shape(), seed=0)
    tokens = prompts(np.random.default_rng(10), 64, 16, 32)
    rates = [acceptance(target, target.perturbed(scale, seed=1), tokens) for scale in (0, 0.02, 0.05, 0.1, 0.2, 0.5)]
    assert (np.diff(rates) < -0.03).all()
    assert np.isclose(rates[0], 1)
    assert rates[-1] < 0.45
    assert acceptance(target, target.perturbed(0.1, seed=2), tokens) != rates[3]


def test_features_end_with_what_the_head_reads():
    tokens = prompts(np.random.default_rng(11), 2, 7, SMALL.vocabulary)
    out = read_all(MODEL, tokens)
    assert out.features.shape == (2, 7, 3 * SMALL.width)
    assert (MODEL.head(out.features[..., -SMALL.width :]) == out.logits).all()
    first = read_all(MODEL.truncated(1), tokens).features
    assert first.shape == (2, 7, 2 * SMALL.width), "one layer is not joined twice"
    assert (rms_norm(out.features[..., : SMALL.width], np.ones(16)) == first[..., -SMALL.width :]).all()


def test_padding_is_never_read():
    rng = np.random.default_rng(12)
    tokens, count = prompts(rng, 3, 9, SMALL.vocabulary), np.array([2, 9, 5])
    outs = []
    for filler in (BOS, 3):
        padded = np.where(np.arange(9) < count[:, None], tokens, filler)
        cache, slots = MODEL.cache(3), np.arange(3)
        read_on(MODEL, cache, slots, padded, count)
        outs.append(MODEL.forward(tokens[:, -1:], np.ones(3, dtype=int), cache, slots).logits)
    assert (outs[0] == outs[1]).all()


def test_bad_input_is_refused():
    cache, one, slot = MODEL.cache(1, tokens=16), np.array([1]), np.array([0])
    with pytest.raises(ValueError, match=r"row 0: tokens \[16\] are not all among 16 tokens"):
        MODEL.forward(np.array([[16]]), one, cache, slot)
    with pytest.raises(ValueError, match=r"row 0: tokens \[-2\] are not all"):
        MODEL.forward(np.array([[-2]]), one, cache, slot)
    with pytest.raises(ValueError, match="row 0: count must be 1 to 1, got 2"):
        MODEL.forward(np.array([[BOS]]), np.array([2]), cache, slot)
    with pytest.raises(ValueError, match=r"tokens must be \[b, T\]"):
        MODEL.forward(np.array([BOS]), one, cache, slot)
    with pytest.raises(ValueError, match="no room for 17 more tokens in slot 0"):
        MODEL.forward(np.full((1, 17), BOS), np.array([17]), cache, slot)
    with pytest.raises(TypeError, match="a cache made by its cache"):
        MODEL.forward(np.array([[BOS]]), one, RecurrentModel.from_seed(16, 8, seed=0).cache(1), slot)
    with pytest.raises(ValueError, match="a model of 3 layers cannot be cut to 4"):
        MODEL.truncated(4)


def written_out(model, tokens):
    """Logits `[T, V]` of one sequence, by loops over heads and pairs of places."""
    shape, weights = model.shape, model.weights
    width, half = shape.head_width, shape.head_width // 2

    def norm(x, scale):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6) * scale

    def turned(vector, place):
        pairs = vector[:half] + 1j * vector[half:]
        pairs = pairs * np.exp(1j * place * shape.rope_base ** (-np.arange(half) / half))
        return np.concatenate([pairs.real, pairs.imag])

    x = weights.embedding[tokens]
    for layer in weights.layers:
        heads = (norm(x, layer.attention_norm) @ layer.qkv).reshape(len(tokens), -1, width)
        mixed = np.zeros((len(tokens), shape.heads, width))
        for h in range(shape.heads):
            group = h // (shape.heads // shape.kv_heads)
            for t in range(len(tokens)):
                query = turned(heads[t, h], t)
                keys = [turned(heads[s, shape.heads + group], s) for s in range(t + 1)]
                weight = np.exp([query @ key / np.sqrt(width) for key in keys])
                values = heads[: t + 1, shape.heads + shape.kv_heads + group]
                mixed[t, h] = weight / weight.sum() @ values
        x = x + mixed.reshape(len(tokens), -1) @ layer.output
        gate, up = np.split(norm(x, layer.mlp_norm) @ layer.gate_up, 2, axis=-1)
        x = x + (gate / (1 + np.exp(-gate)) * up) @ layer.down
    return norm(x, weights.final_norm) @ weights.head
