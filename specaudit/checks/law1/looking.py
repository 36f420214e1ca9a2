"""The views of a sample: which words are looked at, and which law they are held against."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from specaudit.checks.interface import Budget
from specaudit.checks.law1.forced import How, how_bounded, noise, scored_rounds
from specaudit.checks.law1.judged import JudgedView
from specaudit.checks.law1.pooled import view_of_arms, view_of_points
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.sizes import completions_planned, pilot_ranks
from specaudit.checks.law1.target import (
    DOUBT,
    KnownWords,
    completion_length,
    known_words,
    prompt_contexts,
    token_classes,
    word_depths,
)
from specaudit.checks.law1.views import view_between, view_with_law
from specaudit.checks.whole_sample import DESCRIPTIVE_DRAWS, Levels, sample_alpha
from specaudit.model.evidence import END, Draws, Evidence
from specaudit.model.plan import Role
from specaudit.stats.evalues.slack import hidden_tv


@dataclass(frozen=True, kw_only=True)
class Looked:
    """All views of a sample."""

    how: How
    views: tuple[JudgedView, ...]
    tests: int
    """How many p-values may accuse, at most: each has that share of the level."""
    unseen: tuple[str, ...]
    """Words that were to be bounded and whose law is not known, e.g. `from depth 8`."""

    @property
    def deciding(self) -> list[JudgedView]:
        """Views whose p-values may accuse."""
        return [view for view in self.views if view.decides]

    @property
    def bounding(self) -> list[JudgedView]:
        """Views that must be bounded below the tolerance."""
        return [view for view in self.views if view.bounds]

    @property
    def p_value(self) -> float:
        """Of all that may accuse together; 1 where nothing may."""
        return min([1.0, *(self.tests * view.p_value for view in self.deciding)])


def tests_of(how: How, depths: int) -> int:
    """Return how many p-values may accuse, where words begin at so many depths."""
    return {"depths": depths, "exact": depths + 1, "forced": 1, "sampled": depths}[how]


def look(
    settings: LawSettings, evidence: Evidence, budget: Budget, draws: Mapping[Role, Draws], *, decisive: bool
) -> Looked:
    """Judge the words with the best law that is known for them; leave out those with none.

    Args:
        settings: The check's.
        evidence: All of it.
        budget: The check's.
        draws: The completions of each arm that count.
        decisive: The sample has its planned size; p-values of one that was ended before decide nothing any more.
    """
    how = how_bounded(settings, evidence)
    depths = word_depths(settings, evidence.capabilities["subject"])
    tests = tests_of(how, len(depths))
    alpha = sample_alpha(settings, budget) / tests
    numeric = settings.word_length * hidden_tv(noise(evidence, settings)) if how == "forced" else 0.0
    levels = Levels.of_view(alpha, budget, decisive=decisive, numeric=numeric)
    if how == "depths":
        views, unseen = _by_depth(settings, evidence, draws, depths, levels)
        return Looked(how=how, views=tuple(views), tests=tests, unseen=unseen)
    pooled = _pooled(settings, evidence, draws, how, budget.seed, levels)
    views = [] if how == "forced" else _by_depth(settings, evidence, draws, depths, levels)[0]
    shown = tuple(replace(view, bounds=False) for view in views)
    unseen = ("anywhere in a completion",) if pooled is None else ()
    return Looked(how=how, views=(*(() if pooled is None else (pooled,)), *shown), tests=tests, unseen=unseen)


def _pooled(
    settings: LawSettings, evidence: Evidence, draws: Mapping[Role, Draws], how: How, seed: int, levels: Levels
) -> JudgedView | None:
    """All words of a completion together."""
    if how == "sampled":
        ranks = pilot_ranks(evidence, settings)
        if ranks is None or "reference" not in draws:
            return None
        planned = completions_planned(evidence.plan, settings, evidence)
        return view_of_arms(settings, ranks, draws["subject"], draws["reference"], planned, levels)
    length = completion_length(settings, evidence.capabilities["subject"])
    law = "exact" if how == "exact" else "scored"
    return view_of_points(settings, list(scored_rounds(settings, evidence, seed)), length, law, levels)


def _by_depth(
    settings: LawSettings,
    evidence: Evidence,
    draws: Mapping[Role, Draws],
    depths: tuple[int, ...],
    levels: Levels,
) -> tuple[list[JudgedView], tuple[str, ...]]:
    """The words that begin at each depth, and the depths of which no law is known.

    Where logprobs tell the law, two views look at a depth. Whether it deviates is decided on the reference's own words:
    a law that logprobs tell wrongly, by less than these can show, must not accuse a subject that follows it. The
    distance is bounded from the law, which takes fewer tokens.
    """
    contexts = prompt_contexts(evidence)
    views: list[JudgedView] = []
    unseen: list[str] = []
    for depth in depths:
        if any(view.decides and view.p_value <= levels.alpha for view in views):
            levels = replace(levels, draws=DESCRIPTIVE_DRAWS)  # the check violates already
        known = known_words(settings, evidence, contexts, depth)
        if known is not None and known.level == "exact":
            views.append(view_with_law(settings, draws["subject"], depth, known, levels))
            continue
        classes = token_classes(settings, evidence, depth)
        if classes is None or "reference" not in draws:
            unseen.append(f"from depth {depth}")
            continue
        between = view_between(settings, draws["subject"], draws["reference"], depth, classes, levels)
        if known is not None and _is_its_law(settings, draws, depth, known, levels.rng):
            told = view_with_law(settings, draws["subject"], depth, known, replace(levels, draws=DESCRIPTIVE_DRAWS))
            views += [replace(told, decides=False), replace(between, bounds=False)]
        else:
            views.append(between)
    return views, tuple(unseen)


def _is_its_law(
    settings: LawSettings, draws: Mapping[Role, Draws], depth: int, known: KnownWords, rng: np.random.Generator
) -> bool:
    """True if nothing speaks against the reference's drawing from the law that its logprobs tell.

    Some engines' logprobs are not the law they draw from: llama.cpp (b11549) forbids the end of a sequence when asked
    to ignore it, and still reports its logprob; where completions end early, logprobs do not speak of the end. Where
    the reference's own words raise a doubt (p at most .05), the subject is held against these alone.
    """
    if any((arm.tokens == END).any() for arm in draws.values()):
        return False
    levels = Levels(delta=DOUBT, alpha=DOUBT, draws=DESCRIPTIVE_DRAWS, rng=rng)
    return view_with_law(settings, draws["reference"], depth, known, levels).p_value > DOUBT
