"""How many completions LAW1 plans, so that a healthy engine conforms with the wanted probability."""

import sys
from collections.abc import Callable, Sequence
from math import ceil, sqrt
from typing import Literal

import numpy as np

from specaudit.checks.law1.forced import hidden_by_plan, how_bounded
from specaudit.checks.law1.pooled import Ranks, needed_known
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import (
    PILOT,
    KnownWords,
    TokenClasses,
    completion_length,
    known_words,
    prompt_context,
    token_classes,
    word_depths,
)
from specaudit.checks.memo import once
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan
from specaudit.model.request import Prompt
from specaudit.stats.chisquare import MIN_EXPECTED
from specaudit.stats.intervals import proportion_upper
from specaudit.stats.power import completions_needed


def completions_planned(plan: Plan, settings: LawSettings, evidence: Evidence, prompts: Sequence[Prompt] = ()) -> int:
    """Return the completions per arm of the whole sample, those that fill its last requests left out.

    The prompts matter where words are bounded by depth.
    """
    how, length = how_bounded(settings, evidence), completion_length(settings, evidence.capabilities["subject"])
    if how == "depths":
        needed = max(_by_depth(plan, settings, evidence, prompts), default=settings.max_completions)
    elif how == "sampled":
        ranks = pilot_ranks(evidence, settings)
        if ranks is None:
            return settings.max_completions
        needed = ranks.needed(length, delta=plan.alpha, success=settings.success)
    else:
        hidden = hidden_by_plan(evidence, settings)
        needed = needed_known(settings, length, hidden=hidden, delta=plan.alpha, success=settings.success)
    return min(settings.max_completions, needed)


@once
def pilot_ranks(evidence: Evidence, settings: LawSettings) -> Ranks | None:
    """Return the cells that the pilot fixes for all words of a completion; None where a prompt has no pilot."""
    pilot = evidence.draws(PILOT).get("reference") if PILOT in evidence.stages else None
    if pilot is None or any(not (pilot.prompt_index == prompt).any() for prompt in range(settings.prompts)):
        return None
    return Ranks(settings, pilot)


def _by_depth(plan: Plan, settings: LawSettings, evidence: Evidence, prompts: Sequence[Prompt]) -> list[int]:
    contexts = tuple(prompt_context(evidence, prompt) for prompt in prompts)
    depths = word_depths(settings, evidence.capabilities["subject"])
    success = 1 - (1 - settings.success) / len(depths)
    needed = []
    for depth in depths:
        words = known_words(settings, evidence, contexts, depth)
        if words is not None:
            needed.append(_needed_known(settings, plan, words, success))
        elif (classes := token_classes(settings, evidence, depth)) is not None:
            needed.append(_needed_sampled(settings, plan, classes, success))
    return needed


def _needed_known(settings: LawSettings, plan: Plan, words: KnownWords, success: float) -> int:
    """Completions at which a subject without deviation conforms."""
    masses = np.concatenate([np.array(list(law.values())) for law in words.laws]) / len(words.laws)

    def needed(count: int) -> int:
        kept = masses * count >= MIN_EXPECTED
        left = settings.tolerance - float(masses[~kept].sum() + masses.min())
        return _needed(int(kept.sum()), left, delta=plan.alpha, success=success, samples=1)

    return _smallest(needed, settings.max_completions)


def _needed_sampled(settings: LawSettings, plan: Plan, classes: TokenClasses, success: float) -> int:
    """Completions per arm, as far as the pilot tells which cells will be too small to stand alone."""
    pilot = classes.cells.total()
    if classes.outside_usual <= settings.tolerance / 2:
        return _needed_usual(settings, plan, classes)
    shares = np.array(list(classes.cells.values())) / pilot

    def needed(count: int) -> int:
        # The subject's own counts choose the cells, so that it is not known of each on which side it will be: those
        # that may stand for themselves have degrees of freedom, those that may not are part of the tail, and so is
        # the rarest that does.
        spread = 2 * sqrt(2 * MIN_EXPECTED)
        kept, may = (shares * count >= 2 * MIN_EXPECTED + side * spread for side in (1, -1))
        tail = float(shares[~kept].sum()) + float(shares[kept].min(initial=1.0))
        left = settings.tolerance - tail - 3 * sqrt(tail / count) - 3 / pilot - 3 / count
        return _needed(int(may.sum()), left, delta=plan.alpha / 2, success=success, samples=2)

    return _smallest(needed, settings.max_completions)


def _needed_usual(settings: LawSettings, plan: Plan, classes: TokenClasses) -> int:
    """Completions per arm where the pilot's words are nearly all one and the same."""

    def needed(count: int) -> int:
        unusual = classes.outside_usual * count
        events = min(count, ceil(unusual + 3 * sqrt(unusual)))
        high = proportion_upper(events, count, plan.alpha / 2) * (1 if len(classes.alone) == 1 else 2)
        return count if high < settings.tolerance else sys.maxsize

    return _smallest(needed, settings.max_completions)


def _needed(dof: int, left: float, *, delta: float, success: float, samples: Literal[1, 2]) -> int:
    """Completions for what pooled cells leave of the tolerance; endless where they leave nothing."""
    if left <= 0:
        return sys.maxsize
    return completions_needed(max(1, dof), left, delta=delta, success=success, samples=samples)


def _smallest(needed: Callable[[int], int], most: int) -> int:
    """The smallest count, to a tenth, that is as large as what it needs: larger samples pool fewer cells."""
    count = 100
    while count < most and needed(count) > count:
        count = count + count // 10
    return min(count, most)
