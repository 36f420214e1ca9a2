"""What a request says does not depend on how the loop brings it to say it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.decoding.accounting import Accounting
from specaudit.decoding.automata import Grammar
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.draft_length import AdaptiveLength, BatchBuckets
from specaudit.decoding.parameters import TO_THE_END, UNFILTERED, SamplingParameters, StopRules
from specaudit.decoding.processors import softmax
from specaudit.decoding.scheduler import Scheduling
from specaudit.decoding.worlds import MARKOV4, WORLDS

from .strategies import steady

GREEDY = SamplingParameters(temperature=0)
ALTERNATING = Grammar(np.array([[1, 1, -1, -1], [-1, -1, 0, 0]]))
PARAMETERS = [
    UNFILTERED,
    GREEDY,
    SamplingParameters(temperature=0.7, top_k=3, top_p=0.9),
    SamplingParameters(presence_penalty=0.4, repetition_penalty=1.3, min_p=0.05),
    SamplingParameters(bad_words=((0, 1), (2, 2, 0)), logit_bias=((3, 0.5),)),
    SamplingParameters(grammar=ALTERNATING),
]
STOPS = [
    TO_THE_END,
    StopRules(token_ids=(3,)),
    StopRules(min_tokens=5),
    StopRules(strings=("ca", "bbb"), min_tokens=2),
    StopRules(ignore_eos=True),
]
TEXTS = ("a", "b", "c", "d")


def requests(count, seed=0):
    """Prompts, seeds and options of requests of all kinds."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 9, count)
    prompts = np.where(np.arange(8) < lengths[:, None], rng.integers(0, 4, (count, 8)), -1)
    options = {
        "max_tokens": rng.integers(1, 14, count),
        "parameters": [PARAMETERS[i] for i in rng.integers(0, len(PARAMETERS), count)],
        "stop": [STOPS[i] for i in rng.integers(0, len(STOPS), count)],
    }
    return prompts, rng.integers(0, 2**60, count), options


def chosen(index, prompts, seeds, options):
    options = {name: [value[i] for i in index] for name, value in options.items()}
    return prompts[index], seeds[index], options | {"max_tokens": np.array(options["max_tokens"])}


def eos_world(name):
    world = WORLDS[name]
    return replace(world, eos=2, texts=TEXTS) if world.vocabulary_size == 4 else world


def words(generation):
    return [row[:length].tolist() for row, length in zip(generation.tokens, generation.lengths, strict=True)]


LIMITS = st.builds(
    Scheduling,
    max_requests=st.none() | st.integers(1, 6),
    token_budget=st.none() | st.integers(4, 30),
    prefill_chunk=st.none() | st.integers(1, 5),
    kv_tokens=st.none() | st.integers(40, 90),
    asynchronous=st.booleans(),
)


@settings(steady, max_examples=60)
@given(
    limits=LIMITS,
    name=st.sampled_from(["markov4", "markov4-lookup", "markov4-tree"]),
    first_token=st.sampled_from(["prefill", "drafted"]),
    adaptive=st.booleans(),
    seed=st.integers(0, 50),
)
def test_limits_do_not_change_what_is_said(limits, name, first_token, adaptive, seed):
    def decoder():
        length = AdaptiveLength() if adaptive else None
        return SpeculativeDecoder(eos_world(name), draft_tokens=3, first_token=first_token, draft_length=length)

    prompts, seeds, options = requests(9, seed)
    free, bound = decoder(), decoder()
    generation = free.generate(prompts, seeds, **options)
    limited = bound.generate(prompts, seeds, **options, limits=limits)
    assert words(limited) == words(generation)
    np.testing.assert_array_equal(limited.finish, generation.finish)
    np.testing.assert_array_equal(limited.drafted_per_step, generation.drafted_per_step)
    np.testing.assert_array_equal(limited.accepted_per_step, generation.accepted_per_step)
    alone = decoder().generate(*chosen([4], prompts, seeds, options)[:2], **chosen([4], prompts, seeds, options)[2])
    assert words(alone) == words(generation)[4:5]
    work = ("computed_tokens", "replayed_tokens", "wasted_tokens")
    counted = replace(bound.counters, **dict.fromkeys(work, 0))
    assert counted == replace(free.counters, **dict.fromkeys(work, 0))
    assert bound.counters.computed_tokens == free.counters.computed_tokens + bound.counters.replayed_tokens


@pytest.mark.parametrize("name", ["transformer8", "transformer8-tree", "transformer8-eagle", "recurrent8"])
@pytest.mark.parametrize(
    "limits",
    [
        Scheduling(token_budget=14, prefill_chunk=3),
        Scheduling(kv_tokens=96, max_requests=5, asynchronous=True),
        Scheduling(kv_tokens=64, token_budget=20),
    ],
)
def test_models_with_a_memory_say_the_same_under_limits(name, limits):
    prompts, seeds, options = requests(12, 3)
    options |= {"parameters": [PARAMETERS[i % 3] for i in range(12)], "stop": TO_THE_END}
    free, bound = (SpeculativeDecoder(WORLDS[name], draft_tokens=3) for _ in range(2))
    assert words(bound.generate(prompts, seeds, **options, limits=limits)) == words(
        free.generate(prompts, seeds, **options)
    )


@pytest.mark.parametrize(
    "name", ["transformer8", "transformer8-tree", "transformer8-lookup", "transformer8-fp8", "recurrent8", "code"]
)
@pytest.mark.parametrize("limits", [Scheduling(), Scheduling(kv_tokens=64, prefill_chunk=3)])
def test_every_step_starts_from_all_that_was_said_and_nothing_else(name, limits):
    world = WORLDS[name]
    loop = SpeculativeDecoder(world, draft_tokens=6 if world.topology else 3).start(5, limits)
    prompts = np.arange(40).reshape(5, 8) % world.vocabulary_size
    loop.add(prompts, np.arange(5), max_tokens=14)
    accepted = 0
    while loop.running or loop.waiting:
        if (executed := loop.step()) is None:
            continue
        accepted += executed.verified.n_accepted.sum()
        said = executed.block.sequences
        for row, length in enumerate(said.lengths):
            tokens = np.concatenate([[-1], said.tokens[row, :length]])[None]
            cache = world.target.cache(1)
            fresh = world.target.forward(tokens, np.array([tokens.size]), cache, np.array([0])).logits[0, -1]
            np.testing.assert_allclose(executed.p[row, 0], softmax(fresh), atol=1e-9)
    assert accepted > 2


def test_the_latest_arrivals_give_way():
    loop = SpeculativeDecoder(MARKOV4, draft_tokens=3).start(4, Scheduling(kv_tokens=44))
    loop.add(np.zeros((4, 6), dtype=int), np.arange(4), max_tokens=9)
    spoke = []
    while loop.running or loop.waiting:
        if (executed := loop.step()) is not None:
            spoke.append(set(executed.arrival.tolist()))
    assert loop.preemptions > 0
    ended = 1 + max(step for step, rows in enumerate(spoke) if 0 in rows)
    assert all(0 in rows for rows in spoke[:ended])


def test_requests_may_come_while_others_run():
    prompts, seeds, options = requests(30, 5)
    decoder = SpeculativeDecoder(eos_world("markov4"), draft_tokens=3)
    together = words(decoder.generate(prompts, seeds, **options))
    loop = decoder.start(5, Scheduling(token_budget=20))
    submissions, running, waiting = [], [], []
    for first in range(0, 30, 6):
        some = chosen(list(range(first, first + 6)), prompts, seeds, options)
        submissions.append(loop.add(*some[:2], **some[2]))
        waiting.append(loop.waiting)
        for _ in range(2):
            loop.step()
            running.append(loop.running)
    assert max(running) == 5
    assert waiting[0] < max(waiting)
    loop.run()
    assert (loop.running, loop.waiting) == (0, 0)
    assert [word for one in submissions for word in words(loop.collect(one))] == together


class Watching(Accounting):
    """Remembers what each step computed."""

    def __init__(self, draft_tokens):
        super().__init__(draft_tokens)
        self.computed = []

    def record(self, step):
        super().record(step)
        self.computed.append(step.computed)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("budget", [4, 9, 40])
def test_no_step_computes_more_than_the_budget(budget, asynchronous):
    decoder = SpeculativeDecoder(MARKOV4, draft_tokens=3, accounting=Watching)
    prompts, seeds, options = requests(20, 1)
    limits = Scheduling(token_budget=budget, asynchronous=asynchronous)
    decoder.generate(prompts, seeds, **(options | {"stop": TO_THE_END}), limits=limits)
    computed = decoder.accounting.computed
    assert max(computed) <= budget
    assert sum(computed) == decoder.counters.computed_tokens
    # Nothing is held back for long: a step has no room for one more request.
    assert np.mean(computed[: len(computed) // 2]) > budget - 8


def test_a_preempted_request_is_read_again_from_the_start():
    decoder = SpeculativeDecoder(MARKOV4, draft_tokens=3)
    loop = decoder.start(4, Scheduling(kv_tokens=40))
    loop.add(np.zeros((4, 6), dtype=int), np.arange(4), max_tokens=20)
    loop.run()
    assert loop.preemptions > 0
    assert decoder.counters.replayed_tokens >= 7 * loop.preemptions


def test_planning_ahead_is_in_vain_for_requests_that_end():
    """A stop is seen too late to take the request out of the next plan; a cap is known beforehand."""

    def wasted(world, asynchronous, draft_tokens=3):
        decoder = SpeculativeDecoder(world, draft_tokens=draft_tokens)
        limits = Scheduling(asynchronous=asynchronous)
        generation = decoder.generate(np.zeros((50, 1), int), np.arange(50), max_tokens=12, limits=limits)
        return decoder.counters.wasted_tokens, int(generation.stopped.sum())

    assert wasted(eos_world("markov4"), False)[0] == 0
    tokens, stops = wasted(eos_world("markov4"), True)
    assert 0 < tokens <= 4 * stops
    assert wasted(MARKOV4, True, draft_tokens=0) == (0, 0)
    # With drafts the cap may be reached sooner than by one token a step.
    assert wasted(MARKOV4, True)[0] > 0


def test_a_full_batch_drafts_less():
    decoder = SpeculativeDecoder(MARKOV4, draft_tokens=3, draft_length=BatchBuckets(((2, 3), (5, 1))))
    loop = decoder.start(8)
    loop.add(np.zeros((6, 1), int), np.arange(6), max_tokens=30)
    loop.step()
    assert loop.step().drafts.count.tolist() == [0] * 6
    loop.run()
    few = loop.add(np.zeros((2, 1), int), np.arange(2), max_tokens=30)
    loop.step()
    assert loop.step().drafts.count.tolist() == [3, 3]
    loop.run()
    assert loop.finished(few)


def test_whoever_gives_up_frees_the_slots():
    decoder = SpeculativeDecoder(MARKOV4, draft_tokens=3)
    loop = decoder.start(4, Scheduling(asynchronous=True))
    prompts = np.zeros((6, 1), int)
    gone, stays = (loop.add(prompts[:n], np.arange(n), max_tokens=9) for n in (6, 2))
    loop.step()
    loop.abort(gone)
    loop.abort(gone)
    loop.run()
    assert words(loop.collect(stays)) == words(decoder.generate(prompts[:2], np.arange(2), max_tokens=9))
    assert (loop.running, loop.waiting) == (0, 0)


def test_a_completion_that_no_token_is_left_for_breaks_off_alone():
    # Behind token 0 nothing may follow: every word that goes on is bad.
    corner = SamplingParameters(allowed_token_ids=(0, 1), bad_words=((0, 0), (0, 1)))
    decoder = SpeculativeDecoder(MARKOV4, draft_tokens=3)
    loop = decoder.start(4)
    broken = loop.add(np.ones((1, 1), int), np.array([3]), max_tokens=30, parameters=corner)
    fine = loop.add(np.ones((1, 1), int), np.array([3]), max_tokens=30)
    loop.run()
    assert words(loop.collect(fine)) == words(decoder.generate(np.ones((1, 1), int), np.array([3]), max_tokens=30))
    assert decoder.counters.requests_failed == 1
    with pytest.raises(ValueError, match=r"request 0: behind \d+ tokens its .* rules leave none"):
        loop.collect(broken)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"token_budget": 3}, "token_budget must hold a token and 3 drafts, got 3"),
        ({"kv_tokens": 5}, "needs more room than the 5 tokens of the KV pool; raise kv_tokens"),
        ({"kv_tokens": 12}, "the 12 tokens of the KV pool do not hold one request of [0-9]+ tokens"),
    ],
)
def test_limits_that_no_request_fits_in_are_refused(limits, message):
    decoder = SpeculativeDecoder(MARKOV4, draft_tokens=3)
    with pytest.raises(ValueError, match=message):
        decoder.generate(np.zeros((1, 2), int), np.arange(1), max_tokens=20, limits=Scheduling(**limits))


@pytest.mark.parametrize("name", ["max_requests", "token_budget", "prefill_chunk", "kv_tokens"])
def test_limits_are_at_least_1(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        Scheduling(**{name: 0})
