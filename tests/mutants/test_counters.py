"""Each fault of the counters breaks an identity that honest ones keep, and leaves the tokens alone."""

from dataclasses import replace

import numpy as np
import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.parameters import SamplingParameters
from specaudit.decoding.worlds import MARKOV4
from specaudit.mutants import registry
from tests.decoding.plain import misfit, word_law

WORLD = replace(MARKOV4, eos=3)
PROMPTS, SEEDS = np.tile([0, 1], (400, 1)), np.arange(400)


def run(name, world=WORLD):
    faulty = registry.get(name).build(world, draft_tokens=3)
    honest = SpeculativeDecoder(world, draft_tokens=3)
    generation, right = (one.generate(PROMPTS, SEEDS, max_tokens=12) for one in (faulty, honest))
    return faulty, generation, honest, right


def surplus(counters):
    """What is generated beyond the identity of the counters that a server exports."""
    return counters.generation_tokens - (counters.accepted + counters.drafts + counters.undrafted - counters.trimmed)


@pytest.mark.parametrize(
    "name",
    [
        "count-past-stop",
        "last-step-uncounted",
        "nonprefix-accept-count",
        "padded-drafts-counted",
        "perpos-dp-overwrite",
        "replay-counted",
        "rejected-tokens-billed",
    ],
)
def test_the_tokens_are_right(name):
    _, generation, _, right = run(name)
    np.testing.assert_array_equal(generation.tokens, right.tokens)


@pytest.mark.parametrize("name", ["count-past-stop", "nonprefix-accept-count", "replay-counted"])
def test_more_is_accepted_than_was_emitted(name):
    faulty, _, honest, _ = run(name)
    assert surplus(honest.counters) == 0
    assert surplus(faulty.counters) == honest.counters.accepted - faulty.counters.accepted < -30


def test_acceptance_past_a_stop_is_that_of_the_verifier():
    faulty, _, honest, _ = run("count-past-stop")
    assert faulty.counters.drafts == honest.counters.drafts
    assert sum(faulty.counters.accepted_per_position) == faulty.counters.accepted


def test_matches_behind_a_rejection_lift_later_positions():
    faulty, _, _, _ = run("nonprefix-accept-count", world=MARKOV4)
    counters = faulty.counters
    assert sum(counters.accepted_per_position) == counters.accepted
    # Each position is judged by itself: nearly equal rates, where those of a run fall.
    assert counters.accepted_per_position[2] > 0.7 * counters.accepted_per_position[0]


def test_padding_counts_as_drafts():
    faulty, _, honest, _ = run("padded-drafts-counted")
    steps = honest.counters.drafts + honest.counters.undrafted
    assert (faulty.counters.drafts, faulty.counters.draft_tokens) == (steps, 3 * steps)
    assert faulty.counters.accepted == honest.counters.accepted


def test_positions_of_one_rank_are_half():
    faulty, _, honest, _ = run("perpos-dp-overwrite")
    assert faulty.counters.accepted == honest.counters.accepted
    share = sum(faulty.counters.accepted_per_position) / faulty.counters.accepted
    assert 0.4 < share < 0.6


def test_nothing_is_drafted_in_silence():
    faulty, generation, _, _ = run("spec-silently-off")
    assert faulty.draft_tokens == 3
    assert (faulty.counters.drafts, faulty.counters.draft_tokens) == (0, 0)
    plain = SpeculativeDecoder(WORLD, draft_tokens=0)
    assert (generation.lengths > 0).all()
    assert plain.generate(PROMPTS, SEEDS, max_tokens=12).drafted.sum() == generation.drafted.sum() == 0


def test_rejected_drafts_are_billed():
    faulty, generation, honest, right = run("rejected-tokens-billed")
    np.testing.assert_array_equal(honest.billed(right), right.lengths)
    extra = faulty.billed(generation) - generation.lengths
    assert extra.sum() == honest.counters.draft_tokens - honest.counters.accepted


def test_answers_leave_their_last_step_out():
    faulty, generation, honest, right = run("last-step-uncounted")
    assert faulty.counters == honest.counters
    steps = generation.steps
    for told, full in zip(faulty.told(generation), honest.told(right), strict=True):
        for row, last in enumerate(steps - 1):
            assert told[row, last] == 0
            np.testing.assert_array_equal(np.delete(told[row], last), np.delete(full[row], last))


@pytest.mark.parametrize(("dose", "rate"), [("", 0.8), (":0.25", 0.25), (":1", 1.0), (":0", 0.0)])
@pytest.mark.parametrize("temperature", [0, 1])
def test_acceptance_is_made_up(dose, rate, temperature):
    decoder = registry.get(f"synthetic-acceptance{dose}").build(MARKOV4, draft_tokens=1)
    parameters = SamplingParameters(temperature=temperature)
    generation = decoder.generate(PROMPTS, SEEDS, max_tokens=30, parameters=parameters)
    counters = decoder.counters
    # Within four standard errors.
    assert counters.accepted / counters.draft_tokens == pytest.approx(rate, abs=4 * 0.5 / counters.draft_tokens**0.5)
    if temperature and rate not in (0, 1):
        many = decoder.generate(np.tile([0, 1], (5_000, 1)), np.arange(5_000), max_tokens=4)
        assert misfit(many.tokens[:, :3], word_law(MARKOV4, (0, 1), 3))[0] > 5
    assert (generation.lengths == 30).all()
