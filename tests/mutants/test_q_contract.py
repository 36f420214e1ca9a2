"""What comes of drafts that are declared with another law than they were drawn from."""

from itertools import product

import numpy as np
import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.drafters.small_model import SmallModelDrafter
from specaudit.decoding.precision import Float8, Precision, QuantisedTransformer
from specaudit.decoding.processors import UNFILTERED, SamplingParameters, softmax
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.worlds import MARKOV4, WORLDS
from specaudit.mutants import registry
from specaudit.mutants.q_contract import Fp8QDeclaredBf16

from ..decoding.drafters.fakes import law, sequences

REQUESTS = 50_000
COOL = SamplingParameters(temperature=0.6)
LOOKUP = WORLDS["markov4-lookup"]
REPETITIVE = [0, 1, 2, 1, 2, 0, 1, 2, 3]

# Upper 1e-6 points of chi-square with 63 and 7 degrees of freedom.
LIMIT_63, LIMIT_7 = 131.4, 40.5


def generate(decoder, parameters, prompt, requests=REQUESTS):
    prompts = np.tile(np.array(prompt, dtype=int), (requests, 1))
    return decoder.generate(prompts, np.arange(requests), max_tokens=6, parameters=parameters).tokens


def misfit(tokens, parameters, prompt):
    """Chi-square (63 degrees of freedom) and TV of the first three tokens against the target."""
    laws = MARKOV4.target.probabilities(np.arange(-1, 4), parameters)
    last = prompt[-1] if prompt else -1
    word_law = [laws[last + 1, a] * laws[a + 1, b] * laws[b + 1, c] for a, b, c in product(range(4), repeat=3)]
    expected = REQUESTS * np.array(word_law)
    counts = np.bincount(tokens[:, :3] @ [16, 4, 1], minlength=64)
    return ((counts - expected) ** 2 / expected).sum(), abs(counts - expected).sum() / REQUESTS / 2


@pytest.mark.parametrize(
    ("name", "parameters", "distance"),
    [
        ("declared-q-raw", COOL, 0.155),
        ("argmax-draft-soft-q", UNFILTERED, 0.586),
        ("draft-temp-mismatch", UNFILTERED, 0.234),
        ("draft-temp-mismatch:0.9", UNFILTERED, 0.035),
        ("draft-temp-mismatch:2", UNFILTERED, 0.141),
        ("shared-stream", UNFILTERED, 0.260),
    ],
)
def test_the_law_moves(name, parameters, distance):
    decoder = registry.get(name).build(MARKOV4, draft_tokens=3, first_token="drafted")
    statistic, tv = misfit(generate(decoder, parameters, []), parameters, [])
    assert statistic > 2 * LIMIT_63
    assert tv == pytest.approx(distance, abs=0.01)


def test_a_lookup_that_is_always_accepted_moves_the_law():
    decoder = registry.get("lookup-always-accept").build(LOOKUP, draft_tokens=3)
    statistic, tv = misfit(generate(decoder, UNFILTERED, REPETITIVE), UNFILTERED, REPETITIVE)
    assert statistic > 2 * LIMIT_63
    assert tv > 0.5


@pytest.mark.parametrize(
    ("world", "parameters", "prompt"),
    [(MARKOV4, UNFILTERED, []), (MARKOV4, COOL, []), (LOOKUP, UNFILTERED, REPETITIVE)],
    ids=["temperature 1", "temperature .6", "lookup"],
)
def test_without_the_fault_the_law_stays(world, parameters, prompt):
    first_token = "prefill" if prompt else "drafted"
    decoder = SpeculativeDecoder(world, draft_tokens=3, first_token=first_token)
    statistic, _ = misfit(generate(decoder, parameters, prompt), parameters, prompt)
    assert statistic < LIMIT_63


@pytest.mark.parametrize("name", ["declared-q-raw", "draft-temp-mismatch:1"])
def test_where_both_laws_are_one_nothing_is_wrong(name):
    faulty = generate(registry.get(name).build(MARKOV4), UNFILTERED, [], 1000)
    np.testing.assert_array_equal(faulty, generate(SpeculativeDecoder(MARKOV4), UNFILTERED, [], 1000))


@pytest.mark.parametrize(
    ("name", "world"),
    [
        ("declared-q-raw", MARKOV4),
        ("argmax-draft-soft-q", MARKOV4),
        ("draft-temp-mismatch", MARKOV4),
        ("lookup-always-accept", LOOKUP),
        ("shared-stream", MARKOV4),
    ],
)
def test_greedy_tokens_stay_right(name, world):
    greedy = SamplingParameters(temperature=0)
    faulty = generate(registry.get(name).build(world), greedy, REPETITIVE, 4)
    np.testing.assert_array_equal(faulty, generate(SpeculativeDecoder(world), greedy, REPETITIVE, 4))


@pytest.fixture(scope="module")
def judged():
    """Tokens that come of one draft in one context, for the faulty drafter and for one that declares what it drew."""
    world = WORLDS["transformer8"]
    context, rows = [1, 3, 5, 0, 3], 4096
    fp8 = QuantisedTransformer(world.drafter.model, Precision(weights=Float8.E5M2, activations=Float8.E5M2))
    said = np.array([[-1, *context]])
    forward = world.target.forward(said, np.array([6]), world.target.cache(1), np.array([0]))
    p = softmax(forward.logits[0, -1])
    uniforms = (np.arange(rows)[:, None] + 0.5) / rows
    coins = np.random.default_rng(0)
    found = []
    for drafter in (Fp8QDeclaredBf16(world.drafter.model, rows), SmallModelDrafter(fp8, rows)):
        drafts = drafter.draft(sequences([context] * rows), np.ones(rows, dtype=int), uniforms, law)
        repeated = (np.tile(part, (16, *[1] * (part.ndim - 1))) for part in (drafts.tokens, drafts.q))
        count = np.ones(16 * rows, dtype=int)
        out = ChainVerifier()(*repeated, np.broadcast_to(p, (16 * rows, 2, 8)), count, coins).out
        found.append(np.bincount(out[:, 0], minlength=8))
    return found, 16 * rows * p


def test_fp8_drafts_declared_in_full_precision_move_the_law(judged):
    (faulty, honest), expected = judged
    assert ((faulty - expected) ** 2 / expected).sum() > 2 * LIMIT_7
    assert ((honest - expected) ** 2 / expected).sum() < LIMIT_7


def test_fp8_mutant_needs_a_small_transformer():
    mutant = registry.get("fp8-q-declared-bf16")
    with pytest.raises(ValueError, match="world markov4 has no small transformer for a drafter"):
        mutant.build(MARKOV4)
    assert mutant.build(WORLDS[mutant.world]).world.drafter.vocabulary_size == 8
