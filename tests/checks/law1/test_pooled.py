"""Cells of words that the pilot chooses."""

import msgspec
import numpy as np
import pytest

from specaudit.checks.law1.pooled import Ranks, view_of_arms
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.whole_sample import Levels
from specaudit.model.evidence import Draws

SETTINGS = LawSettings(tolerance=0.2, bound="completions", word_length=1, classes=4)


def draws(p, count, seed):
    """Completions of four independent tokens."""
    tokens = np.random.default_rng(seed).choice(len(p), size=(count, 4), p=p)
    return Draws(
        tokens=tokens,
        prompt_index=np.zeros(count, np.int64),
        slot=np.arange(count),
        asked=np.full(count, 4),
        vocabulary=tuple(range(len(p))),
        planned=count,
    )


@pytest.mark.parametrize("rare", [0.0, 0.0004])
def test_words_that_the_pilot_never_saw_leave_a_bound(rare):
    """A handful of them in a cell of their own is too few for a bound at any sample size."""
    p = [0.5, 0.3, 0.2 - rare, rare]
    ranks = Ranks(SETTINGS, draws([0.5, 0.3, 0.2, 0.0], 200, seed=1))
    levels = Levels(delta=1e-3, alpha=1e-3, draws=100, rng=np.random.default_rng(0))
    view = view_of_arms(SETTINGS, ranks, draws(p, 2000, seed=2), draws(p, 2000, seed=3), 2000, levels)
    assert view is not None
    assert view.high < SETTINGS.tolerance


def test_a_pilot_of_one_word_shows_what_differs_from_it():
    settings = msgspec.structs.replace(SETTINGS, tolerance=0.5)
    ranks = Ranks(settings, draws([1.0, 0.0], 200, seed=1))
    levels = Levels(delta=1e-3, alpha=1e-3, draws=100, rng=np.random.default_rng(0))
    view = view_of_arms(settings, ranks, draws([0.5, 0.5], 500, seed=2), draws([1.0, 0.0], 500, seed=3), 500, levels)
    assert view is not None
    assert view.estimate > 0.4
    assert view.low > 0.2
