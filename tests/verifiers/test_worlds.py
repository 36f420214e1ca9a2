"""Drafts come from the laws that are declared, and words go on with the target's."""

import numpy as np
import pytest

from specaudit.verifiers.worlds import (
    NOTHING,
    VerifierWorld,
    completed,
    draw,
    draw_batch,
    half_used_world,
    one_hot_world,
    random_world,
)


def world(seed=0, **options):
    defaults = {"vocabulary_size": 4, "drafts": 3, "agreement": 0.5}
    return random_world(np.random.default_rng(seed), **{**defaults, **options})


@pytest.mark.parametrize("one", [world(), world(padding=2), half_used_world()])
def test_laws_are_laws_and_rule_tokens_out(one):
    assert one.p.shape == (one.drafts + 1, one.vocabulary_size, one.vocabulary_size)
    for laws in (one.p, one.q):
        assert laws.min() == 0
        np.testing.assert_allclose(laws.sum(axis=2), 1)
    assert ((one.p[:-1] == 0) & (one.q > 0)).any()
    assert ((one.p[:-1] > 0) & (one.q == 0)).any()


def test_padded_tokens_are_never_allowed():
    one = world(padding=2)
    assert not one.p[..., 2:].any()
    assert not one.q[..., 2:].any()


def test_the_more_a_drafter_agrees_the_nearer_it_is():
    far, near = (abs(one.q - one.p[:-1]).sum(axis=2).mean() / 2 for one in (world(agreement=0.1), world(agreement=0.9)))
    assert near < 0.3 < far


def test_at_temperature_0_one_token_is_certain():
    one = one_hot_world(np.random.default_rng(0), vocabulary_size=5, drafts=2)
    np.testing.assert_array_equal(np.sort(one.p, axis=2)[..., :-1], 0)
    assert one.q.min() > 0


def test_drafts_have_the_laws_that_stand_beside_them():
    worlds = world(0), world(1)
    rng = np.random.default_rng(2)
    chosen, lengths = rng.integers(2, size=60_000), rng.integers(4, size=60_000)
    batch = draw_batch(rng, worlds, chosen, lengths)
    for i in range(3):
        rows = np.flatnonzero(lengths > i)
        before = batch.draft[rows, i - 1] if i else np.full(len(rows), NOTHING)
        np.testing.assert_array_equal(batch.q[rows, i], np.stack([w.q for w in worlds])[chosen[rows], i, before])
        np.testing.assert_array_equal(batch.p[rows, i], np.stack([w.p for w in worlds])[chosen[rows], i, before])
        seen = np.bincount(batch.draft[rows, i], minlength=4) / len(rows)
        np.testing.assert_allclose(seen, batch.q[rows, i].mean(axis=0), atol=0.015)


def test_beyond_its_drafts_a_row_misleads():
    batch = draw_batch(np.random.default_rng(0), (world(),), np.zeros(50, dtype=int), np.arange(50) % 4)
    for row, length in enumerate(batch.num_draft):
        assert (batch.draft[row, length:] == 0).all()
        assert (batch.q[row, length:, 0] == 1).all()
        assert (batch.p[row, length + 1 :, 0] == 1).all()


def test_words_go_on_from_the_last_token_emitted():
    cycle = np.roll(np.eye(3), 1, axis=1)  # token i is followed by i + 1
    one = VerifierWorld(p=np.stack([cycle] * 3), q=np.full((2, 3, 3), 1 / 3))
    batch = draw_batch(np.random.default_rng(0), (one,), np.zeros(3, dtype=int), np.array([2, 2, 1]))
    out = np.array([[0, -1, -1], [2, 1, -1], [2, -1, -1]])
    words = completed(np.random.default_rng(1), batch, out, np.array([1, 2, 1]))
    assert words.tolist() == [[0, 1, 2], [2, 1, 2], [2, 0, -1]]


def test_what_has_no_probability_is_never_drawn():
    laws = np.tile([0.0, 0.3, 0.0, 0.7, 0.0], (20_000, 1))
    drawn = np.bincount(draw(np.random.default_rng(0), laws), minlength=5) / 20_000
    np.testing.assert_allclose(drawn, laws[0], atol=0.02)
    assert set(np.flatnonzero(drawn)) == {1, 3}
