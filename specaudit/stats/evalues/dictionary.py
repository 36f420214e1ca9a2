"""The part of the portfolio that knows what it looks for: one bet per alternative law.

A bet with stake λ on the law a multiplies its wealth by f(x) = 1 + λ (a(x)/p(x) - 1) at each token, the likelihood
ratio of (1 - λ) p + λ a against p. With stake below 1 no token ruins it. The right stake is the share of tokens that
have the faulty law: those at drafted positions. Missing it by a factor r leaves about r (2 - r) of the growth rate.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np

from specaudit.stats import alternatives
from specaudit.stats.evalues.contexts import ContextTable, Indices, Laws, Mask
from specaudit.stats.evalues.slack import band, largest_mean

LENIENCES = (0.8, 0.9, 0.95, 0.98)
TILTS = (0.01, 0.03, 0.1, 0.3)
"""Relative errors of 1/temperature; in steps of 3, so that one between two keeps most of its growth rate."""
DRAFT_TEMPERATURES = (0.7, 1.4)
LEAN = 0.2
NUCLEUS = 0.9

# What was seen in engines weighs three times what is only a direction. A law that is everywhere or nowhere, and
# rules no token out, is bet on nearly whole.
_FAULT = {0.9: 3.0, 0.3: 1.0}
_DOSED_FAULT = {0.9: 3.0}
_TILT = {0.97: 3.0}
_DIRECTION = {0.9: 1.0}

_MOST_ODDS = 1e100
"""Where p is so small that a/p overflows the bet is lowered, which it may always be."""


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """A law to bet on.

    Attributes:
        name: What the subject would have done.
        law: Makes the law `[C, V]` of a table's contexts.
        stakes: Weight of each bet, not normalised, by its stake, which is inside (0, 1).
    """

    name: str
    law: Callable[[ContextTable], Laws]
    stakes: Mapping[float, float]


def alternatives_for(table: ContextTable) -> tuple[Alternative, ...]:
    """All alternatives whose laws follow from what the table holds: at most 50 bets without `others`."""
    known = [
        _of_target(f"p^{1 + sign * tilt:g}", partial(alternatives.tempered, exponent=1 + sign * tilt), _TILT)
        for tilt in TILTS
        for sign in (1, -1)
    ]
    known.append(_of_target("greedy", alternatives.greedy, {0.3: 1.0, 0.05: 1.0}))
    known.append(_of_target("flat nucleus", alternatives.flat_nucleus, {0.1: 1.0}))
    known.append(_of_target(f"nucleus {NUCLEUS:g}", partial(alternatives.sharper_nucleus, mass=NUCLEUS), _DIRECTION))
    if table.q is not None:
        known.extend(_of_drafts(name, law, _FAULT) for name, law in alternatives.DRAFTED.items())
        known.extend(
            _of_drafts(f"lenience {lenience:g}", partial(alternatives.lenient, lenience=lenience), _DOSED_FAULT)
            for lenience in LENIENCES
        )
        known.extend(
            _of_drafts(f"draft-temp-mismatch {dose:g}", partial(alternatives.tempered_draft, dose=dose), _DIRECTION)
            for dose in DRAFT_TEMPERATURES
        )
        known.append(_of_drafts("some of q", alternatives.unverified, {0.05: 1.0}))
        known.extend(
            _of_drafts(f"lean {lean:+g} to q", partial(alternatives.leaned, lean=lean), _DIRECTION)
            for lean in (LEAN, -LEAN)
        )
    if table.raw is not None:
        known.append(Alternative(name="target-unwarped", law=attrgetter("raw"), stakes=_FAULT))
    known.extend(Alternative(name=name, law=partial(_other, name=name), stakes=_FAULT) for name in table.others)
    return tuple(known)


def _of_target(name: str, law: Callable[[Laws], Laws], stakes: Mapping[float, float]) -> Alternative:
    return Alternative(name=name, law=lambda table: law(table.p), stakes=stakes)


def _of_drafts(name: str, law: Callable[[Laws, Laws], Laws], stakes: Mapping[float, float]) -> Alternative:
    def of_table(table: ContextTable) -> Laws:
        assert table.q is not None
        return law(table.p, table.q)

    return Alternative(name=name, law=of_table, stakes=stakes)


def _other(table: ContextTable, name: str) -> Laws:
    return table.others[name]


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredBets:
    """The alternatives held against p, for one table of contexts.

    Attributes:
        odds: a(x)/p(x), both given that x is no edge cell `[C * V, A]`; 1 where nothing is bet.
        worst: Largest mean of the odds over the band of numeric slack `[C, A]`.
    """

    odds: Laws
    worst: Laws


class Dictionary:
    """The bets on known laws.

    Args:
        known: What to bet on.
        slack: Half-width η of the band of log p that is taken for equality.
        edges: Whether tables will have edge cells.

    Attributes:
        names: Name of each of the J bets: its alternative and stake.
        weights: Share of each `[J]`.
        floor: Smallest that the log factor of each could ever be `[J]`.
    """

    def __init__(self, known: Sequence[Alternative], slack: float, *, edges: bool = False) -> None:
        self._known = tuple(known)
        self._slack = slack
        self._law = np.repeat(np.arange(len(known)), [len(alternative.stakes) for alternative in known])
        self._stakes = np.array([stake for alternative in known for stake in alternative.stakes])
        self.names = tuple(f"{alternative.name} ×{stake:g}" for alternative in known for stake in alternative.stakes)
        self.weights = np.array([weight for alternative in known for weight in alternative.stakes.values()])
        self.weights /= self.weights.sum()
        # f ≥ 1 - λ always, and its divisor is at most 1 - λ + λ e^η, with η twice as large where there are edge cells.
        self.floor = np.log1p(-self._stakes) - np.log1p(self._stakes * np.expm1(2 * slack if edges else slack))

    def score(self, table: ContextTable) -> ScoredBets:
        """Hold every alternative against p in every context."""
        bettable = np.ones(table.p.shape, dtype=np.bool_) if table.edge is None else ~table.edge
        law = given(table.p, bettable, table.p)
        odds = np.ones((*table.p.shape, len(self._known)))
        worst = np.ones((len(table.p), len(self._known)))
        for k, alternative in enumerate(self._known):
            leaning = given(alternative.law(table), bettable, law)
            np.divide(leaning, law, out=odds[..., k], where=law > 0)
            np.minimum(odds[..., k], _MOST_ODDS, out=odds[..., k])
            if self._slack:
                worst[:, k] = largest_mean(odds[..., k], law, band(self._slack, table.edge))
        return ScoredBets(odds=odds.reshape(-1, len(self._known)), worst=worst)

    def log_factors(self, scored: ScoredBets, entry: Indices, context: Indices) -> Laws:
        """Log f - log M of every bet at every token `[N, J]`; `entry [N]` is context · V + cell."""
        factors = np.take(np.take(scored.odds, entry, axis=0), self._law, axis=1)
        factors -= 1
        factors *= self._stakes
        np.log1p(factors, out=factors)
        if self._slack:
            factors -= np.log1p(self._stakes * (scored.worst[context][:, self._law] - 1))
        return factors


def given(laws: Laws, cells: Mask, otherwise: Laws) -> Laws:
    """Laws given that the token is one of `cells` `[C, V]`; the row of `otherwise` where that cannot be."""
    inside = laws * cells
    mass = inside.sum(axis=1, keepdims=True)
    conditional: Laws = np.divide(inside, mass, out=otherwise.copy(), where=mass > 0)
    return conditional
