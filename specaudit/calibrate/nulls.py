"""Audits of healthy subjects, and of subjects exactly at the tolerance, by every method that a verdict rests on.

At the level .05 there are 2,000 audits and at most 131 may be wrong, at 1e-3 20,000 and 35: more has a probability
below 1e-3. Each audit gives a p-value; where a method gives a bound instead, which misses the truth or not, 0 or 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from specaudit.model.calibration import Alarms
from specaudit.model.record import Record
from specaudit.stats.betting import mean_interval
from specaudit.stats.budget import holm
from specaudit.stats.distance import tv_from_law, tv_upper_bound
from specaudit.stats.evalues.contexts import Completions, ContextTable
from specaudit.stats.evalues.pairs import PairProcess
from specaudit.stats.evalues.portfolio import Portfolio
from specaudit.stats.evalues.process import Process
from specaudit.stats.evalues.witness import anytime_tv_lower_bound
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.homogeneity import homogeneity
from specaudit.stats.intervals import excess_p, proportion_upper, ratio_interval
from specaudit.stats.mmd import hamming_mmd
from specaudit.stats.montecarlo import MonteCarlo
from specaudit.stats.ties import LIMITS, excess_bound, flip_floor, triage

RULES = {0.05: (2000, 131), 1e-3: (20_000, 35)}
"""Audits by level, and how many of them may be wrong."""

CHUNKS = 8

_EXCEEDANCES = 50
"""Null draws beyond the statistic after which a p-value is clear enough, where it need not be uniform."""

TOLERANCE = 0.05

Array = npt.NDArray[np.float64]
Audit = Callable[[np.random.Generator, float], float]
"""One audit at a level."""

Simulate = Callable[[np.random.Generator, dict[str, Any]], MonteCarlo | None]
"""A test by Monte Carlo, given how many draws it makes."""

Error = Literal["false alarm", "false conforms"]

BINS = np.array([0.3, 0.2, 0.12, 0.1, 0.08, 0.07, 0.05, 0.04, 0.025, 0.015])


@dataclass(frozen=True, kw_only=True)
class NullMethod:
    """A method with audits that it ought to be right about.

    Attributes:
        audit: Gives a p-value, or 0 where a bound misses and 1 where it holds.
        error: What it is to be wrong.
        uniform: Whether p-values at the largest level are uniform, as randomised ones of a fixed size are.
        negative_control: Known to be wrong too often.
    """

    audit: Audit
    error: Error = "false alarm"
    uniform: bool = False
    negative_control: bool = False


class AlarmTask(Record, frozen=True, kw_only=True, tag="alarms"):
    """A share of a method's audits, with a random stream of its own."""

    method: str
    level: float
    audits: int
    seed: int
    stream: int


def alarm_tasks(*, seed: int, levels: Sequence[float]) -> list[AlarmTask]:
    """Return all audits of all methods at those levels, in chunks."""
    places = [(level, name) for level in levels for name in METHODS]
    return [
        AlarmTask(
            method=name,
            level=level,
            audits=RULES[level][0] // CHUNKS,
            seed=seed,
            stream=number * CHUNKS + chunk,
        )
        for number, (level, name) in enumerate(places)
        for chunk in range(CHUNKS)
    ]


def alarms(task: AlarmTask) -> Alarms:
    """Carry out a share of a method's audits."""
    rng = np.random.default_rng(np.random.SeedSequence(task.seed, spawn_key=(task.stream,)))
    method = METHODS[task.method]
    p_values = np.array([method.audit(rng, task.level) for _ in range(task.audits)])
    kept = p_values if method.uniform and task.level == max(RULES) else p_values[:0]
    return Alarms(
        method=task.method,
        level=task.level,
        audits=task.audits,
        wrong=int((p_values <= task.level).sum()),
        p_values=tuple(float(f"{p:.6g}") for p in kept),
    )


def _simulated(simulate: Simulate) -> Audit:
    """p-values by Monte Carlo: randomised ones at the largest level, at others those that audits decide by."""

    def audit(rng: np.random.Generator, level: float) -> float:
        fixed = level == max(RULES)
        rule = {"draws": ceil(10 / level) - 1, "stop_after": None if fixed else _EXCEEDANCES}
        found = simulate(rng, rule)
        assert found is not None
        return found.randomised_p(rng.random()) if fixed else found.p_value

    return audit


def _goodness(rng: np.random.Generator, rule: dict[str, Any]) -> MonteCarlo | None:
    return goodness_of_fit([rng.multinomial(300, BINS)], [BINS], rng=rng, **rule).monte_carlo


def _homogeneity(rng: np.random.Generator, rule: dict[str, Any]) -> MonteCarlo | None:
    """Two prompts whose laws differ, asked unequally often."""
    first, second = ([rng.multinomial(n, BINS), rng.multinomial(m, BINS[::-1])] for n, m in ((200, 50), (50, 200)))
    return homogeneity(first, second, rng=rng, **rule).monte_carlo


def _model_equality(rng: np.random.Generator, rule: dict[str, Any]) -> MonteCarlo | None:
    """Three prompts, eight ragged completions each, by Hamming MMD."""
    prompts = np.repeat(np.arange(3), 8)
    tokens = np.where(rng.random((2, 24, 12)) < 0.7, prompts[:, None], rng.integers(3, 6, size=(2, 24, 12)))
    first, second = np.where(np.arange(12) < rng.integers(4, 13, size=(2, 24, 1)), tokens, -1)
    return hamming_mmd(first, second, prompts, prompts, rng=rng, **rule).monte_carlo


def _portfolio() -> Audit:
    """25 completions of 6 tokens in random contexts, against 12 laws with q and the raw law known."""
    rng = np.random.default_rng(0)
    logits = 1.5 * rng.normal(size=(12, 6))
    laws = ContextTable(
        p=_softmax(logits), q=_softmax(logits + 0.7 * rng.normal(size=(12, 6))), raw=_softmax(0.8 * logits)
    )
    portfolio = Portfolio(laws)
    scored, cumulative = portfolio.score(laws), laws.p.cumsum(axis=1)[:, :-1]
    ones = np.ones(25, dtype=np.intp)

    def audit(rng: np.random.Generator, level: float) -> float:
        context = rng.integers(12, size=150)
        completions = Completions(
            context=context,
            cell=(cumulative[context] < rng.random((150, 1))).sum(axis=1),
            uniform=rng.random(150),
            lengths=6 * ones,
            lost=0 * ones,
            groups=ones,
        )
        process = Process(portfolio)
        process.fold(scored, completions)
        return process.value().p_value

    return audit


def _softmax(logits: Array) -> Array:
    weights = np.exp(logits)
    laws: Array = weights / weights.sum(axis=-1, keepdims=True)
    return laws


def _pairs(rng: np.random.Generator, level: float) -> float:
    process = PairProcess({"rank": len(BINS), "first": 2})
    arms = rng.choice(len(BINS), size=(2, 200), p=BINS)
    process.fold(*np.stack([arms, arms == 0], axis=2).astype(int))
    return process.value().p_value


def _witness(rng: np.random.Generator, level: float) -> float:
    cells = rng.choice(len(BINS), size=(200, 1), p=BINS)
    return _missed(anytime_tv_lower_bound(cells, [BINS], delta=level) > 0)


def _mean(rng: np.random.Generator, level: float) -> float:
    interval = mean_interval(rng.random(200) < 0.3, level)
    return _missed(not interval.low <= 0.3 <= interval.high)


def _holm(rng: np.random.Generator, level: float) -> float:
    """Five healthy checks whose p-values go together, and one at fault."""
    shared = rng.random()
    p_values = {str(i): shared if rng.random() < 0.5 else rng.random() for i in range(5)}
    return _missed(bool(holm(p_values | {"fault": 0.0}, level).rejected - {"fault"}))


def _copies(rng: np.random.Generator, level: float) -> float:
    return excess_p(int(rng.binomial(500, 0.02)), 500, int(rng.binomial(800, 0.02)), 800)


def _acceptance(rng: np.random.Generator, level: float) -> float:
    drafts = rng.integers(200, 400, size=40)
    interval = ratio_interval(rng.binomial(drafts, rng.beta(70, 30, size=40)), drafts, 1 - level)
    return _missed(not interval.low <= 0.7 <= interval.high)


def _looking_again(rng: np.random.Generator, level: float) -> float:
    """The smallest p-value of a chi-square test looked at after every 20 of 400 words, none of the looks paid for."""
    from scipy.special import chdtrc

    counts = rng.multinomial(20, BINS, size=20).cumsum(axis=0)
    expected = counts.sum(axis=1, keepdims=True) * BINS
    return float(chdtrc(len(BINS) - 1, ((counts - expected) ** 2 / expected).sum(axis=1)).min())


def _at_the_tolerance(spread: bool) -> Array:
    """A law at the tolerance from BINS: moved evenly between halves of the cells, or from the first to the last."""
    if not spread:
        moved = np.zeros(len(BINS))
        moved[[0, -1]] = -TOLERANCE, TOLERANCE
        return BINS + moved
    sign = np.where(np.arange(len(BINS)) % 2, 1.0, -1.0)
    up, down = BINS[sign > 0].sum(), BINS[sign < 0].sum()
    law: Array = BINS * (1 + TOLERANCE * np.where(sign > 0, 1 / up, -1 / down))
    return law


def _chi_square_bound(law: Array, n: int) -> Audit:
    def audit(rng: np.random.Generator, level: float) -> float:
        test = goodness_of_fit([rng.multinomial(n, law)], [BINS])
        return _missed(tv_upper_bound(test, delta=level) < TOLERANCE)

    return audit


def _two_sample_bound(law: Array, n: int) -> Audit:
    def audit(rng: np.random.Generator, level: float) -> float:
        test = homogeneity([rng.multinomial(n, law)], [rng.multinomial(n, BINS)])
        return _missed(tv_upper_bound(test, delta=level) < TOLERANCE)

    return audit


def _mcdiarmid_bound(law: Array, n: int) -> Audit:
    def audit(rng: np.random.Generator, level: float) -> float:
        return _missed(tv_from_law([rng.multinomial(n, law)], [BINS]).upper_bound(level) < TOLERANCE)

    return audit


def _rate_bound(rng: np.random.Generator, level: float) -> float:
    return _missed(proportion_upper(int(rng.binomial(400, TOLERANCE)), 400, level) < TOLERANCE)


def _flips(rng: np.random.Generator, level: float) -> float:
    """300 positions of greedy decoding against two floors, the higher of which they share."""

    def positions(count: int, rates: Array) -> tuple[Array, Array]:
        margins = rng.exponential(0.7, size=count)
        flipped = rng.random(count) < np.append(rates, 0.0)[np.searchsorted(LIMITS, margins)]
        return np.where(flipped, margins, 0.0), margins

    high = np.array([0.3, 0.1, 0.03, 0.01, 0.001, 0.0001])
    floors = [flip_floor(*positions(1000, high)), flip_floor(*positions(1000, high / 3))]
    return triage(*positions(300, high), floors, level).p_value


def _excess(rng: np.random.Generator, level: float) -> float:
    """A subject that diverges beyond plain decoding's own 10 % by exactly the tolerance, against three floors."""
    floors = [(int(rng.binomial(400, share)), 400) for share in (0.1, 0.05, 0.02)]
    return _missed(excess_bound(int(rng.binomial(400, 0.1 + TOLERANCE)), 400, floors, level) < TOLERANCE)


def _missed(wrong: bool) -> float:
    return 0.0 if wrong else 1.0


def _bounds() -> dict[str, NullMethod]:
    laws = {"two cells": _at_the_tolerance(spread=False), "all cells": _at_the_tolerance(spread=True)}
    audits: dict[str, Audit] = {"Clopper-Pearson bound of a rate": _rate_bound}
    for told, law in laws.items():
        audits |= {
            f"chi-square bound of TV, {told}": _chi_square_bound(law, 2000),
            f"two-sample bound of TV, {told}": _two_sample_bound(law, 4000),
            f"McDiarmid's bound of TV, {told}": _mcdiarmid_bound(law, 2000),
        }
    return {name: NullMethod(audit=audit, error="false conforms") for name, audit in audits.items()}


METHODS: Mapping[str, NullMethod] = {
    "chi-square of a known law": NullMethod(audit=_simulated(_goodness), uniform=True),
    "chi-square of two arms": NullMethod(audit=_simulated(_homogeneity), uniform=True),
    "Hamming MMD of two arms": NullMethod(audit=_simulated(_model_equality), uniform=True),
    "portfolio of bets": NullMethod(audit=_portfolio()),
    "bets on pairs": NullMethod(audit=_pairs),
    "anytime lower bound of TV": NullMethod(audit=_witness),
    "anytime interval of a mean": NullMethod(audit=_mean),
    "Holm over dependent checks": NullMethod(audit=_holm),
    "Fisher's test of copies": NullMethod(audit=_copies),
    "acceptance over windows": NullMethod(audit=_acceptance),
    "flips against noise floors": NullMethod(audit=_flips),
    "bound of a share beyond the floors": NullMethod(audit=_excess, error="false conforms"),
    **_bounds(),
    "chi-square looked at again and again": NullMethod(audit=_looking_again, negative_control=True),
}
