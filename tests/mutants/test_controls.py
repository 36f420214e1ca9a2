"""Controls have the law of plain decoding, and greedy tokens to the last one."""

import numpy as np
import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.parameters import SamplingParameters
from specaudit.decoding.worlds import MARKOV4, MARKOV4_LOOKUP, WORLDS
from specaudit.mutants import registry
from tests.decoding.plain import misfit, word_law

PROMPT = (0, 1)
CONTROLS = registry.controls()


def generate(decoder, requests, **options):
    return decoder.generate(np.tile(PROMPT, (requests, 1)), np.arange(requests), **options)


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_has_the_law_of_plain_decoding(name):
    control = registry.get_control(name)
    world = WORLDS[control.world]
    requests = 12_000 if world.vocabulary_size == 4 else 4_000
    tokens = generate(control.build(world, draft_tokens=3), requests, max_tokens=6).tokens[:, :3]
    # Of 63 degrees of freedom and more the 0.1 % point is below 1.65.
    assert misfit(tokens, word_law(world, PROMPT, 3))[0] < 1.65


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_is_greedy_to_the_last_token(name):
    control = registry.get_control(name)
    world, greedy = WORLDS[control.world], SamplingParameters(temperature=0)
    plain = generate(SpeculativeDecoder(world, draft_tokens=0), 5, max_tokens=30, parameters=greedy)
    spoken = generate(control.build(world, draft_tokens=3), 5, max_tokens=30, parameters=greedy)
    np.testing.assert_array_equal(spoken.tokens, plain.tokens)


def test_with_one_coin_per_position_a_seed_means_the_same_tokens_with_and_without_drafts():
    coupled = registry.get_control("sampler-match")
    caps = 3 + np.arange(200) % 17
    plain = generate(SpeculativeDecoder(MARKOV4, draft_tokens=0), 200, max_tokens=caps).tokens
    for drafts in (1, 3, 5):
        spoken = generate(coupled.build(MARKOV4, draft_tokens=drafts), 200, max_tokens=caps)
        np.testing.assert_array_equal(spoken.tokens, plain)
        assert spoken.accepted.sum() > 100
    uncoupled = generate(SpeculativeDecoder(MARKOV4, draft_tokens=3), 200, max_tokens=caps).tokens
    assert (uncoupled != plain).any(axis=1).mean() > 0.9


def acceptance(build, world=MARKOV4, requests=3_000):
    decoder = build(world, draft_tokens=3)
    generate(decoder, requests, max_tokens=20)
    return decoder.counters.accepted / decoder.counters.drafts


def test_what_a_control_costs():
    honest = acceptance(SpeculativeDecoder)
    at_home = [name for name in CONTROLS if name != "restart" and registry.get_control(name).world == "markov4"]
    rates = {name: acceptance(registry.get_control(name).build) for name in at_home}
    assert rates["onehot-q-with-sampled-draft"] < 0.7 * honest
    assert rates["block-verification"] > honest
    assert rates["preemption"] == rates["async-scheduling"] == honest


def test_a_drafter_may_be_worse_or_slower():
    transformer = WORLDS["transformer8"]
    honest = acceptance(SpeculativeDecoder, transformer, 300)
    assert acceptance(registry.get_control("fp8-draft").build, transformer, 300) < honest
    assert acceptance(registry.get_control("draft-only-kv-overtrim").build, transformer, 300) == honest


@pytest.mark.parametrize("name", ["greedy-draft", "tree-drafting", "fp8-draft"])
def test_controls_that_need_a_small_model_say_so(name):
    with pytest.raises(ValueError, match="markov4-lookup has no small model"):
        registry.get_control(name).build(MARKOV4_LOOKUP, draft_tokens=3)
