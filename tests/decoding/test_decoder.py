import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.parameters import UNFILTERED, SamplingParameters, StopRules
from specaudit.decoding.worlds import MARKOV4, SmallModel, World

from .enumeration import chain_law
from .strategies import steady, worlds

GREEDY = SamplingParameters(temperature=0)
MODES = ["prefill", "drafted"]

# Upper 0.1 % point of chi-square with 63 degrees of freedom. Seeds are fixed: a correct decoder fails one
# of the seven tests against it with probability 0.7 %, once and for all.
BOUND = 103.5


def empty_prompts(requests):
    return np.empty((requests, 0), dtype=int)


def generate(decoder, requests, first_seed=0, **options):
    return decoder.generate(empty_prompts(requests), first_seed + np.arange(requests), **options)


def chi_square(words, law):
    """Pearson's statistic of words `[N, L]` against the law `[V] * L`; infinite outside of its support."""
    counts = np.bincount(np.ravel_multi_index(tuple(words.T), law.shape), minlength=law.size)
    expected = len(words) * law.ravel()
    possible = expected > 0
    if counts[~possible].any():
        return np.inf
    return float(((counts - expected)[possible] ** 2 / expected[possible]).sum())


def cycle(eos=None):
    """A world in which 0, 1, 2, 3, 0, … is certain, and the drafter knows it."""
    model = MarkovModel([1, 0, 0, 0], np.roll(np.eye(4), 1, axis=1))
    return World(name="cycle", target=model, drafter=SmallModel(model=model), eos=eos)


@pytest.mark.parametrize("first_token", MODES)
@pytest.mark.parametrize("depth", [0, 2, 5])
def test_words_have_the_targets_law(first_token, depth):
    decoder = SpeculativeDecoder(MARKOV4, draft_tokens=3, first_token=first_token)
    words = generate(decoder, 50_000, max_tokens=depth + 3).tokens[:, depth:]
    law = chain_law(MARKOV4.target, -1, depth + 3).sum(axis=tuple(range(depth)))
    assert chi_square(words, law) < BOUND


def test_plain_words_have_the_targets_law():
    decoder = SpeculativeDecoder(MARKOV4, draft_tokens=0)
    assert chi_square(generate(decoder, 50_000, max_tokens=3).tokens, chain_law(MARKOV4.target, -1, 3)) < BOUND


def test_words_have_the_processed_law():
    parameters = SamplingParameters(temperature=0.8, top_k=3, top_p=0.9)
    laws = MARKOV4.target.probabilities(np.arange(-1, 4), parameters)
    law = laws[0][:, None, None] * laws[1:][:, :, None] * laws[1:]
    decoder = SpeculativeDecoder(MARKOV4, draft_tokens=3, first_token="drafted")
    words = generate(decoder, 50_000, max_tokens=4, parameters=parameters).tokens[:, :3]
    assert np.count_nonzero(law) < 30
    # The 0.1 % point of 30 degrees of freedom.
    assert chi_square(words, law) < 59.7


@pytest.mark.parametrize("first_token", MODES)
def test_stopped_words_have_the_targets_law(first_token):
    world = World(name="stops", target=MARKOV4.target, drafter=MARKOV4.drafter, eos=3)
    generation = generate(SpeculativeDecoder(world, draft_tokens=3, first_token=first_token), 50_000, max_tokens=4)
    whole = chain_law(MARKOV4.target, -1, 4)
    words = np.indices(whole.shape).reshape(4, -1).T
    behind_stop = np.cumsum(words == 3, axis=1) - (words == 3) > 0
    # The padding −1 becomes a fifth symbol.
    law = np.zeros((5, 5, 5, 5))
    np.add.at(law, tuple(np.where(behind_stop, 4, words).T), whole.ravel())
    # 121 words, 120 degrees of freedom, 0.1 % point.
    assert np.count_nonzero(law) == 121
    assert chi_square(generation.tokens % 5, law) < 173.7


@steady
@given(
    world=worlds(),
    width=st.integers(1, 4),
    first_token=st.sampled_from(MODES),
    parameters=st.builds(SamplingParameters, temperature=st.just(0.0), top_k=st.integers(0, 2)),
)
def test_greedy_tokens_are_those_of_plain_greedy_decoding(world, width, first_token, parameters):
    prompts = np.arange(-1, world.vocabulary_size)[:, None]
    seeds = np.arange(len(prompts))
    speculative = SpeculativeDecoder(world, draft_tokens=width, first_token=first_token)
    plain = SpeculativeDecoder(world, draft_tokens=0).generate(prompts, seeds, max_tokens=9, parameters=GREEDY)
    generation = speculative.generate(prompts, seeds + 100, max_tokens=9, parameters=parameters)
    np.testing.assert_array_equal(generation.tokens, plain.tokens)
    argmax = world.target.probabilities(prompts[:, 0], UNFILTERED).argmax(axis=1)
    np.testing.assert_array_equal(plain.tokens[:, 0], argmax)


@steady
@given(
    world=worlds(eos=0),
    width=st.integers(0, 4),
    first_token=st.sampled_from(MODES),
    caps=st.lists(st.integers(1, 12), max_size=8),
    seed=st.integers(0, 2**62),
    temperature=st.sampled_from([0, 0.7, 1]),
    stop=st.sets(st.just(0)),
    data=st.data(),
)
def test_a_generation_is_consistent(world, width, first_token, caps, seed, temperature, stop, data):
    parameters = SamplingParameters(temperature=temperature)
    decoder = SpeculativeDecoder(world, draft_tokens=width, first_token=first_token)
    caps = np.array(caps, dtype=int)
    seeds = seed + np.arange(len(caps))
    options = {"parameters": parameters, "stop": StopRules(token_ids=tuple(stop))}
    generation = decoder.generate(empty_prompts(len(caps)), seeds, max_tokens=caps, **options)

    column = np.arange(generation.tokens.shape[1])
    np.testing.assert_array_equal(generation.tokens >= 0, column < generation.lengths[:, None])
    last = generation.tokens[np.arange(len(caps)), generation.lengths - 1]
    np.testing.assert_array_equal(generation.stopped, last == 0)
    assert (np.count_nonzero(generation.tokens == 0, axis=1) == generation.stopped).all()
    assert (generation.lengths <= caps).all()
    assert (generation.stopped | (generation.lengths == caps)).all()
    np.testing.assert_array_equal(generation.finish, np.where(generation.stopped, "stop", "length"))

    contexts = np.column_stack([np.full(len(caps), -1), generation.tokens])[:, :-1]
    laws = world.target.probabilities(contexts, parameters)
    row, place = np.nonzero(generation.tokens >= 0)
    assert (laws[row, place, generation.tokens[row, place]] > 0).all()

    drafted, accepted, emitted = (
        getattr(generation, f"{name}_per_step") for name in ("drafted", "accepted", "emitted")
    )
    taken = drafted >= 0
    assert ((accepted >= 0) == taken).all()
    assert ((emitted >= 1) == taken).all()
    assert (accepted <= drafted).all()
    room = caps[:, None] - (emitted.cumsum(axis=1) - emitted)
    undrafted = (first_token == "prefill") & (np.arange(drafted.shape[1]) == 0)
    np.testing.assert_array_equal(drafted[taken], np.where(undrafted, 0, np.minimum(width, room - 1))[taken])
    np.testing.assert_array_equal(np.where(taken, emitted, 0).sum(axis=1), generation.lengths)
    np.testing.assert_array_equal(generation.steps, taken.sum(axis=1))
    np.testing.assert_array_equal(generation.drafted, np.where(taken, drafted, 0).sum(axis=1))
    np.testing.assert_array_equal(generation.accepted, np.where(taken, accepted, 0).sum(axis=1))

    counters = decoder.counters
    assert counters.generation_tokens == generation.lengths.sum()
    assert counters.accepted == generation.accepted.sum() == sum(counters.accepted_per_position)
    assert counters.draft_tokens == generation.drafted.sum()
    assert counters.drafts == np.count_nonzero(drafted > 0)
    assert counters.undrafted == np.count_nonzero(drafted == 0)
    assert counters.trimmed == np.count_nonzero(taken & (emitted == accepted))
    assert counters.trimmed <= counters.requests_stopped == generation.stopped.sum()
    assert counters.requests_at_length == len(caps) - counters.requests_stopped
    assert counters.generation_tokens == counters.accepted + counters.drafts + counters.undrafted - counters.trimmed

    some = np.array(sorted(data.draw(st.sets(st.sampled_from(range(len(caps)))))) if len(caps) else [], dtype=int)
    alone = decoder.generate(empty_prompts(len(some)), seeds[some], max_tokens=caps[some], **options)
    longest = alone.tokens.shape[1]
    np.testing.assert_array_equal(alone.tokens, generation.tokens[some, :longest])


def test_a_row_does_not_depend_on_its_batch():
    decoder = SpeculativeDecoder(MARKOV4, draft_tokens=3)
    prompts, seeds, caps = np.arange(200)[:, None] % 5 - 1, 7 * np.arange(200), 5 + np.arange(200) % 40
    batch = decoder.generate(prompts, seeds, max_tokens=caps)
    for i in (0, 17, 199):
        alone = decoder.generate(prompts[[i]], seeds[[i]], max_tokens=caps[[i]])
        assert alone.tokens[0].tolist() == batch.tokens[i, : caps[i]].tolist()
        assert alone.accepted_per_step[0].tolist() == batch.accepted_per_step[i, : alone.steps[0]].tolist()
    assert len({tuple(row) for row in batch.tokens[:, :5]}) > 100


@pytest.mark.parametrize(
    ("eos", "width", "tokens", "accepted", "trimmed"),
    [
        pytest.param(0, 3, [0, -1, -1, -1], 1, 1, id="first draft"),
        pytest.param(1, 3, [0, 1, -1, -1], 2, 1, id="inside the accepted block"),
        pytest.param(2, 3, [0, 1, 2, -1], 3, 1, id="last draft"),
        pytest.param(2, 2, [0, 1, 2, -1], 2, 0, id="bonus token"),
    ],
)
def test_eos_ends_a_block(eos, width, tokens, accepted, trimmed):
    decoder = SpeculativeDecoder(cycle(eos), draft_tokens=width, first_token="drafted")
    generation = generate(decoder, 1, max_tokens=4)
    assert generation.tokens.tolist() == [tokens]
    assert generation.finish.tolist() == ["stop"]
    assert generation.accepted.tolist() == [accepted]
    assert decoder.counters.accepted == accepted
    assert decoder.counters.trimmed == trimmed


def test_stop_tokens_come_on_top_of_eos():
    decoder = SpeculativeDecoder(cycle(eos=3), draft_tokens=3)
    assert generate(decoder, 1, max_tokens=8, stop=StopRules(token_ids=(2,))).tokens.tolist() == [[0, 1, 2] + [-1] * 5]
    assert generate(decoder, 1, max_tokens=8).tokens.tolist() == [[0, 1, 2, 3] + [-1] * 4]


@pytest.mark.parametrize(
    ("first_token", "cap", "drafted"),
    [
        ("drafted", 3, [2]),
        ("drafted", 4, [3]),
        ("drafted", 5, [3, 0]),
        ("drafted", 7, [3, 2]),
        ("prefill", 1, [0]),
        ("prefill", 3, [0, 1]),
        ("prefill", 8, [0, 3, 2]),
    ],
)
def test_drafts_never_reach_past_the_cap(first_token, cap, drafted):
    generation = generate(SpeculativeDecoder(cycle(), draft_tokens=3, first_token=first_token), 1, max_tokens=cap)
    assert generation.drafted_per_step.tolist() == [drafted]
    assert generation.accepted_per_step.tolist() == [drafted]
    assert generation.tokens.tolist() == [[i % 4 for i in range(cap)]]
    assert generation.finish.tolist() == ["length"]


def test_a_stop_at_the_cap_is_a_stop():
    assert generate(SpeculativeDecoder(cycle(eos=2)), 1, max_tokens=3).finish.tolist() == ["stop"]


def test_counters_live_as_long_as_the_decoder():
    decoder = SpeculativeDecoder(cycle(), draft_tokens=3)
    decoder.generate(np.array([[0, 1, 2, 3], [1, 2, 3, -1]]), np.arange(2), max_tokens=5)
    decoder.generate(np.array([[3, 0, 1, 2]]), np.arange(1), max_tokens=5)
    assert decoder.counters.prompt_tokens == 11
    assert decoder.counters.requests_at_length == 3
    assert decoder.counters.accepted_per_position == (3, 3, 3)
    assert decoder.counters.generation_tokens == 15


def test_an_empty_batch_generates_nothing():
    generation = generate(SpeculativeDecoder(MARKOV4), 0, max_tokens=4)
    assert generation.tokens.shape == (0, 4)
    assert generation.steps.shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prompts": np.array([[0], [4]])}, "request 1: token 4 is not one of 4 tokens"),
        ({"prompts": np.array([[-2], [0]])}, "request 0: token -2"),
        ({"prompts": np.array([[0, 1], [-1, 0]])}, r"request 1: a prompt is padded with -1 on its right only"),
        ({"prompts": np.array([[0]])}, r"got \[1, 1\], \[2\], \[\]"),
        ({"prompts": np.array([0, 1])}, r"got \[2\], \[2\], \[\]"),
        ({"seeds": np.array([[1], [2]])}, r"got \[2, 1\], \[2, 1\], \[\]"),
        ({"seeds": np.array([0.5, 1.5])}, "seeds must be integers"),
        ({"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
        ({"max_tokens": np.array([3, 0])}, "max_tokens must be at least 1, got 0"),
        ({"max_tokens": np.array([3, 3, 3])}, r"got \[2, 1\], \[2\], \[3\]"),
        ({"stop": StopRules(token_ids=(1, 4))}, "stop token 4 is not one of 4 tokens"),
        ({"stop": StopRules(token_ids=(-1,))}, "stop token -1 is not one of 4 tokens"),
        ({"parameters": [UNFILTERED]}, "2 requests cannot have 1 parameters and 2 stop rules"),
    ],
)
def test_bad_requests_are_refused(arguments, message):
    good = {"prompts": np.array([[0], [1]]), "seeds": np.array([1, 2]), "max_tokens": 3}
    with pytest.raises(ValueError, match=message):
        SpeculativeDecoder(MARKOV4).generate(**(good | arguments))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draft_tokens": -1}, "draft_tokens must be at least 0, got -1"),
        ({"first_token": "guessed"}, "first_token must be 'prefill' or 'drafted', got 'guessed'"),
    ],
)
def test_bad_decoders_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        SpeculativeDecoder(MARKOV4, **options)
