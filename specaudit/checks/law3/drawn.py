"""Where the law is not told: a token of the reference in the same context, beside each of the subject's."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.betting import summed_up
from specaudit.checks.exhibits import cells
from specaudit.checks.law3.depths import BINS, CHOOSING, Range
from specaudit.checks.law3.requests import SAMPLE, SCORE, scorable
from specaudit.checks.law3.settings import DepthSettings
from specaudit.checks.law3.views import TokensView
from specaudit.checks.scoring import scores_of
from specaudit.checks.whole_sample import EXCEEDANCES, Levels
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Betting, Witness
from specaudit.model.request import Token
from specaudit.stats.chisquare import MIN_EXPECTED
from specaudit.stats.distance import tv_between
from specaudit.stats.evalues.pairs import MAX_CELLS, PairProcess
from specaudit.stats.homogeneity import homogeneity
from specaudit.stats.matched import compare_matched

_DEVIATIONS = 2.0
"""Standard deviations by which a token may have come more often by chance than it is common."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two tokens in one context."""

    depth: int
    ours: Token
    theirs: Token


@dataclass(frozen=True, kw_only=True)
class PairedRound:
    """A round of pairs in plan order, and what is not among them."""

    pairs: tuple[Pair, ...]
    unbroken: int
    """Pairs before the first loss. What came behind it may have been chosen by being kept, so bets end there."""
    lost: tuple[int, ...]
    """Depths of the pairs that were to be and are not, since either answer was lost."""


def paired_rounds(settings: DepthSettings, evidence: Evidence) -> Iterator[PairedRound]:
    """Return the pairs of each round, in plan order."""
    for number in range(len(evidence.parts(SAMPLE))):
        answers = iter(scores_of(evidence, f"{SCORE}.{number}"))
        pairs: list[Pair] = []
        lost: list[int] = []
        unbroken: int | None = None
        for one in scorable(evidence.plan, settings, evidence, "drawn", number):
            missed = list(one.lost)
            for place, response in zip(one.places, answers, strict=False):
                assert place.depth is not None, "whole completions are scored by logprobs only"
                told = response.completions[0].tokens if response is not None and response.completions else None
                if told:
                    pairs.append(Pair(depth=place.depth, ours=place.tokens[place.depth], theirs=told[0]))
                else:
                    missed.append(place.depth)
                    unbroken = len(pairs) if unbroken is None else unbroken
            if one.lost and unbroken is None:
                unbroken = len(pairs)
            lost += missed
        yield PairedRound(pairs=tuple(pairs), unbroken=len(pairs) if unbroken is None else unbroken, lost=tuple(lost))


def bet_on_draws(rounds: Iterable[PairedRound], alpha: float) -> Betting | None:
    """Bet that the arms' tokens differ, in cells that the rounds before chose; None before the second round.

    Given the context, both tokens are draws of one law under the null and independent, so that every pair counts.
    """
    process = PairProcess({"tokens": MAX_CELLS})
    seen: Counter[Token] = Counter()
    folded = 0
    for one in rounds:
        pairs = one.pairs[: one.unbroken]
        if seen and pairs:
            rows = _celled(pairs, _most_common(seen, MAX_CELLS - 1), rest=MAX_CELLS - 1)
            process.fold(rows[:, :1], rows[:, 1:])
            folded += len(pairs)
        if one.lost:
            break
        seen.update(token for pair in pairs for token in (pair.ours, pair.theirs))
    return summed_up(process, [1] * folded, alpha) if folded else None


def judge_drawn(depths: Range, rounds: Sequence[PairedRound], levels: Levels) -> TokensView | None:
    """Test the pairs of one range for equal laws, and bound how far these are apart; None where there is no pair.

    The test takes all pairs for two samples: that they share their contexts makes the permutation conservative. The
    bound takes them pair by pair, in cells that the first pairs chose, which are then no part of it.
    """
    mine = [pair for one in rounds for pair in one.pairs if depths.first <= pair.depth < depths.end]
    if not mine:
        return None
    lost = sum(depths.first <= depth < depths.end for one in rounds for depth in one.lost)
    missing = lost / (len(mine) + lost)
    tokens = sorted({token for pair in mine for token in (pair.ours, pair.theirs)}, key=str)
    ours, theirs = (_counts(tokens, [getattr(pair, name) for pair in mine]) for name in ("ours", "theirs"))
    test = homogeneity([ours], [theirs], draws=levels.draws, stop_after=EXCEEDANCES, rng=levels.rng)
    assert test.monte_carlo is not None
    distance = tv_between([ours], [theirs])
    worst = int(np.argmax((ours - theirs) ** 2 / np.maximum(ours + theirs, 1)))
    return TokensView(
        name=depths.name,
        depths=depths,
        law="sampled in context",
        bins=f"at most {BINS} cells of tokens",
        test=test,
        distance=distance,
        p_value=test.monte_carlo.p_value,
        missing=missing,
        low=0.0 if levels.early else max(0.0, distance.lower_bound(levels.alpha) - missing),
        high=1.0 if levels.early else min(1.0, _bound(mine, levels.delta) + missing),
        witness=Witness(
            what=f"token {tokens[worst]!r} at {depths.name}",
            observed=float(ours[worst] / len(mine)),
            expected=float(theirs[worst] / len(mine)),
            unit="share of tokens",
        ),
        cells=cells(
            f"Tokens at {depths.name}",
            [str(token) for token in tokens],
            ours,
            theirs,
            note="Expected is what the reference drew in the same contexts.",
        ),
    )


def _bound(pairs: Sequence[Pair], delta: float) -> float:
    """Upper bound of the total variation in cells of tokens that the first pairs found common."""
    chosen = ceil(len(pairs) * CHOOSING)
    rest = pairs[chosen:]
    if len(rest) < 2:
        return 1.0
    alone = _alone([pair.theirs for pair in pairs[:chosen]], len(rest))
    rows = _celled(rest, alone, rest=len(alone))
    return compare_matched(rows[:, 0], rows[:, 1], len(alone) + 1).upper_bound(delta)


def _alone(drawn: Sequence[Token], pairs: int) -> list[Token]:
    """Tokens common enough for a cell of their own among so many pairs, as long as enough is left for the last cell."""
    counted = Counter(drawn)
    enough = MIN_EXPECTED * len(drawn) / pairs
    found: list[Token] = []
    left = len(drawn)
    for token in _most_common(counted, BINS - 1):
        left -= counted[token]
        fewest = min(counted[token], left)
        if fewest - _DEVIATIONS * sqrt(fewest) < enough:
            break
        found.append(token)
    return found


def _most_common(seen: Counter[Token], most: int) -> list[Token]:
    """The most common tokens; equal counts are ranked by token, so that ties are settled."""
    return sorted(seen, key=lambda token: (-seen[token], str(token)))[:most]


def _celled(pairs: Sequence[Pair], alone: Sequence[Token], *, rest: int) -> NDArray[np.int64]:
    """Cells of both tokens of each pair `[N, 2]`: those of some tokens alone, and one for the rest."""
    cell = {token: number for number, token in enumerate(alone)}
    return np.array([[cell.get(token, rest) for token in (pair.ours, pair.theirs)] for pair in pairs])


def _counts(tokens: list[Token], drawn: list[Token]) -> NDArray[np.int64]:
    counted = Counter(drawn)
    return np.array([counted[token] for token in tokens])
