"""Faults of parameters, stops and batches bend what is said, in the very requests that they are about."""

from dataclasses import replace

import numpy as np
import pytest

from specaudit.decoding.automata import Grammar
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.parameters import TO_THE_END, UNFILTERED, SamplingParameters, StopRules
from specaudit.decoding.worlds import MARKOV4
from specaudit.mutants import registry
from tests.decoding.plain import misfit, word_law

REQUESTS = 20_000
PROMPT = (0, 1)
WORLD = replace(MARKOV4, eos=3)
# Tokens 0 and 1 by turns, or 2 for good.
GRAMMAR = Grammar(np.array([[1, -1, 2, -1], [-1, 0, 2, -1], [-1, -1, 2, -1]]))


def words(decoder, **options):
    prompts = np.tile(PROMPT, (REQUESTS, 1))
    return decoder.generate(prompts, np.arange(REQUESTS), max_tokens=6, **options).tokens[:, :4]


CASES = [
    ("target-unwarped", SamplingParameters(temperature=0.6, top_p=0.9), TO_THE_END),
    ("filter-order-swapped", SamplingParameters(top_k=3, top_p=0.8), TO_THE_END),
    ("logit-bias-dropped", SamplingParameters(logit_bias=((2, 1.5),)), TO_THE_END),
    ("penalties-dropped", SamplingParameters(presence_penalty=1.0), TO_THE_END),
    ("penalties-dropped", SamplingParameters(repetition_penalty=1.5), TO_THE_END),
    ("sampled-request-greedy", UNFILTERED, TO_THE_END),
    ("bad-words-off-by-one", SamplingParameters(bad_words=((1, 2),)), TO_THE_END),
    ("grammar-bonus-unmasked", SamplingParameters(grammar=GRAMMAR), StopRules(ignore_eos=True)),
    ("min-tokens-ignored", UNFILTERED, StopRules(min_tokens=3)),
    ("eos-only-last-checked", UNFILTERED, TO_THE_END),
    ("stop-inside-block-kept", UNFILTERED, TO_THE_END),
]


@pytest.mark.parametrize(("name", "parameters", "stop"), CASES)
def test_the_law_moves(name, parameters, stop):
    law = word_law(WORLD, PROMPT, 4, parameters, stop)
    options = {"parameters": parameters, "stop": stop}
    faulty = registry.get(name).build(WORLD, draft_tokens=2)
    statistic, _, impossible = misfit(words(faulty, **options), law)
    assert statistic > 2 or impossible > 0.05
    # A perfect decoder exceeds 1.35 with a probability below 1e-3 at the 100 degrees of freedom and more of these laws.
    assert misfit(words(SpeculativeDecoder(WORLD, draft_tokens=2), **options), law)[0] < 1.35


@pytest.mark.parametrize(("name", "parameters", "stop"), CASES)
def test_without_drafts_the_fault_has_no_place(name, parameters, stop):
    options = {"parameters": parameters, "stop": stop}
    faulty = words(registry.get(name).build(WORLD, draft_tokens=0), **options)
    np.testing.assert_array_equal(faulty, words(SpeculativeDecoder(WORLD, draft_tokens=0), **options))


@pytest.mark.parametrize("name", ["target-unwarped", "logit-bias-dropped", "penalties-dropped", "filter-order-swapped"])
def test_requests_that_ask_for_nothing_are_spared(name):
    faulty = registry.get(name).build(WORLD, draft_tokens=2)
    np.testing.assert_array_equal(words(faulty), words(SpeculativeDecoder(WORLD, draft_tokens=2)))


def test_greedy_rows_are_wrong_beside_sampled_ones_only():
    greedy = SamplingParameters(temperature=0)
    prompts, seeds = np.tile(PROMPT, (40, 1)), np.arange(40)
    right = SpeculativeDecoder(MARKOV4).generate(prompts, seeds, max_tokens=9, parameters=greedy).tokens
    faulty = registry.get("greedy-sentinel-mismatch").build(MARKOV4)
    np.testing.assert_array_equal(faulty.generate(prompts, seeds, max_tokens=9, parameters=greedy).tokens, right)
    mixed = faulty.generate(prompts, seeds, max_tokens=9, parameters=[greedy, UNFILTERED] * 20).tokens[::2]
    assert (mixed != right[::2]).any(axis=1).mean() > 0.9


def test_rows_are_judged_under_the_parameters_of_others():
    faulty, honest = registry.get("uninitialised-parameters").build(MARKOV4), SpeculativeDecoder(MARKOV4)
    prompts, seeds = np.tile(PROMPT, (REQUESTS, 1)), np.arange(REQUESTS)
    sharp = SamplingParameters(temperature=0.4)
    mixed = {"parameters": [sharp, UNFILTERED] * (REQUESTS // 2), "max_tokens": 6}
    law = word_law(MARKOV4, PROMPT, 3)
    assert misfit(faulty.generate(prompts, seeds, **mixed).tokens[1::2, :3], law)[0] > 20
    assert misfit(honest.generate(prompts, seeds, **mixed).tokens[1::2, :3], law)[0] < 1.64
    # A request alone is judged under what the memory holds.
    assert misfit(faulty.generate(prompts, seeds, max_tokens=6).tokens[:, :3], law)[0] < 1.64
    alone = [faulty.generate(prompts[:1], seeds[[i]], max_tokens=9).tokens for i in range(40)]
    right = [honest.generate(prompts[:1], seeds[[i]], max_tokens=9).tokens for i in range(40)]
    assert np.mean([(a != b).any() for a, b in zip(alone, right, strict=True)]) > 0.8


@pytest.mark.parametrize("name", ["q-row-misaligned", "batch-row-permuted"])
def test_ragged_rows_are_wrong_and_only_they(name):
    faulty, honest = registry.get(name).build(MARKOV4, draft_tokens=3), SpeculativeDecoder(MARKOV4, draft_tokens=3)
    prompts, seeds = np.tile(PROMPT, (REQUESTS, 1)), np.arange(REQUESTS)
    # With caps of all lengths, some rows come to have room for one draft or two while others still draft three.
    law = word_law(MARKOV4, PROMPT, 3)
    caps = np.where(np.arange(REQUESTS) % 2, 3, 12)
    short = faulty.generate(prompts, seeds, max_tokens=caps).tokens[1::2, :3]
    assert misfit(short, law)[0] > 2
    assert misfit(honest.generate(prompts, seeds, max_tokens=caps).tokens[1::2, :3], law)[0] < 1.6
    alone = faulty.generate(prompts[:1], seeds[:1], max_tokens=12)
    np.testing.assert_array_equal(alone.tokens, honest.generate(prompts[:1], seeds[:1], max_tokens=12).tokens)


ON_VERIFICATION = [case for case in CASES if case[0] not in ("eos-only-last-checked", "stop-inside-block-kept")]


@pytest.mark.parametrize(
    ("name", "parameters", "stop"), [*ON_VERIFICATION, ("uninitialised-parameters", UNFILTERED, TO_THE_END)]
)
def test_a_row_without_drafts_is_right_beside_rows_with_drafts(name, parameters, stop):
    """Two tokens leave no room for a draft: the first comes from prefill, the second is the verifier's own."""
    caps = np.where(np.arange(400) % 2, 2, 8)
    options = {"parameters": parameters, "stop": stop, "max_tokens": caps}
    prompts, seeds = np.tile(PROMPT, (400, 1)), np.arange(400)
    faulty, honest = registry.get(name).build(WORLD, draft_tokens=2), SpeculativeDecoder(WORLD, draft_tokens=2)
    tokens, right = (decoder.generate(prompts, seeds, **options).tokens for decoder in (faulty, honest))
    np.testing.assert_array_equal(tokens[1::2], right[1::2])
    assert (tokens[::2] != right[::2]).any()
