"""Mechanisms that are right by themselves, together: pairwise covering."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.worlds import MARKOV4, WORLDS
from specaudit.mutants.rule import ResidualFromTarget

from . import combinations
from .plain import misfit, word_law

COVER = combinations.pairwise()
WORDS = 20_000


def name(one):
    return ", ".join(one.values())


def test_every_possible_pair_is_covered():
    seen = {pair for one in COVER for pair in itertools.combinations(one.items(), 2)}
    for a, b in itertools.combinations(combinations.FACTORS, 2):
        for x, y in itertools.product(combinations.FACTORS[a], combinations.FACTORS[b]):
            assert ((a, x), (b, y)) in seen or ((b, y), (a, x)) in seen or not combinations.possible({a: x, b: y})
    assert len(COVER) < 60


@pytest.mark.parametrize("one", COVER, ids=name)
def test_words_are_near_their_exact_law(one):
    """20,000 words are off by .03 on average if all is right, over as many as 64 words and those that end early."""
    parameters, stop = combinations.rules(one, 4)
    law = word_law(combinations.world(MARKOV4, one), combinations.PROMPT, combinations.LENGTH, parameters, stop)
    _, variation, impossible = misfit(combinations.spoken(MARKOV4, one, WORDS), law)
    assert impossible == 0
    assert variation < 0.05


def test_a_fault_would_show(monkeypatch):
    one = {factor: values[0] for factor, values in combinations.FACTORS.items()} | {"first token": "drafted"}
    law = word_law(combinations.world(MARKOV4, one), combinations.PROMPT, 3, *combinations.rules(one, 4))
    monkeypatch.setattr(ChainVerifier, "residual", ResidualFromTarget.residual)
    assert misfit(combinations.spoken(MARKOV4, one, WORDS), law)[1] > 0.1


# A recurrent model reads no trees.
GREEDY = [
    pytest.param(one, base, id=f"{base}: {name(one)}")
    for base in ("markov4", "transformer8", "recurrent8")
    for one in COVER
    if base != "recurrent8" or not one["drafter"].startswith("tree")
]


@pytest.mark.parametrize(("one", "base"), GREEDY)
def test_at_temperature_0_the_tokens_are_those_of_plain_greedy_decoding(one, base):
    world = WORLDS[base]
    parameters, stop = combinations.rules(one, world.vocabulary_size)
    greedy = replace(parameters, temperature=0)
    words, mass = word_law(combinations.world(world, one), combinations.PROMPT, 8, greedy, stop)
    assert mass.tolist() == [1]
    spoken = combinations.spoken(world, one, 20, length=8, temperature=0)
    np.testing.assert_array_equal(spoken, np.broadcast_to(words, spoken.shape))
