"""Bounds, of subjects exactly at the tolerance: one that is below it is a false `conforms`."""

from collections.abc import Mapping

import numpy as np

from specaudit.calibrate.nulls.method import BINS, TOLERANCE, Array, Audit, NullMethod, missed
from specaudit.stats.distance import tv_from_law, tv_upper_bound
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.homogeneity import homogeneity
from specaudit.stats.intervals import proportion_upper
from specaudit.stats.ties import excess_bound


def at_the_tolerance(spread: bool) -> Array:
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
        return missed(tv_upper_bound(test, delta=level) < TOLERANCE)

    return audit


def _two_sample_bound(law: Array, n: int) -> Audit:
    def audit(rng: np.random.Generator, level: float) -> float:
        test = homogeneity([rng.multinomial(n, law)], [rng.multinomial(n, BINS)])
        return missed(tv_upper_bound(test, delta=level) < TOLERANCE)

    return audit


def _mcdiarmid_bound(law: Array, n: int) -> Audit:
    def audit(rng: np.random.Generator, level: float) -> float:
        return missed(tv_from_law([rng.multinomial(n, law)], [BINS]).upper_bound(level) < TOLERANCE)

    return audit


def _rate_bound(rng: np.random.Generator, level: float) -> float:
    return missed(proportion_upper(int(rng.binomial(400, TOLERANCE)), 400, level) < TOLERANCE)


def _excess(rng: np.random.Generator, level: float) -> float:
    """A subject that diverges beyond plain decoding's own 10 % by exactly the tolerance, against three floors."""
    floors = [(int(rng.binomial(400, share)), 400) for share in (0.1, 0.05, 0.02)]
    return missed(excess_bound(int(rng.binomial(400, 0.1 + TOLERANCE)), 400, floors, level) < TOLERANCE)


def _bounds() -> dict[str, NullMethod]:
    laws = {"two cells": at_the_tolerance(spread=False), "all cells": at_the_tolerance(spread=True)}
    audits: dict[str, Audit] = {
        "bound of a share beyond the floors": _excess,
        "Clopper-Pearson bound of a rate": _rate_bound,
    }
    for told, law in laws.items():
        audits |= {
            f"chi-square bound of TV, {told}": _chi_square_bound(law, 2000),
            f"two-sample bound of TV, {told}": _two_sample_bound(law, 4000),
            f"McDiarmid's bound of TV, {told}": _mcdiarmid_bound(law, 2000),
        }
    return {name: NullMethod(audit=audit, error="false conforms") for name, audit in audits.items()}


METHODS: Mapping[str, NullMethod] = _bounds()
