"""A scale over the whole batch makes an FP8 target disagree with its own plain decoding; a scale per token does not."""

from dataclasses import replace

import numpy as np
import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.models.weights import Shape
from specaudit.decoding.parameters import SamplingParameters
from specaudit.decoding.precision import Precision, QuantisedTransformer
from specaudit.decoding.scheduler import Scheduling
from specaudit.decoding.worlds import MARKOV4, SmallModel, World
from specaudit.mutants import registry
from specaudit.mutants.precision import Fp8BatchScale
from tests.mutants.words import fit, spoken, word_law

SHAPE = Shape(vocabulary=8, width=16, layers=2, heads=2, kv_heads=1, head_width=8, hidden=16, layer_gain=1.0)
FULL = Transformer.from_seed(SHAPE, seed=1)
WORLD = World(name="small", target=FULL, drafter=SmallModel(model=FULL.truncated(1)))
FP8 = replace(WORLD, target=QuantisedTransformer(FULL, Precision()))


def greedy(decoder, limits=None):
    """Sixteen tokens behind each of 40 prompts."""
    prompts = np.random.default_rng(0).integers(0, 8, (40, 6))
    parameters = SamplingParameters(temperature=0)
    return decoder.generate(prompts, np.arange(40), max_tokens=16, parameters=parameters, limits=limits).tokens


def test_an_fp8_target_with_a_scale_per_token_says_what_it_would_say_alone():
    prompt = [0, 1, 2, 3]
    decoder = SpeculativeDecoder(FP8, draft_tokens=3)
    assert fit(spoken(decoder, prompt, 3, 6_000), word_law(FP8.target, prompt, 3)) > 1e-4
    np.testing.assert_array_equal(greedy(decoder), greedy(SpeculativeDecoder(FP8, draft_tokens=0)))
    assert (greedy(decoder) != greedy(SpeculativeDecoder(WORLD, draft_tokens=0))).any()


def test_a_scale_over_the_batch_lets_drafts_and_neighbours_bend_the_law():
    alone = Scheduling(max_requests=1)
    faulty = registry.get("fp8-batch-scale").build(WORLD, draft_tokens=3)
    assert isinstance(faulty.world.target, Fp8BatchScale)
    plain = SpeculativeDecoder(faulty.world, draft_tokens=0)
    own = greedy(plain, alone)
    drafted, crowded = (greedy(*case) for case in ((faulty, alone), (plain,)))
    for other in (drafted, crowded):
        assert (other != own).any(axis=1).mean() > 0.2


def test_a_world_without_a_transformer_is_refused():
    with pytest.raises(ValueError, match="world markov4 has no transformer"):
        registry.get("fp8-batch-scale").build(MARKOV4)
