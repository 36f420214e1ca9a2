import numpy as np
import pytest

from specaudit.decoding.drafters.fitting import fit
from specaudit.decoding.drafters.parallel_heads import ParallelHeadsDrafter

from .fakes import law, sequences


@pytest.fixture(scope="module")
def heads(lab):
    drafter = ParallelHeadsDrafter(lab.target)
    fit(drafter, lab.corpus, seed=6)
    return drafter


def test_they_beat_the_baseline_and_unfitted_heads_do_not(lab, heads):
    fitted, unfitted = lab.acceptance(heads), lab.acceptance(ParallelHeadsDrafter(lab.target))
    # Blind to what was drawn, they know less the farther they look.
    assert fitted.per_position[0] > lab.unigram.per_position[0] + 0.1
    assert fitted.accepted > 1.5 * lab.unigram.accepted
    assert unfitted.per_position[0] < lab.unigram.per_position[0]


def test_unfitted_heads_repeat_the_target(lab):
    drafter = ParallelHeadsDrafter(lab.target, heads=2)
    drafts = drafter.draft(lab.held_out, np.full(256, 2), np.zeros((256, 2)), law)
    expected = law(lab.target.head(lab.held_out.features[:, -32:]), None)
    np.testing.assert_array_equal(drafts.q, np.stack([expected, expected], axis=1))


def test_heads_are_blind_to_tokens(lab, heads):
    features = np.repeat(lab.held_out.features[:1], 3, axis=0)
    uniforms = np.random.default_rng(0).random((3, 4))
    drafts = heads.draft(sequences([[1], [2, 5], []], features=features), np.full(3, 4), uniforms, law)
    assert len({tuple(row) for row in drafts.tokens.tolist()}) == 3
    np.testing.assert_array_equal(drafts.q, drafts.q[[0, 0, 0]])
    assert (drafts.q[0, 0] != drafts.q[0, 1]).any()


def test_there_are_as_many_drafts_as_heads(lab):
    drafter = ParallelHeadsDrafter(lab.target, heads=2)
    drafts = drafter.draft(
        sequences([[1], [1]], features=lab.held_out.features[:2]), np.array([3, 1]), np.zeros((2, 3)), law
    )
    assert drafts.count.tolist() == [2, 1]


def test_the_loss_looks_one_token_farther_with_each_head_and_counts_it_less(lab, heads):
    windows = lab.corpus.sample(np.random.default_rng(0), 20, heads.window)
    hidden = windows.features[:, 0, -32:]
    expected = 0.0
    for i, (block, lm_head) in enumerate(zip(heads.blocks, heads.lm_heads, strict=True)):
        inner = hidden @ block.value
        q = law((hidden + inner / (1 + np.exp(-inner))) @ lm_head.value, None)
        expected += 0.8**i * -np.log(q[range(20), windows.tokens[:, i + 2]]).mean()
    assert heads.loss(windows).value == pytest.approx(expected)
