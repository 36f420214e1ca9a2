import numpy as np

from specaudit.decoding.drafters.unigram import UnigramDrafter

from .fakes import sequences


def test_each_law_is_told_its_drafts():
    told = []

    def law(logits, drafts):
        told.append(drafts.tolist())
        return np.tile([0.5, 0.0, 0.5], (len(logits), 1))

    uniforms = np.array([[0.1, 0.9, 0.1], [0.9, 0.1, 0.9]])
    drafts = UnigramDrafter([1, 1, 1]).draft(sequences([[0], [1]]), np.array([3, 3]), uniforms, law)
    assert drafts.tokens.tolist() == [[0, 2, 0], [2, 0, 2]]
    assert told == [[[], []], [[0], [2]], [[0, 2], [2, 0]]]


def test_a_greedy_draft_declares_that_nothing_was_drawn():
    drafts = UnigramDrafter([1, 1, 1], greedy=True).draft(
        sequences([[0]]),
        np.array([2]),
        np.array([[0.99, 0.99]]),
        lambda logits, drafts: np.array([[0.25, 0.4, 0.35]]),
    )
    assert drafts.tokens.tolist() == [[1, 1]]
    assert drafts.q.tolist() == [[[0, 1, 0], [0, 1, 0]]]


def test_nothing_asked_is_nothing_drafted():
    drafts = UnigramDrafter([1, 1]).draft(sequences([[], [0]]), np.array([0, 0]), np.zeros((2, 3)), None)
    assert drafts.count.tolist() == [0, 0]
    assert drafts.q.shape == (2, 3, 2)
