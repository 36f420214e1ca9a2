import numpy as np
import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.parameters import UNFILTERED, SamplingParameters
from specaudit.decoding.worlds import MARKOV4, MARKOV4_LOOKUP, WORLDS
from specaudit.mutants import registry
from specaudit.mutants.report import accepted, verified


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
    right, reported = (one.logprobs(prompts, generation, UNFILTERED) for one in (honest, faulty))
    context = np.hstack([prompts, generation.tokens[:, :-1]])
    np.testing.assert_allclose(right, MARKOV4.target.logits(context), atol=1e-12)
    wanted = np.where(accepted(generation)[..., None], MARKOV4.drafter.model.logits(context), right)
    np.testing.assert_allclose(reported, wanted, atol=1e-12)
    assert accepted(generation).any()


def test_a_lookup_has_no_logprobs_to_report():
    faulty = registry.get("logprob-of-draft").build(MARKOV4_LOOKUP)
    generation = faulty.generate(np.zeros((3, 4), int), np.arange(3), max_tokens=8)
    right = SpeculativeDecoder(MARKOV4_LOOKUP).logprobs(np.zeros((3, 4), int), generation, UNFILTERED)
    np.testing.assert_array_equal(faulty.logprobs(np.zeros((3, 4), int), generation, UNFILTERED), right)


@pytest.mark.parametrize("name", ["transformer8", "recurrent8"])
def test_logprobs_of_a_model_with_a_memory_are_its_own(name):
    decoder = SpeculativeDecoder(WORLDS[name])
    prompts = np.array([[0, 1, 2], [5, 5, 5]])
    generation = decoder.generate(prompts, np.arange(2), max_tokens=6)
    logprobs = decoder.logprobs(prompts, generation, UNFILTERED)
    assert logprobs.shape == (2, 6, 8)
    np.testing.assert_allclose(np.exp(logprobs).sum(axis=-1), 1)
    first = decoder.world.target.forward(
        np.array([[-1, 0, 1, 2]]), np.array([4]), decoder.world.target.cache(1), np.array([0])
    ).logits[0, -1]
    np.testing.assert_allclose(logprobs[0, 0], first - np.log(np.exp(first).sum()), atol=1e-9)


def reported(name, sampling, max_tokens=9):
    """Drafted and honest log-probabilities of one generation, and the tokens of its verification steps."""
    faulty = (registry.get_control if name == "processed-logprobs" else registry.get)(name).build(MARKOV4)
    prompts = np.zeros((40, 1), int)
    generation = faulty.generate(prompts, np.arange(40), max_tokens=max_tokens, parameters=sampling)
    table = faulty.logprobs(prompts, generation, sampling)
    return table, faulty.scores(prompts, generation.tokens), verified(generation), faulty.listed(generation, 4)


def test_tokens_of_verification_steps_are_all_but_the_undrafted():
    generation = SpeculativeDecoder(MARKOV4).generate(np.zeros((40, 1), int), np.arange(40), max_tokens=9)
    for row, drafted, emitted in zip(
        verified(generation), generation.drafted_per_step, generation.emitted_per_step.clip(min=0), strict=True
    ):
        steps = [d > 0 for d, e in zip(drafted, emitted, strict=True) for _ in range(e)]
        assert row.tolist() == steps
        assert not row[0]


def test_zero_logprobs_are_certain_and_list_nothing_on_verification_steps():
    table, right, mine, listed = reported("zero-logprobs", UNFILTERED)
    assert (table[mine] == 0).all()
    np.testing.assert_array_equal(table[~mine], right[~mine])
    assert (listed == np.where(mine, 0, 4)).all()


def test_a_shifted_row_is_the_one_before():
    table, right, mine, _ = reported("logprob-row-shifted", UNFILTERED)
    rows, places = np.nonzero(mine)
    np.testing.assert_array_equal(table[rows, places], right[rows, places - 1])
    np.testing.assert_array_equal(table[~mine], right[~mine])


@pytest.mark.parametrize(
    "sampling",
    [SamplingParameters(temperature=0.7, top_k=3), SamplingParameters(temperature=1.4, presence_penalty=1.0)],
    ids=["filters", "penalty"],
)
def test_processed_logprobs_are_those_that_tokens_are_drawn_from(sampling):
    table, right, mine, _ = reported("processed-logprobs", sampling)
    np.testing.assert_allclose(np.exp(table).sum(axis=-1), 1)
    mixed, _, _, _ = reported("logprobs-mode-mixed", sampling)
    np.testing.assert_array_equal(mixed[mine], table[mine])
    np.testing.assert_array_equal(mixed[~mine], right[~mine])
    if sampling.top_k:
        assert (np.isfinite(table).sum(axis=-1) == sampling.top_k).all()
        first = right[0, 0] / sampling.temperature
        kept = np.isfinite(table[0, 0])
        np.testing.assert_allclose(table[0, 0][kept], (first - np.log(np.exp(first[kept]).sum()))[kept])
