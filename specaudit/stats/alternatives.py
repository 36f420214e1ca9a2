"""Laws that the emitted token would have if the engine had a known fault.

All are laws at a position that was drafted: of a draft `x ~ q`, accepted or replaced. With the draft's law d (q unless
the fault is about it), the probability b(x) of accepting x and the residual law r they read

    a(z) = d(z) b(z) + (1 - Σ_x d(x) b(x)) r(z),

which for d = q, b = min(1, p/q) and r = norm(max(0, p - q)) is p itself (Leviathan, Kalman, Matias 2023, appendix
A.1). A fault changes one of the three. The law does not depend on how many drafts were accepted before, so it holds
at every position of a step that was reached; undrafted positions (first token, bonus token) keep p. Which positions
were drafted is not seen from outside: the law of a token is a mixture (1 - ε) p + ε a, and ε is for whoever bets.

Shapes: laws are `[N, V]`, one row per context, each summing to 1; p is processed, q as sampled.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Laws: TypeAlias = npt.NDArray[np.float64]

COIN_GRID = 101
"""Values of the coin in OpenVINO GenAI's rule: 0, .01, …, 1."""

_MAX_ODDS = 1e6
"""Bound of q/p and p/q in `leaned`, so that a token one law forbids does not take the other's whole mass."""

_CHUNK_ELEMENTS = 1 << 21


def residual_from_target(p: Laws, q: Laws) -> Laws:
    """A rejected draft is replaced by a draw of p: min(p, q) + (1 - Σ min(p, q)) p."""
    return _emitted(q, _ratio_test(p, q), p)


def residual_from_difference(p: Laws, q: Laws) -> Laws:
    """A rejected draft is replaced by a draw of norm(|p - q|)."""
    return _emitted(q, _ratio_test(p, q), _normalised(np.abs(p - q), p))


def lenient(p: Laws, q: Laws, lenience: float) -> Laws:
    """A draft is accepted while u < p/(ℓ q), for a lenience 0 < ℓ ≤ 1."""
    return _emitted(q, _ratio_test(p / lenience, q), _residual(p, q))


def unverified(p: Laws, q: Laws) -> Laws:
    """Every draft is committed: q."""
    return q


def accepted_on_target(p: Laws, q: Laws) -> Laws:
    """A draft is accepted while u < p, whatever its q."""
    return _emitted(q, p, _residual(p, q))


def matched_then_redrawn(p: Laws, q: Laws) -> Laws:
    """A draft is accepted if a draw of p equals it; otherwise p is drawn once more."""
    return _emitted(q, p, p)


def inverted_ratio(p: Laws, q: Laws) -> Laws:
    """A draft x is accepted while r ≤ q(x)/p(y), y a draw of p and r a coin of 101 values; otherwise y is emitted.

    With the passing chance c(x, y) = min(1, (⌊100 q(x)/p(y)⌋ + 1) / 101) the law is a(z) = q(z) Σ_y p(y) c(z, y) +
    p(z) Σ_x q(x) (1 - c(x, z)). Takes O(N V²) time.
    """
    rows = max(1, _CHUNK_ELEMENTS // p.shape[1] ** 2)
    law = np.empty_like(p)
    for start in range(0, len(p), rows):
        part = slice(start, start + rows)
        drawn, draft = p[part, None, :], q[part, :, None]
        odds = np.divide(draft, drawn, out=np.full((*draft.shape[:2], p.shape[1]), np.inf), where=drawn > 0)
        passing = np.minimum(np.floor(np.minimum(odds, 1) * (COIN_GRID - 1)) + 1, COIN_GRID) / COIN_GRID
        law[part] = q[part] * (drawn * passing).sum(axis=2) + p[part] * (draft * (1 - passing)).sum(axis=1)
    return law


def misdeclared(p: Laws, *, drawn: Laws, declared: Laws) -> Laws:
    """Drafts come from one law and are judged, and replaced, as if they came from another."""
    return _emitted(drawn, _ratio_test(p, declared), _residual(p, declared))


def greedy_draft(p: Laws, q: Laws) -> Laws:
    """The draft is the drafter's most likely token, and q is declared."""
    return misdeclared(p, drawn=greedy(q), declared=q)


def tempered_draft(p: Laws, q: Laws, dose: float) -> Laws:
    """The draft is drawn at `dose` times the temperature of q, and q is declared."""
    return misdeclared(p, drawn=tempered(q, 1 / dose), declared=q)


def tempered(p: Laws, exponent: float) -> Laws:
    """p^exponent, normalised: temperature 1/exponent relative to the one that p has already."""
    powers = np.power(p, exponent, out=np.zeros_like(p), where=p > 0)
    return _normalised(powers, p)


def leaned(p: Laws, q: Laws, lean: float) -> Laws:
    """p^(1-ε) q^ε, normalised: on the way from p towards q, or away from it if the lean ε is negative.

    The odds q/p are clipped to 1e-6 … 1e6; tokens with p = 0 stay impossible.
    """
    odds = np.divide(q, p, out=np.ones_like(p), where=p > 0)
    return _normalised(p * np.clip(odds, 1 / _MAX_ODDS, _MAX_ODDS) ** lean, p)


def greedy(p: Laws) -> Laws:
    """All mass on the most likely token, the first of equals."""
    return np.asarray(np.arange(p.shape[1]) == p.argmax(axis=1)[:, None], dtype=np.float64)


def sharper_nucleus(p: Laws, mass: float) -> Laws:
    """Cut p to the smallest set of most likely tokens that holds `mass`, normalised."""
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    cut = np.zeros_like(p)
    np.put_along_axis(cut, order, np.where(before < mass, ranked, 0), axis=1)
    return _normalised(cut, p)


def flat_nucleus(p: Laws) -> Laws:
    """Uniform over the tokens that p allows."""
    return _normalised((p > 0).astype(np.float64), p)


DRAFTED: dict[str, Callable[[Laws, Laws], Laws]] = {
    "resid-from-target": residual_from_target,
    "resid-abs": residual_from_difference,
    "unverified": unverified,
    "accept-raw-p": accepted_on_target,
    "match-then-p": matched_then_redrawn,
    "inverted-ratio": inverted_ratio,
    "argmax-draft-soft-q": greedy_draft,
}
"""Faults of a drafted position without a dose, by name: functions of p and q."""


def _ratio_test(p: Laws, q: Laws) -> Laws:
    """Probability min(1, p/q) of accepting each token; 1 where q = 0."""
    return np.minimum(1, np.divide(p, q, out=np.ones_like(p), where=q > 0))


def _residual(p: Laws, q: Laws) -> Laws:
    return _normalised(np.maximum(p - q, 0), p)


def _normalised(weights: Laws, otherwise: Laws) -> Laws:
    """Rows of weights divided by their sums; a row without weight becomes that of `otherwise`."""
    sums = weights.sum(axis=1, keepdims=True)
    laws: Laws = np.divide(weights, sums, out=otherwise.copy(), where=sums > 0)
    return laws


def _emitted(drawn: Laws, acceptance: Laws, residual: Laws) -> Laws:
    kept = drawn * acceptance
    law: Laws = kept + np.maximum(0, 1 - kept.sum(axis=1, keepdims=True)) * residual
    return law
