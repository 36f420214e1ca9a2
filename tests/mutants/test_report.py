import numpy as np
import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4, MARKOV4_LOOKUP, WORLDS
from specaudit.mutants import registry
from specaudit.mutants.report import accepted


def test_accepted_drafts_are_found_in_the_output():
    world = WORLDS["markov4"]
    generation = SpeculativeDecoder(world, draft_tokens=3).generate(np.zeros((60, 1), int), np.arange(60), max_tokens=9)
    found = accepted(generation)
    np.testing.assert_array_equal(found.sum(axis=1), generation.accepted)
    for row, emitted, kept in zip(found, generation.emitted_per_step, generation.accepted_per_step, strict=True):
        steps = zip(emitted.clip(min=0), kept, strict=True)
        assert row.tolist() == [i < k for e, k in steps for i in range(e)]


def test_logprobs_are_the_drafters_where_its_drafts_were_accepted():
    faulty, honest = registry.get("logprob-of-draft").build(MARKOV4), SpeculativeDecoder(MARKOV4)
    prompts = np.zeros((30, 1), int)
    generation = honest.generate(prompts, np.arange(30), max_tokens=8)
    np.testing.assert_array_equal(faulty.generate(prompts, np.arange(30), max_tokens=8).tokens, generation.tokens)
    right, reported = (one.logprobs(prompts, generation) for one in (honest, faulty))
    context = np.hstack([prompts, generation.tokens[:, :-1]])
    np.testing.assert_allclose(right, MARKOV4.target.logits(context), atol=1e-12)
    wanted = np.where(accepted(generation)[..., None], MARKOV4.drafter.model.logits(context), right)
    np.testing.assert_allclose(reported, wanted, atol=1e-12)
    assert accepted(generation).any()


def test_a_lookup_has_no_logprobs_to_report():
    faulty = registry.get("logprob-of-draft").build(MARKOV4_LOOKUP)
    generation = faulty.generate(np.zeros((3, 4), int), np.arange(3), max_tokens=8)
    right = SpeculativeDecoder(MARKOV4_LOOKUP).logprobs(np.zeros((3, 4), int), generation)
    np.testing.assert_array_equal(faulty.logprobs(np.zeros((3, 4), int), generation), right)


@pytest.mark.parametrize("name", ["transformer8", "recurrent8"])
def test_logprobs_of_a_model_with_a_memory_are_its_own(name):
    decoder = SpeculativeDecoder(WORLDS[name])
    prompts = np.array([[0, 1, 2], [5, 5, 5]])
    generation = decoder.generate(prompts, np.arange(2), max_tokens=6)
    logprobs = decoder.logprobs(prompts, generation)
    assert logprobs.shape == (2, 6, 8)
    np.testing.assert_allclose(np.exp(logprobs).sum(axis=-1), 1)
    first = decoder.world.target.forward(
        np.array([[-1, 0, 1, 2]]), np.array([4]), decoder.world.target.cache(1), np.array([0])
    ).logits[0, -1]
    np.testing.assert_allclose(logprobs[0, 0], first - np.log(np.exp(first).sum()), atol=1e-9)
