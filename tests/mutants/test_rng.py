"""Faults of the random streams: what a seed decides, and what else does."""

import numpy as np
import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.mutants import registry
from tests.decoding.plain import misfit, word_law

PROMPT = (0, 1)


def generate(decoder, seeds, **options):
    seeds = np.array(seeds)
    return decoder.generate(np.tile(PROMPT, (len(seeds), 1)), seeds, **{"max_tokens": 12, **options}).tokens


def test_a_seed_that_is_ignored_repeats_nothing():
    faulty, honest = registry.get("seed-ignored").build(MARKOV4), SpeculativeDecoder(MARKOV4)
    seeds = [7] * 50
    for decoder, answers in ((honest, 1), (faulty, 45)):
        first, second = generate(decoder, seeds), generate(decoder, seeds)
        assert len({tuple(row) for row in first}) >= answers
        assert (first == second).all() == (decoder is honest)


def test_neighbours_decide_what_a_seed_means():
    faulty, honest = registry.get("seed-depends-on-batch").build(MARKOV4), SpeculativeDecoder(MARKOV4)
    batches = [[1, 2, 3, 4], [9, 2, 3, 4]]
    np.testing.assert_array_equal(*(generate(honest, seeds)[1:] for seeds in batches))
    alone, other = (generate(faulty, seeds)[1:] for seeds in batches)
    assert (alone != other).any(axis=1).all()
    np.testing.assert_array_equal(generate(faulty, [5]), generate(honest, [5]))


@pytest.mark.parametrize("name", ["seed-ignored", "seed-depends-on-batch"])
def test_the_law_is_right(name):
    words = generate(registry.get(name).build(MARKOV4), np.arange(20_000), max_tokens=6)[:, :3]
    # 63 degrees of freedom: the 0.1 % point is 103.4.
    assert misfit(words, word_law(MARKOV4, PROMPT, 3))[0] < 1.64


def test_shared_streams_bend_the_law():
    words = generate(registry.get("shared-stream").build(MARKOV4), np.arange(20_000), max_tokens=6)[:, :3]
    assert misfit(words, word_law(MARKOV4, PROMPT, 3))[0] > 10
