"""One view of the words: the test, the distance and both of its bounds."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from specaudit.checks.law1.target import KnownWords, TokenClasses
from specaudit.checks.law1.views import view_between, view_with_law
from specaudit.checks.whole_sample import Levels
from tests.checks.chains import SETTINGS, START, STEP, draw
from tests.checks.law1.test_target import draws

LAW = {(i, j): float(START[i] * STEP[i, j]) for i in (0, 1) for j in (0, 1)}
KNOWN = KnownWords(level="exact", laws=(LAW,))
TOKENS = frozenset({0, 1})


def levels(**changes):
    return Levels(**{"delta": 0.01, "alpha": 0.01, "draws": 2000, "rng": np.random.default_rng(0), **changes})


def sample(count, seed=0, **chain):
    return draws(draw(np.random.default_rng(seed), count, **chain))


def classes(cells, seen=TOKENS):
    places = ((seen, seen),)
    return TokenClasses(alone=places, seen=places, cells=Counter({(0, word): count for word, count in cells.items()}))


EVEN = classes({word: 100 for word in LAW})


def test_the_distance_is_that_of_the_words_from_their_law():
    seen = sample(2000)
    view = view_with_law(SETTINGS, seen, 0, KNOWN, levels())
    words, counts = np.unique(seen.tokens[:, :2], axis=0, return_counts=True)
    off = sum(abs(count / 2000 - LAW[tuple(word)]) for word, count in zip(words.tolist(), counts, strict=True)) / 2
    assert view.estimate == pytest.approx(off)
    assert view.low <= off <= view.high < 0.1
    assert view.p_value > 0.01
    assert (view.samples, view.dof, view.words) == (2000, 3, "words of 2 tokens from depth 0")


def test_another_law_is_told_and_bounded_from_below():
    view = view_with_law(SETTINGS, sample(2000, start=START[::-1]), 0, KNOWN, levels())
    assert view.p_value < 0.01
    assert 0 < view.low < 0.2 < view.high
    assert view.witness.observed != pytest.approx(view.witness.expected, abs=0.05)


def test_a_word_without_probability_is_impossible_under_an_exact_law_and_an_edge_of_a_scored_one():
    seen = draws([[0, 0, 0, 0]] * 60 + [[1, 0, 0, 0]] * 40 + [[2, 0, 0, 0]])
    law = {(0, 0): 0.6, (1, 0): 0.4}
    exact = view_with_law(SETTINGS, seen, 0, KnownWords(level="exact", laws=(law,)), levels())
    assert exact.statistic == np.inf
    assert exact.p_value < 1e-3
    assert exact.record(0.1, 0.99).statistic.value is None
    scored = view_with_law(SETTINGS, seen, 0, KnownWords(level="scored", laws=(law,)), levels())
    assert scored.p_value > 0.1
    assert scored.high > 0.4  # what the least likely word, whose cell it shares, can hide


def test_of_a_sample_that_was_ended_by_what_it_showed_nothing_is_bounded_from_above():
    view = view_with_law(SETTINGS, sample(2000, start=START[::-1]), 0, KNOWN, levels(early=True))
    assert view.high == 1
    assert 0 < view.low < 0.2
    between = view_between(SETTINGS, sample(500), sample(500, 1), 0, EVEN, levels(early=True))
    assert (between.low, between.high) == (0, 1)


def test_what_was_lost_widens_both_bounds():
    seen = sample(2000, start=START[::-1])
    whole, part = (
        view_with_law(SETTINGS, replace(seen, planned=planned), 0, KNOWN, levels()) for planned in (2000, 2500)
    )
    assert part.low == pytest.approx(whole.low - 0.2 if whole.low > 0.2 else 0)
    assert part.high == pytest.approx(whole.high + 0.2)


def test_two_arms_of_one_law_are_near_and_of_two_are_not():
    reference = sample(3000, 1)
    same = view_between(SETTINGS, sample(3000), reference, 0, EVEN, levels())
    other = view_between(SETTINGS, sample(3000, start=START[::-1]), reference, 0, EVEN, levels())
    assert same.level == other.level == "sampled"
    assert same.p_value > 0.01 > other.p_value
    assert same.estimate < 0.05 < same.high < 0.3  # the rarest word's share, .18, may hide anything
    assert 0 < other.low < 0.2 < other.high


def test_classes_that_tokens_share_are_said():
    coarse = TokenClasses(alone=((frozenset({0}), TOKENS),), seen=((TOKENS, TOKENS),), cells=EVEN.cells)
    view = view_between(SETTINGS, sample(500), sample(500, 1), 0, coarse, levels())
    assert view.level == f"sampled, {SETTINGS.classes} classes a token"
    assert view.dof == 3


def test_a_word_that_only_the_subject_has_is_seen():
    strange = draws([[0, 0, 0, 0]] * 700 + [[0, 2, 0, 0]] * 300)
    plain = draws([[0, 0, 0, 0]] * 700 + [[0, 1, 0, 0]] * 300)
    view = view_between(SETTINGS, strange, plain, 0, EVEN, levels())
    assert view.p_value < 0.01
    assert view.low > 0.05


def test_where_nearly_all_words_are_one_the_others_mass_is_the_bound():
    usual = classes({(0, 0): 399, (0, 1): 1})
    alike = draws([[0, 0, 0, 0]] * 1000)
    rare = view_between(SETTINGS, alike, alike, 0, usual, levels())
    assert 0 < rare.high == pytest.approx(1 - 0.005 ** (1 / 1000))  # none in a thousand, at half of delta
    many = view_between(SETTINGS, draws([[0, 0, 0, 0]] * 500 + [[1, 0, 0, 0]] * 500), alike, 0, usual, levels())
    assert many.high > 0.5
