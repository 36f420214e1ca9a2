import numpy as np
import pytest

from specaudit.decoding.drafters.fitting import fit, fit_unigram, observe
from specaudit.decoding.drafters.gradients import Node, cross_entropy
from specaudit.decoding.models.interface import BOS
from specaudit.decoding.processors import softmax

from .fakes import HistoryModel


class Bias:
    """The smallest head: one row of logits."""

    window = 2

    def __init__(self, size):
        self.bias = Node(np.zeros((1, size)))

    @property
    def parameters(self):
        return [self.bias]

    def loss(self, windows):
        return cross_entropy(self.bias, windows.laws[:, 1].mean(axis=0, keepdims=True))


def test_a_corpus_is_what_the_target_says(lab):
    corpus = lab.corpus
    assert (corpus.tokens[:, 0] == BOS).all()
    count = np.full(4, 48)
    forward = lab.target.forward(corpus.tokens[:4], count, lab.target.cache(4), np.arange(4))
    np.testing.assert_array_equal(corpus.features[:4], forward.features)
    np.testing.assert_array_equal(corpus.laws[:4], softmax(forward.logits))
    # 12,032 tokens; the expected number of each has a standard deviation below √(n p).
    expected = corpus.laws[:, :-1].sum(axis=(0, 1))
    counts = np.bincount(corpus.tokens[:, 1:].ravel(), minlength=32)
    assert (abs(counts - expected) < 5 * np.sqrt(expected) + 1).all()


def test_contexts_end_where_the_target_has_just_drawn(lab):
    contexts = lab.corpus.contexts(20)
    np.testing.assert_array_equal(contexts.tokens, lab.corpus.tokens[:, 1:21])
    np.testing.assert_array_equal(contexts.features, lab.corpus.features[:, 19])


def test_windows_are_cut_out_of_the_sequences(lab):
    corpus = lab.corpus
    windows = corpus.sample(np.random.default_rng(0), 500, 3)
    whole = {tuple(row[i : i + 3]) for row in corpus.tokens.tolist() for i in range(46)}
    assert {tuple(row) for row in windows.tokens.tolist()} <= whole
    assert (windows.tokens[:, 0] == BOS).any()
    np.testing.assert_allclose(softmax(lab.target.head(windows.features[..., -32:])), windows.laws, atol=1e-12)


def test_a_target_without_features_is_refused():
    with pytest.raises(ValueError, match="HistoryModel has no features to fit a head to"):
        observe(HistoryModel(3), sequences=1, length=2, seed=0)


def test_the_unigram_drafter_has_the_mean_law(lab):
    np.testing.assert_allclose(np.exp(fit_unigram(lab.corpus)._logits), lab.corpus.laws.mean(axis=(0, 1)))


def test_a_fit_finds_what_can_be_known_exactly(lab):
    head = Bias(32)
    losses = fit(head, lab.corpus, seed=0, batch=512, rate=0.05)
    wanted = lab.corpus.laws[:, 1:].mean(axis=(0, 1))
    np.testing.assert_allclose(softmax(head.bias.value[0]), wanted, atol=0.01)
    assert losses[0] == pytest.approx(np.log(32))


def test_the_first_step_has_the_full_size_whatever_the_gradient_and_the_steps_fall_to_0(lab):
    sizes = []
    for steps in (1, 2):
        head = Bias(32)
        fit(head, lab.corpus, seed=0, steps=steps, batch=4096, rate=1e-4)
        sizes.append(np.median(abs(head.bias.value)))
    np.testing.assert_allclose(sizes, [1e-4, 1.5e-4], rtol=0.01)


def test_one_seed_is_one_fit(lab):
    heads = [Bias(32) for _ in range(3)]
    for head, seed in zip(heads, [0, 0, 1], strict=True):
        fit(head, lab.corpus, seed=seed, steps=5)
    first, again, other = (head.bias.value for head in heads)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
