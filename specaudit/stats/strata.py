"""Counts and laws by stratum (prompt, path or bin), checked where they enter.

A stratum is a set of draws that share one law. Strata may have different numbers of cells, hence a
matrix `[S, C]` or a sequence of S one-dimensional arrays `[C_s]`.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Strata: TypeAlias = Sequence[npt.ArrayLike] | npt.NDArray[Any]
Counts: TypeAlias = npt.NDArray[np.int64]
Law: TypeAlias = npt.NDArray[np.float64]

LAW_SUM_SLACK = 1e-6
"""How far a pmf may sum from 1: laws rebuilt from float32 logprobs are that exact."""


def check_counts(counts: Strata, name: str = "counts") -> list[Counts]:
    """Checked counts, one `[C_s]` array per stratum.

    Raises:
        ValueError: there is no stratum, a stratum has no cell or is not one-dimensional, or a count is
            negative, fractional or not finite.
    """
    strata = [np.asarray(row) for row in counts]
    if not strata:
        raise ValueError(f"{name}: there is no stratum")
    for s, row in enumerate(strata):
        if row.ndim != 1:
            raise ValueError(f"{name}: expected shape [S, C] or S arrays [C_s], stratum {s} has {row.ndim} axes")
        if row.size == 0:
            raise ValueError(f"{name}: stratum {s} has no cell")
        if not (np.isfinite(row).all() and (row >= 0).all() and (row == np.floor(row)).all()):
            raise ValueError(f"{name}: stratum {s} holds values that are not counts (negative, fractional or NaN)")
    return [row.astype(np.int64) for row in strata]


def check_laws(laws: Strata, counts: Sequence[Counts]) -> list[Law]:
    """Checked pmfs that match `counts` cell by cell, one `[C_s]` array per stratum, each summing to 1.

    Raises:
        ValueError: shapes differ from those of `counts`, a probability is negative or NaN, or a law's
            sum is further than 1e-6 from 1.
    """
    strata = [np.asarray(row, dtype=np.float64) for row in laws]
    if len(strata) != len(counts):
        raise ValueError(f"{len(counts)} strata of counts but {len(strata)} laws")
    for s, (row, observed) in enumerate(zip(strata, counts, strict=True)):
        if row.shape != observed.shape:
            raise ValueError(f"stratum {s}: counts of shape {observed.shape} but a law of shape {row.shape}")
        if not (row >= 0).all():
            raise ValueError(f"stratum {s}: the law holds negative or NaN probabilities")
        if not abs(row.sum() - 1) <= LAW_SUM_SLACK:
            raise ValueError(f"stratum {s}: the law sums to {row.sum():.9g}, not to 1")
    return [row / row.sum() for row in strata]


def sampled(counts: Strata, laws: Strata) -> list[tuple[Counts, Law]]:
    """The strata of a one-sample comparison that hold at least one draw, as `(counts [C_s], law [C_s])`.

    Raises:
        ValueError: bad counts or laws, or no draw at all.
    """
    checked = check_counts(counts)
    pairs = [(row, law) for row, law in zip(checked, check_laws(laws, checked), strict=True) if row.any()]
    if not pairs:
        raise ValueError("there are no draws to compare with the law")
    return pairs


def paired(first: Strata, second: Strata) -> list[tuple[Counts, Counts]]:
    """The strata of a two-sample comparison in which both arms hold a draw, as two `[C_s]` arrays.

    Raises:
        ValueError: bad counts, arms that differ in strata or cells, or no stratum with both arms.
    """
    one, two = check_counts(first, "first arm"), check_counts(second, "second arm")
    if [row.shape for row in one] != [row.shape for row in two]:
        raise ValueError("the two arms differ in their strata or in the cells of a stratum")
    pairs = [(x, y) for x, y in zip(one, two, strict=True) if x.any() and y.any()]
    if not pairs:
        raise ValueError("there is no stratum in which both arms have draws")
    return pairs
