"""What each mutant does to tokens and counters, against the decoder without its fault."""

from itertools import product

import numpy as np
import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.processors import UNFILTERED, SamplingParameters
from specaudit.decoding.worlds import MARKOV4, SmallModel, World
from specaudit.mutants import registry

REQUESTS = 50_000
LAWS = MARKOV4.target.probabilities(np.arange(-1, 4), UNFILTERED)
WORD_LAW = np.array([LAWS[0, a] * LAWS[1 + a, b] * LAWS[1 + b, c] for a, b, c in product(range(4), repeat=3)])


def generate(decoder, **options):
    options = {"max_tokens": 6} | options
    return decoder.generate(np.empty((REQUESTS, 0), dtype=int), np.arange(REQUESTS), **options)


def misfit(generation):
    """Chi-square (63 degrees of freedom) and TV of the first three tokens against the target."""
    counts = np.bincount(generation.tokens[:, :3] @ [16, 4, 1], minlength=64)
    expected = REQUESTS * WORD_LAW
    return ((counts - expected) ** 2 / expected).sum(), abs(counts - expected).sum() / REQUESTS / 2


@pytest.mark.parametrize(
    ("name", "distance"), [("resid-from-target", 0.174), ("draft0-unverified", 0.188), ("reuse-uniform", 0.089)]
)
def test_the_law_moves(name, distance):
    statistic, tv = misfit(generate(registry.get(name).build(MARKOV4, draft_tokens=3, first_token="drafted")))
    assert statistic > 5_000
    assert tv == pytest.approx(distance, abs=0.01)


@pytest.mark.parametrize("name", ["resid-from-target", "draft0-unverified", "reuse-uniform"])
def test_the_first_token_from_prefill_stays_right(name):
    faulty = generate(registry.get(name).build(MARKOV4))
    honest = generate(SpeculativeDecoder(MARKOV4))
    np.testing.assert_array_equal(faulty.tokens[:, 0], honest.tokens[:, 0])
    assert (faulty.tokens[:, 1:] != honest.tokens[:, 1:]).any()


@pytest.mark.parametrize("name", ["resid-from-target", "reuse-uniform", "bonus-in-numerator"])
def test_greedy_tokens_stay_right(name):
    greedy = SamplingParameters(temperature=0)
    faulty = generate(registry.get(name).build(MARKOV4), parameters=greedy)
    np.testing.assert_array_equal(faulty.tokens, generate(SpeculativeDecoder(MARKOV4), parameters=greedy).tokens)


def test_an_unverified_draft_shows_at_temperature_0():
    greedy = SamplingParameters(temperature=0)
    faulty = generate(registry.get("draft0-unverified").build(MARKOV4), parameters=greedy)
    assert (faulty.tokens != generate(SpeculativeDecoder(MARKOV4), parameters=greedy).tokens).any()


def test_one_draft_per_step_has_no_uniform_to_reuse():
    faulty = generate(registry.get("reuse-uniform").build(MARKOV4, draft_tokens=1))
    np.testing.assert_array_equal(faulty.tokens, generate(SpeculativeDecoder(MARKOV4, draft_tokens=1)).tokens)


def test_a_counted_bonus_token_breaks_the_identities_and_nothing_else():
    honest = SpeculativeDecoder(MARKOV4, draft_tokens=3)
    faulty = registry.get("bonus-in-numerator").build(MARKOV4, draft_tokens=3)
    generation = generate(faulty)
    np.testing.assert_array_equal(generation.tokens, generate(honest).tokens)
    full = generation.drafted_per_step > 0
    full &= generation.emitted_per_step == generation.drafted_per_step + 1
    assert faulty.counters.accepted == honest.counters.accepted + np.count_nonzero(full)
    assert sum(faulty.counters.accepted_per_position) == honest.counters.accepted < faulty.counters.accepted


def test_a_counted_bonus_token_lifts_the_rate_above_1():
    model = MarkovModel([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]])
    world = World(name="agreement", target=model, drafter=SmallModel(model=model))
    decoder = registry.get("bonus-in-numerator").build(world, draft_tokens=3, first_token="drafted")
    generate(decoder, max_tokens=8)
    assert decoder.counters.accepted / decoder.counters.draft_tokens == pytest.approx(4 / 3)
