import numpy as np

from specaudit.decoding.models.attention import attend, visible_entries


def test_new_tokens_see_the_cache_and_themselves_up_to_their_own_place():
    seen = visible_entries(np.array([0, 3]), 2, 6)
    assert seen.sum(axis=2).tolist() == [[1, 2], [4, 5]]
    assert seen[1].tolist() == [[True] * 4 + [False] * 2, [True] * 5 + [False]]


def test_a_tree_restricts_the_new_entries_alone():
    siblings = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1]], dtype=np.bool_)
    seen = visible_entries(np.array([2, 0]), 3, 6, siblings)
    assert seen[0].astype(int).tolist() == [[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0]]
    assert (seen[1, :, :3] == siblings).all()
    assert not seen[1, :, 3:].any()


def test_a_chain_is_the_tree_whose_nodes_see_all_before_them():
    committed = np.array([0, 4, 9])
    chain = np.tril(np.ones((3, 3), dtype=np.bool_))
    assert (visible_entries(committed, 3, 16, chain) == visible_entries(committed, 3, 16)).all()


def test_hidden_entries_change_no_bit_whatever_they_hold():
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(2, 3, 4, 8))
    keys, values = rng.normal(size=(2, 2, 5, 2, 16, 8))
    mask = visible_entries(np.array([5, 20]), 3, 80)
    out = attend(queries, keys, values, mask)
    cut = attend(queries, keys[:, :2], values[:, :2], mask[..., :32])
    assert (out == cut).all()
    values[:, 2:], keys[:, 2:] = 1e9, -1e9
    assert (attend(queries, keys, values, mask) == out).all()
    assert (attend(queries[1:, 2:], keys[1:], values[1:], mask[1:, 2:]) == out[1:, 2:]).all()


def test_queries_of_a_group_share_a_head():
    rng = np.random.default_rng(1)
    queries = rng.normal(size=(1, 2, 4, 8))
    keys, values = rng.normal(size=(2, 1, 1, 2, 16, 8))
    mask = visible_entries(np.array([6]), 2, 16)
    out = attend(queries, keys, values, mask)
    spread = attend(queries, *(np.repeat(entries, 2, axis=2) for entries in (keys, values)), mask)
    assert np.allclose(out, spread, rtol=0, atol=1e-12)
    seen = 7 + np.arange(2)
    for t, h in np.ndindex(2, 4):
        weight = np.exp(keys[0, 0, h // 2, : seen[t]] @ queries[0, t, h] / np.sqrt(8))
        assert np.allclose(out[0, t, h], weight / weight.sum() @ values[0, 0, h // 2, : seen[t]])
