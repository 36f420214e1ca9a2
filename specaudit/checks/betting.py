"""Betting on a subject's tokens, as the checks of the law do it."""

from collections.abc import Iterable, Sequence
from math import isfinite, log

import msgspec
import numpy as np
from numpy.typing import NDArray

from specaudit.checks.tokens import ScoredTokens
from specaudit.model.finding import Betting
from specaudit.stats.evalues.contexts import Completions
from specaudit.stats.evalues.portfolio import Portfolio
from specaudit.stats.evalues.process import Process
from specaudit.stats.evalues.wealth import Wealth

_STEPS = 120
"""Points of a path that are kept; more than a drawing shows."""

_RUINED = -700.0
"""Stands for the logarithm of nothing, which JSON cannot hold."""


def bet(parts: Iterable[ScoredTokens], alpha: float, *, slack: float = 0.0) -> Betting | None:
    """Bet on tokens in the order of the plan, as if they were just coming in, up to the first that was lost.

    None where there is no token before that: what was lost may have been chosen, and what came behind it was then
    chosen by being kept.

    Args:
        parts: Tokens of the plan's stages in order; all must know the same laws.
        alpha: The bet's share of the error budget.
        slack: Natural logarithms by which the laws may be off without any fault.
    """
    process: Process | None = None
    portfolio: Portfolio | None = None
    sizes: list[NDArray[np.int64]] = []
    for part in parts:
        if part.known is not None:
            table = part.known.laws.table
            if portfolio is None or process is None:
                portfolio = Portfolio(table, slack=slack)
                process = Process(portfolio)
            kept = _first(part.known.completions, part.unbroken)
            if kept is not None:
                process.fold(portfolio.score(table), kept)
                sizes.append(np.add.reduceat(kept.lengths, np.cumsum(kept.groups) - kept.groups))
        if part.broken:
            break
    return None if process is None or not sizes else summed_up(process, np.concatenate(sizes).tolist(), alpha)


def _first(completions: Completions, count: int) -> Completions | None:
    """The groups that lie within the first `count` completions."""
    groups = int(np.searchsorted(np.cumsum(completions.groups), count, side="right"))
    if not groups:
        return None
    rows = int(completions.groups[:groups].sum())
    tokens = int(completions.lengths[:rows].sum())
    return Completions(
        context=completions.context[:tokens],
        cell=completions.cell[:tokens],
        uniform=completions.uniform[:tokens],
        lengths=completions.lengths[:rows],
        lost=completions.lost[:rows],
        groups=completions.groups[:groups],
    )


def summed_up(process: Wealth, sizes: Sequence[int], alpha: float) -> Betting:
    """Sum up what was earned.

    Args:
        process: Everything is folded in.
        sizes: Tokens of each group that was folded.
        alpha: The bet's share of the error budget.
    """
    value, at = process.value(), process.rejected_at(alpha)
    return Betting(
        log_e=value.log_sup if isfinite(value.log_sup) else None,
        p_value=value.p_value,
        tokens=sum(sizes),
        rejected_after=None if at is None else sum(sizes[:at]),
        leader=value.leader,
        threshold=-log(alpha),
        path=_path(process, sizes),
    )


def _path(process: Wealth, sizes: Sequence[int]) -> tuple[tuple[int, float | None], ...]:
    """What was earned after so many tokens, in even steps; the largest value is always one of them."""
    earned, tokens = process.path, np.concatenate([[0], np.cumsum(sizes)])
    even = np.linspace(0, len(earned) - 1, min(len(earned), _STEPS)).round().astype(np.int64)
    shown = np.unique([*even, int(earned.argmax())])
    return tuple(
        (int(at), None if log_e == np.inf else max(float(log_e), _RUINED))
        for at, log_e in zip(tokens[shown], earned[shown], strict=True)
    )


def best_of(bets: Sequence[Betting | None]) -> Betting | None:
    """Return the bet that earned most, one that has rejected before all others; None where there is none.

    Each was made with an even share of the budget: the p-value of the best of n is n times its own.
    """
    found = [one for one in bets if one is not None]
    best = max(found, key=lambda one: (one.rejected_after is not None, -one.p_value), default=None)
    return None if best is None else msgspec.structs.replace(best, p_value=min(1.0, len(bets) * best.p_value))
