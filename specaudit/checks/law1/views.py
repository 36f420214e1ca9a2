"""Views of the words that begin at one depth."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.law1.judged import RARE, JudgedView, Misfit, misfit
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import KnownWords, TokenClasses, word_counts
from specaudit.checks.whole_sample import EXCEEDANCES, Levels
from specaudit.laws.words import Word
from specaudit.model.evidence import END, Draws
from specaudit.stats.chisquare import MIN_EXPECTED, ChiSquareTest
from specaudit.stats.distance import TotalVariation, tv_between, tv_from_law, tv_upper_bound
from specaudit.stats.evalues.witness import anytime_tv_lower_bound
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.homogeneity import homogeneity
from specaudit.stats.intervals import proportion_upper


def view_with_law(settings: LawSettings, draws: Draws, depth: int, known: KnownWords, levels: Levels) -> JudgedView:
    """Judge a depth at which the law is known, prompt by prompt.

    Words outside the law's support are impossible under an exact law. A scored law may place a token at the edge
    of the nucleus on the wrong side by rounding, so there they share a cell with the least likely word, and what that
    can hide is added to the bound.
    """
    laws, counts, words = [], [], []
    hidden = 0.0
    for prompt, law in enumerate(known.laws):
        cells = sorted(law, key=lambda word: (-law[word], str(word)))
        counted = word_counts(settings, draws, depth, prompt)
        row = [counted.pop(word, 0) for word in cells]
        outside = sum(counted.values())
        pmf = [law[word] for word in cells]
        if known.level == "scored":
            row[-1] += outside
            cells[-1] = (RARE,)
            hidden += pmf[-1] / len(known.laws)
        elif outside:
            row, pmf, cells = [*row, outside], [*pmf, 0.0], [*cells, next(iter(counted))]
        laws.append(np.array(pmf))
        counts.append(np.array(row))
        words.append(cells)
    test = goodness_of_fit(counts, laws, draws=levels.draws, stop_after=EXCEEDANCES, rng=levels.rng)
    expected = [pmf * row.sum() for pmf, row in zip(laws, counts, strict=True)]
    distance = tv_from_law(counts, laws)
    low = (
        _anytime_low(settings, draws, depth, words, laws, levels)
        if levels.early
        else distance.lower_bound(levels.alpha)
    )
    return _judged(
        settings,
        depth,
        level=known.level,
        samples=len(draws.tokens),
        lost=draws.lost_fraction,
        test=test,
        distance=distance,
        low=low,
        high=1.0 if levels.early else tv_upper_bound(test, delta=levels.delta, tail_mass=hidden),
        misfit=misfit(words, counts, expected),
    )


def _anytime_low(
    settings: LawSettings,
    draws: Draws,
    depth: int,
    words: Sequence[Sequence[Word]],
    laws: Sequence[NDArray[np.float64]],
    levels: Levels,
) -> float:
    """A lower bound that holds although the sample was ended by what it showed; 0 where a prompt has no words."""
    rows = draws.tokens[:, depth : depth + settings.word_length]
    cells = []
    for prompt, listed in enumerate(words):
        number = {word: cell for cell, word in enumerate(listed)}
        mine = rows[draws.prompt_index == prompt].tolist()
        spelt = [tuple(END if code == END else draws.vocabulary[code] for code in word) for word in mine]
        cells.append([number.get(word, len(listed) - 1) for word in spelt])
    rounds = min(map(len, cells))
    if not rounds:
        return 0.0
    table = np.array([column[:rounds] for column in cells]).T
    return anytime_tv_lower_bound(table, laws, delta=levels.alpha)


def view_between(
    settings: LawSettings, subject: Draws, reference: Draws, depth: int, classes: TokenClasses, levels: Levels
) -> JudgedView:
    """Judge a depth at which only the reference's own words are known, prompt by prompt.

    Words are compared in the classes that the pilot chose. For the test, cells that both arms together hardly saw form
    one lump per prompt, which depends on the totals only, as a permutation wants it.
    """
    ours, theirs, words = [], [], []
    for prompt in range(settings.prompts):
        mine, other = (
            classes.counts(prompt, word_counts(settings, draws, depth, prompt)) for draws in (subject, reference)
        )
        cells = _well_filled(mine, other)
        ours.append(_row(mine, cells))
        theirs.append(_row(other, cells))
        words.append([*cells, (RARE,)])
    test = homogeneity(ours, theirs, draws=levels.draws, stop_after=EXCEEDANCES, rng=levels.rng)
    expected = [other / max(1, other.sum()) * mine.sum() for mine, other in zip(ours, theirs, strict=True)]
    distance = tv_between(ours, theirs)
    return _judged(
        settings,
        depth,
        level="sampled" if classes.lossless else f"sampled, {settings.classes} classes a token",
        samples=len(subject.tokens),
        lost=subject.lost_fraction + reference.lost_fraction,
        test=test,
        distance=distance,
        low=0.0 if levels.early else distance.lower_bound(levels.alpha),
        high=1.0 if levels.early else _bound_between(settings, subject, reference, depth, classes, levels.delta),
        misfit=misfit(words, ours, expected),
    )


def _bound_between(
    settings: LawSettings, subject: Draws, reference: Draws, depth: int, classes: TokenClasses, delta: float
) -> float:
    """Upper bound of the total variation where only the reference's own words are known.

    Here the subject's words alone choose which cells stand for themselves. What the lump of the others can hide is
    bounded by the reference's share in it, and that is an honest estimate only where the reference had no say in
    what the lump is. A lump that would be ill filled takes the rarest cell in; the share is always counted with it.
    """
    counts = [
        tuple(classes.counts(prompt, word_counts(settings, draws, depth, prompt)) for draws in (subject, reference))
        for prompt in range(settings.prompts)
    ]
    if classes.outside_usual <= settings.tolerance / 2:
        return _bound_of_the_unusual(counts, classes, delta)
    ours, theirs = [], []
    hidden = 0
    for mine, other in counts:
        enough = MIN_EXPECTED * (mine.total() + other.total()) / max(1, min(mine.total(), other.total()))
        cells = sorted((word for word in mine if mine[word] >= enough), key=lambda word: (-mine[word], str(word)))
        hidden += int(_row(other, cells[:-1])[-1])
        lump = int(_row(mine, cells)[-1] + _row(other, cells)[-1])
        stand = cells[:-1] if 0 < lump < enough and len(cells) > 1 else cells
        ours.append(_row(mine, stand))
        theirs.append(_row(other, stand))
    tail = proportion_upper(hidden, len(reference.tokens), delta / 2)
    return tv_upper_bound(homogeneity(ours, theirs), delta=delta / 2, tail_mass=tail)


def _bound_of_the_unusual(counts: Sequence[tuple[Counter[Word], ...]], classes: TokenClasses, delta: float) -> float:
    """Upper bound where the pilot's words at every prompt are nearly all one and the same.

    With r and p the mass of all other words in either arm, the total variation is at most the larger of the two, and
    over several prompts at most their sum.
    """
    shares = [
        proportion_upper(
            sum(one[arm].total() - one[arm][usual] for one, usual in zip(counts, classes.usual, strict=True)),
            sum(one[arm].total() for one in counts),
            delta / 2,
        )
        for arm in (0, 1)
    ]
    return min(1.0, max(shares) if len(counts) == 1 else sum(shares))


def _well_filled(mine: Counter[Word], other: Counter[Word]) -> list[Word]:
    """The cells that expect at least 5 draws in each arm; so does the lump of the others, or it is empty."""
    n, m = mine.total(), other.total()
    enough = MIN_EXPECTED * (n + m) / max(1, min(n, m))
    both = mine + other
    cells = sorted((word for word in both if both[word] >= enough), key=lambda word: (-both[word], str(word)))
    lump = both.total() - sum(both[word] for word in cells)
    if 0 < lump < enough and len(cells) > 1:
        cells.pop()
    return cells


def _row(counted: Counter[Word], cells: list[Word]) -> NDArray[np.int64]:
    """Counts of the cells, then of all other words together."""
    row = [counted[word] for word in cells]
    return np.array([*row, counted.total() - sum(row)])


def _judged(
    settings: LawSettings,
    depth: int,
    *,
    level: str,
    samples: int,
    lost: float,
    test: ChiSquareTest,
    distance: TotalVariation,
    low: float,
    high: float,
    misfit: Misfit,
) -> JudgedView:
    """Put a view together; what was lost may have been lost by choice and widens both bounds."""
    assert test.monte_carlo is not None
    return JudgedView(
        words=f"words of {settings.word_length} tokens from depth {depth}",
        level=level,
        samples=samples,
        estimate=distance.estimate,
        under_equality=distance.expected_under_equality,
        statistic=test.statistic,
        dof=test.dof,
        effective_size=test.effective_size,
        p_value=test.monte_carlo.p_value,
        method="permutation" if level.startswith("sampled") else "Monte Carlo",
        low=max(0.0, low - lost),
        high=min(1.0, high + lost),
        witness=misfit.witness(f"at depth {depth}"),
        cells=misfit.exhibit(f"from depth {depth}"),
    )
