"""Which parameters each arm applies at all: told by completions under far values beside completions without."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.law5.requests import EFFECT, effect_answers, effect_ways
from specaudit.checks.law5.settings import MatrixSettings
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Role
from specaudit.model.request import Token
from specaudit.stats.homogeneity import homogeneity
from specaudit.stats.mmd import hamming_mmd

Effect = Literal["applied", "not seen", "unknown"]

_LEVEL = 1e-3
"""Of calling a parameter applied that is not; no verdict depends on it."""
_DRAWS = 3999
_EXCEEDANCES = 20


def effects(settings: MatrixSettings, evidence: Evidence) -> dict[str, dict[Role, Effect]]:
    """Return for each parameter whether it changes what each arm says; nothing for engines in process."""
    if EFFECT not in evidence.stages:
        return {}
    ways = effect_ways(settings, evidence)
    arms: tuple[Role, ...] = ("subject", "reference")
    found: dict[str, dict[Role, Effect]] = {}
    for name, sampling in ways.items():
        if name:
            found[name] = {
                arm: _effect(effect_answers(evidence, arm, ways[""]), effect_answers(evidence, arm, sampling))
                for arm in arms
            }
    return found


def _effect(without: Sequence[tuple[Token, ...]], under: Sequence[tuple[Token, ...]]) -> Effect:
    """Compare completions by their tokens at each place, by how many different ones they have, and by their pairs."""
    if min(len(without), len(under)) < 8:
        return "unknown"
    vocabulary = {
        token: code for code, token in enumerate(sorted({t for row in (*without, *under) for t in row}, key=str))
    }
    first, second = (np.array([[vocabulary[token] for token in row] for row in rows]) for rows in (without, under))
    rng = np.random.default_rng(0)
    p_values = [
        _by_place(first, second, rng),
        _by_counts(_different(first), _different(second), rng),
        _by_counts(_begins(first, first), _begins(second, first), rng),
    ]
    return "applied" if len(p_values) * min(p_values) <= _LEVEL else "not seen"


def _by_place(first: NDArray[np.int64], second: NDArray[np.int64], rng: np.random.Generator) -> float:
    one = np.zeros(len(first), dtype=np.int64), np.zeros(len(second), dtype=np.int64)
    found = hamming_mmd(first, second, *one, rng=rng, draws=_DRAWS, stop_after=_EXCEEDANCES).monte_carlo
    assert found is not None
    return found.p_value


def _by_counts(first: NDArray[np.int64], second: NDArray[np.int64], rng: np.random.Generator) -> float:
    size = int(max(first.max(), second.max())) + 1
    counts = [np.bincount(one, minlength=size) for one in (first, second)]
    found = homogeneity([counts[0]], [counts[1]], rng=rng, draws=_DRAWS, stop_after=_EXCEEDANCES).monte_carlo
    assert found is not None
    return found.p_value


def _different(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many different tokens each completion has."""
    ranked = np.sort(rows, axis=1)
    return np.asarray(1 + (ranked[:, 1:] != ranked[:, :-1]).sum(axis=1))


def _begins(rows: NDArray[np.int64], common: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whether each completion holds the pair of tokens that most of others begin with."""
    pairs, counts = np.unique(common[:, :2], axis=0, return_counts=True)
    a, b = pairs[int(np.argmax(counts))]
    return np.asarray(((rows[:, :-1] == a) & (rows[:, 1:] == b)).sum(axis=1))
