"""The laws of known faults, against drawing from the faulty rule, as its text says, token by token."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from specaudit.decoding.worlds import MARKOV4
from specaudit.mutants import registry
from specaudit.stats import alternatives

P = np.array([0.45, 0.3, 0.15, 0.1, 0.0])
Q = np.array([0.2, 0.35, 0.0, 0.4, 0.05])
DRAWS = 400_000
LEAVING = 5 / np.sqrt(DRAWS)
"""Five standard deviations of a frequency near 1/2, hence more of any other; 40 comparisons, error below 1e-4."""


def law_of(name):
    """The law that the module gives the fault."""
    p, q = P[None], Q[None]
    if name.startswith("lenience"):
        return alternatives.lenient(p, q, float(name.split()[1]))[0]
    if name == "draft-temp-mismatch":
        return alternatives.tempered_draft(p, q, 0.5)[0]
    return alternatives.DRAFTED[name](p, q)[0]


def drawn(name, rng):
    """Frequencies of what the faulty rule emits, draft by draft."""
    draft = rng.choice(5, size=DRAWS, p=Q)
    u = rng.random(DRAWS)
    accepted = u * Q[draft] < P[draft]
    left = np.maximum(P - Q, 0)
    if name.startswith("lenience"):
        accepted = u < P[draft] / (float(name.split()[1]) * Q[draft])
    elif name == "unverified":
        accepted = np.ones(DRAWS, dtype=bool)
    elif name == "accept-raw-p":
        accepted = u < P[draft]
    elif name == "resid-from-target":
        left = P
    elif name == "resid-abs":
        left = abs(P - Q)
    elif name == "match-then-p":
        accepted, left = draft == rng.choice(5, size=DRAWS, p=P), P
    elif name == "inverted-ratio":
        other = rng.choice(5, size=DRAWS, p=P)
        accepted = rng.integers(0, 101, size=DRAWS) / 100 <= Q[draft] / P[other]
        draft, accepted = np.where(accepted, draft, other), np.ones(DRAWS, dtype=bool)
    elif name == "argmax-draft-soft-q":
        draft = np.full(DRAWS, 3)
        accepted = u * Q[draft] < P[draft]
    elif name == "draft-temp-mismatch":
        draft = rng.choice(5, size=DRAWS, p=Q**2 / (Q**2).sum())
        accepted = u * Q[draft] < P[draft]
    replacement = rng.choice(5, size=DRAWS, p=left / left.sum())
    return np.bincount(np.where(accepted, draft, replacement), minlength=5) / DRAWS


@pytest.mark.parametrize("name", [*alternatives.DRAFTED, "lenience 0.8", "lenience 0.95", "draft-temp-mismatch"])
def test_the_law_of_a_fault_is_what_its_rule_emits(name):
    rng = np.random.default_rng(sum(map(ord, name)))
    assert abs(law_of(name) - drawn(name, rng)).max() < LEAVING
    assert abs(law_of(name) - P).sum() > 0.02


def test_the_rule_without_a_fault_emits_the_target():
    exact = alternatives.misdeclared(P[None], drawn=Q[None], declared=Q[None])
    np.testing.assert_allclose(exact[0], P, atol=1e-15)
    np.testing.assert_allclose(alternatives.lenient(P[None], Q[None], 1.0)[0], P, atol=1e-15)


REQUESTS = 50_000
TARGET, DRAFTER = (np.exp(model.logits(np.arange(-1, 4))) for model in (MARKOV4.target, MARKOV4.drafter.model))
MUTANTS = {
    "accept-raw-p": alternatives.accepted_on_target,
    "argmax-draft-soft-q": alternatives.greedy_draft,
    "draft-temp-mismatch:2": partial(alternatives.tempered_draft, dose=2),
    "inverted-ratio": alternatives.inverted_ratio,
    "lenience:0.8": partial(alternatives.lenient, lenience=0.8),
    "lenience:0.95": partial(alternatives.lenient, lenience=0.95),
    "match-then-p": alternatives.matched_then_redrawn,
    "resid-abs": alternatives.residual_from_difference,
    "resid-from-target": alternatives.residual_from_target,
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_sampling_mutant_emits_that_law_in_every_context(name):
    """Three drafts a step from the first token on, capped behind the third: every token counted was drafted.

    Frequencies in 5 contexts of 4 tokens; five standard deviations each, 180 comparisons, error below 2e-4.
    """
    decoder = registry.get(name).build(MARKOV4, draft_tokens=3, first_token="drafted")
    tokens = decoder.generate(np.empty((REQUESTS, 0), dtype=int), np.arange(REQUESTS), max_tokens=4).tokens
    contexts = np.concatenate([np.zeros((REQUESTS, 1), dtype=int), tokens[:, :2] + 1], axis=1)
    counts = np.bincount((contexts * 4 + tokens[:, :3]).ravel(), minlength=20).reshape(5, 4)
    draws = counts.sum(axis=1, keepdims=True)
    law = MUTANTS[name](TARGET, DRAFTER)
    assert (abs(counts / draws - law) < 5 * np.sqrt(law * (1 - law) / draws) + 1e-12).all()
    assert (abs(counts / draws - TARGET) > 5 * np.sqrt(TARGET * (1 - TARGET) / draws)).any()


WEIGHTS = arrays(np.float64, (2, 4), elements=st.sampled_from([0.0, 1e-300, 1e-9, 0.2, 1.0, 3.0])).filter(
    lambda w: (w.sum(axis=1) > 1e-9).all()
)


@given(WEIGHTS, st.sampled_from([*alternatives.DRAFTED, "lenience", "lean", "tilt", "nucleus", "flat", "greedy"]))
def test_every_alternative_is_a_law(weights, name):
    p, q = (weights / weights.sum(axis=1, keepdims=True))[:, None]
    others = {
        "lenience": lambda: alternatives.lenient(p, q, 0.9),
        "lean": lambda: alternatives.leaned(p, q, -0.3),
        "tilt": lambda: alternatives.tempered(p, 0.7),
        "nucleus": lambda: alternatives.sharper_nucleus(p, 0.8),
        "flat": lambda: alternatives.flat_nucleus(p),
        "greedy": lambda: alternatives.greedy(p),
    }
    law = others[name]() if name in others else alternatives.DRAFTED[name](p, q)
    assert law.shape == p.shape
    assert (law >= 0).all()
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=1e-12)


def test_equal_laws_leave_nothing_to_replace():
    p = P[None]
    for name in ("resid-from-target", "resid-abs", "unverified"):
        np.testing.assert_allclose(alternatives.DRAFTED[name](p, p), p, atol=1e-15)


def test_temperature_is_the_inverse_exponent():
    logits = np.array([[2.0, 1.0, -1.0]])
    softmax = np.exp(logits) / np.exp(logits).sum()
    cooler = np.exp(logits / 0.5) / np.exp(logits / 0.5).sum()
    np.testing.assert_allclose(alternatives.tempered(softmax, 2.0), cooler)


def test_leans_go_from_p_to_q_and_beyond_but_never_where_p_forbids():
    p, q = np.array([[0.5, 0.3, 0.2, 0.0]]), np.array([[0.2, 0.3, 0.0, 0.5]])
    towards, away = alternatives.leaned(p, q, 0.3)[0], alternatives.leaned(p, q, -0.3)[0]
    assert towards[0] / towards[1] < p[0, 0] / p[0, 1] < away[0] / away[1]
    assert towards[3] == away[3] == 0
    assert away[2] < 1
    np.testing.assert_allclose(alternatives.leaned(p, q, 0.0), p)
    both = np.array([[0.4, 0.6]])
    np.testing.assert_allclose(alternatives.leaned(both, both[:, ::-1], 1.0), both[:, ::-1])


def test_a_sharper_nucleus_keeps_the_fewest_tokens_that_hold_the_mass():
    p = np.array([[0.1, 0.5, 0.2, 0.2]])
    np.testing.assert_allclose(alternatives.sharper_nucleus(p, 0.7), [[0, 5 / 7, 2 / 7, 0]])
    np.testing.assert_allclose(alternatives.sharper_nucleus(p, 0.4), [[0, 1, 0, 0]])
    np.testing.assert_allclose(alternatives.flat_nucleus(np.array([[0.9, 0.0, 0.1]])), [[0.5, 0, 0.5]])


def test_many_contexts_are_computed_in_parts():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(200), size=(2, 120))
    whole = alternatives.inverted_ratio(p, q)
    np.testing.assert_array_equal(whole[:1], alternatives.inverted_ratio(p[:1], q[:1]))
    np.testing.assert_array_equal(whole[-1:], alternatives.inverted_ratio(p[-1:], q[-1:]))
