"""All that may be combined in a decoder, covered pair by pair, against the exact law of plain decoding."""

import itertools
from dataclasses import replace

import numpy as np

from specaudit.decoding.automata import Grammar
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.draft_length import AdaptiveLength, BatchBuckets
from specaudit.decoding.drafters.makers import Lookup
from specaudit.decoding.parameters import TO_THE_END, UNFILTERED, SamplingParameters, StopRules
from specaudit.decoding.scheduler import Scheduling
from specaudit.decoding.tree.topology import Topology
from specaudit.decoding.verify.block import BlockVerifier
from specaudit.decoding.verify.one_hot import OneHotVerifier
from specaudit.decoding.verify.sampler_match import SamplerMatchVerifier
from specaudit.decoding.worlds import SmallModel, TreeModel, World

PROMPT = (0, 1, 2, 1, 0, 1)
LENGTH = 3
TREE = Topology([0, 0, 1, 1, 2])

FACTORS = {
    "drafter": ("model", "greedy model", "lookup", "tree", "tree with replacement"),
    "verifier": ("chain", "block", "one-hot", "sampler"),
    "parameters": ("none", "filters", "min-p", "penalties", "bias and bad words", "allowed", "grammar"),
    "stop": ("none", "EOS", "min_tokens", "string"),
    "length": ("fixed", "adaptive", "buckets"),
    "caps": ("equal", "ragged"),
    "neighbours": ("none", "others"),
    "first token": ("prefill", "drafted"),
    "scheduling": ("synchronous", "asynchronous"),
    "memory": ("ample", "short"),
    "prefill": ("whole", "chunks"),
}


def possible(one):
    """A tree has a verifier of its own."""
    return not (str(one.get("drafter")).startswith("tree") and one.get("verifier", "chain") != "chain")


def pairwise():
    """Combinations in which every possible pair of values occurs: each time the one that covers most new pairs."""
    names = list(FACTORS)
    pairs = {
        frozenset([(a, x), (b, y)])
        for a, b in itertools.combinations(names, 2)
        for x, y in itertools.product(FACTORS[a], FACTORS[b])
        if possible({a: x, b: y})
    }
    rng = np.random.default_rng(0)
    cover = []
    while pairs:
        candidates = [_filled(dict(sorted(min(pairs, key=sorted))), pairs, rng) for _ in range(20)]
        best = max(candidates, key=lambda one: len(_pairs(one) & pairs))
        pairs -= _pairs(best)
        cover.append({name: best[name] for name in FACTORS})
    return cover


def _filled(one, pairs, rng):
    """Complete a combination, value by value, with what covers most new pairs."""
    for name in rng.permutation([name for name in FACTORS if name not in one]):
        options = [one | {str(name): value} for value in FACTORS[name]]
        options = [option for option in options if possible(option)]
        gains = [len(_pairs(option) & pairs) + rng.random() / 2 for option in options]
        one = options[int(np.argmax(gains))]
    return one


def _pairs(one):
    return {frozenset(pair) for pair in itertools.combinations(one.items(), 2)}


def world(base: World, one):
    """The world with the combination's drafter, with letters for texts and an EOS."""
    model = base.drafter.model
    drafter = {
        "model": SmallModel(model=model),
        "greedy model": SmallModel(model=model, greedy=True),
        "lookup": Lookup(vocabulary_size=base.vocabulary_size),
        "tree": TreeModel(model=model, topology=TREE),
        "tree with replacement": TreeModel(model=model, topology=TREE, replacement=True),
    }[one["drafter"]]
    texts = tuple("abcdefgh"[: base.vocabulary_size])
    topology = TREE if one["drafter"].startswith("tree") else None
    return replace(base, drafter=drafter, topology=topology, eos=3, texts=texts)


def rules(one, vocabulary_size):
    """Sampling parameters and stop rules."""
    # Even and odd tokens by turns, as often as one likes.
    odd = np.arange(vocabulary_size) % 2 == 1
    grammar = Grammar(np.array([np.where(odd, -1, 1), np.where(odd, 0, -1)]))
    parameters = {
        "none": UNFILTERED,
        "filters": SamplingParameters(temperature=0.8, top_k=3, top_p=0.9),
        "min-p": SamplingParameters(temperature=1.3, min_p=0.15),
        "penalties": SamplingParameters(repetition_penalty=1.2, presence_penalty=0.5, frequency_penalty=-0.3),
        "bias and bad words": SamplingParameters(logit_bias=((2, 1.0), (0, -0.5)), bad_words=((2, 2), (1, 0, 1), (0,))),
        "allowed": SamplingParameters(allowed_token_ids=(1, 2, 3)),
        "grammar": SamplingParameters(grammar=grammar),
    }[one["parameters"]]
    stop = {
        "none": StopRules(ignore_eos=True),
        "EOS": TO_THE_END,
        "min_tokens": StopRules(min_tokens=2),
        "string": StopRules(strings=("bc", "cb"), ignore_eos=True),
    }[one["stop"]]
    return parameters, stop


def decoder(base, one):
    """The decoder."""
    verifier = {"chain": None, "block": BlockVerifier(), "one-hot": OneHotVerifier(), "sampler": SamplerMatchVerifier()}
    length = {"fixed": None, "adaptive": AdaptiveLength(), "buckets": BatchBuckets(((3_000, 3), (9_000, 1)))}
    return SpeculativeDecoder(
        world(base, one),
        draft_tokens=5 if one["drafter"].startswith("tree") else 3,
        verifier=verifier[one["verifier"]],
        draft_length=length[one["length"]],
        first_token=one["first token"],
    )


def spoken(base, one, requests, *, first_seed=0, length=LENGTH, temperature=None):
    """First tokens of so many requests `[requests, length]`, as the combination says them."""
    subject = decoder(base, one)
    parameters, stop = rules(one, base.vocabulary_size)
    if temperature is not None:
        parameters = replace(parameters, temperature=temperature)
    running = max(4, requests // 3)
    limits = Scheduling(
        asynchronous=one["scheduling"] == "asynchronous",
        # Room for all that may run when they begin, but not when they have grown.
        kv_tokens=running * (len(PROMPT) + 7) if one["memory"] == "short" else None,
        max_requests=running,
        prefill_chunk=2 if one["prefill"] == "chunks" else None,
        token_budget=running * 4 if one["prefill"] == "chunks" else None,
    )
    loop = subject.start(running, limits)
    index = np.arange(requests)
    caps = length + index % 6 if one["caps"] == "ragged" else np.full(requests, length + 4)
    seeds = first_seed + index
    asked = loop.add(np.tile(PROMPT, (requests, 1)), seeds, max_tokens=caps, parameters=parameters, stop=stop)
    if one["neighbours"] == "others":
        others = max(1, requests // 10)
        kinds = [SamplingParameters(temperature=0), SamplingParameters(top_k=1, presence_penalty=2.0), UNFILTERED]
        loop.add(
            np.tile(PROMPT[:2], (others, 1)),
            seeds[:others],
            max_tokens=9,
            parameters=[kinds[i % 3] for i in range(others)],
            stop=TO_THE_END,
        )
    loop.run()
    return loop.collect(asked).tokens[:, :length]
