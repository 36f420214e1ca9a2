"""Bets on tokens in plan order: when they reject, where they end, and how often they reject a healthy subject."""

import numpy as np
import pytest

from specaudit.checks.betting import best_of, bet
from specaudit.checks.tokens import Emission, Scoring, emissions, walk
from specaudit.laws.contexts import ScoredLaws
from specaudit.laws.edge import Edge
from specaudit.model.finding import Betting
from specaudit.model.plan import Stage
from tests.model.builders import answer, attempt, evidence, planned

LAW = {0: 0.7, 1: 0.2, 2: 0.1}
OTHER = {0: 0.5, 1: 0.3, 2: 0.2}


class OneLaw:
    """The same law in every context."""

    def start(self, prompt):
        return ()

    def after(self, key, token):
        return ()

    def next_law(self, key):
        return LAW


def drawn(rng, law, completions, tokens=8):
    rows = rng.choice(list(law), p=list(law.values()), size=(completions, tokens)).tolist()
    return [Emission(slot=slot, prompt=(), tokens=tuple(row), asked=tokens) for slot, row in enumerate(rows)]


def betting(emitted, *, alpha=1e-3, groups=None):
    return bet([walk(OneLaw(), emitted).scored(first=0, seed=0, groups=groups)], alpha)


def test_another_law_is_rejected_after_a_few_hundred_tokens_and_the_bets_say_when():
    found = betting(drawn(np.random.default_rng(0), OTHER, 400))
    assert found.rejected_after is not None
    assert 50 < found.rejected_after < 800
    assert found.rejected_after % 8 == 0  # bets are looked at between completions
    assert found.tokens == 3200
    assert found.p_value == pytest.approx(np.exp(-found.log_e))


def test_a_healthy_subject_is_rejected_at_most_at_the_level():
    """Of 400 audits at .05 more than 34 alarms have a probability below 1e-3."""
    rng = np.random.default_rng(1)
    alarms = sum(betting(drawn(rng, LAW, 40), alpha=0.05).rejected_after is not None for _ in range(400))
    assert alarms <= 34


def test_a_token_that_the_target_never_emits_ends_it_at_once():
    emitted = [*drawn(np.random.default_rng(2), LAW, 3), Emission(slot=3, prompt=(), tokens=(0, 9), asked=2)]
    found = betting(emitted)
    assert found.rejected_after == 26
    assert found.log_e is None
    assert found.p_value == 0


def test_bets_end_at_the_first_loss():
    """What was lost may have been chosen, and what came back behind it was then chosen by being kept."""
    emitted = drawn(np.random.default_rng(3), OTHER, 400)
    emitted[2] = Emission(slot=2, prompt=(), tokens=None, asked=8)
    found = betting(emitted)
    assert found.tokens == 16
    assert found.rejected_after is None
    emitted[0] = emitted[2]
    assert betting(emitted) is None


def test_copies_in_one_group_count_once():
    one = drawn(np.random.default_rng(4), LAW, 4)
    copies = [Emission(slot=slot // 64, prompt=(), tokens=one[slot // 64].tokens, asked=8) for slot in range(256)]
    assert betting(copies).rejected_after is not None
    assert betting(copies, groups=[one.slot for one in copies]).rejected_after is None


def test_a_part_may_be_folded_in_pieces():
    emitted = drawn(np.random.default_rng(5), OTHER, 60)
    whole = betting(emitted)
    pieces = bet(
        [walk(OneLaw(), emitted[a : a + 20]).scored(first=a, seed=0) for a in (0, 20, 40)],
        1e-3,
    )
    assert pieces == whole


def test_a_completion_is_followed_as_far_as_laws_are_known():
    laws = ScoredLaws({(): LAW, (0,): LAW})
    edges = {(): Edge(tokens=frozenset(), beyond=False), (0,): Edge(tokens=frozenset([2]), beyond=False)}
    emitted = [Emission(slot=0, prompt=(), tokens=row, asked=3) for row in ((0, 1, 2), (1, 1, 1))]
    scored = walk(laws, emitted, edges=edges).scored(first=0, seed=0)
    assert scored.known.depth.tolist() == [0, 1, 0]
    assert scored.known.completions.lengths.tolist() == [2, 1]
    # A law that is not known is no loss: that it is not follows from the context.
    assert (scored.broken, scored.unbroken) == (False, 2)


def test_nothing_scored_is_nothing():
    scored = Scoring().scored(first=0, seed=0)
    assert (scored.known, scored.broken) == (None, False)
    assert bet([], 0.1) is None
    assert bet([scored], 0.1) is None


def test_bets_end_at_a_part_of_which_nothing_came_back():
    faulty = drawn(np.random.default_rng(6), OTHER, 60)
    lost = [Emission(slot=0, prompt=(), tokens=None, asked=8)]
    parts = {name: walk(OneLaw(), part).scored(first=0, seed=0) for name, part in (("all", faulty), ("lost", lost))}
    assert parts["lost"].known is None
    assert parts["lost"].unscored.tolist() == list(range(8))
    assert bet([parts["all"], parts["all"]], 1e-3).tokens == 960
    assert bet([parts["all"], parts["lost"], parts["all"]], 1e-3).tokens == 480
    assert bet([parts["lost"], parts["all"]], 1e-3) is None


def test_bets_end_at_a_part_whose_last_completion_was_lost():
    some = drawn(np.random.default_rng(7), LAW, 20)
    spoilt = walk(OneLaw(), [*some, Emission(slot=20, prompt=(), tokens=None, asked=8)]).scored(first=0, seed=0)
    assert (spoilt.broken, spoilt.unbroken) == (True, 20)
    assert bet([spoilt, walk(OneLaw(), some).scored(first=21, seed=0)], 1e-3).tokens == 160


def test_emissions_are_whole_or_lost_and_what_was_never_asked_is_neither():
    stage = Stage(name="s", blocks=((planned(n=2), planned(), planned()),))
    attempts = [attempt("s", 0, answer([1, 2, 3], [1])), attempt("s", 1)]
    found = emissions(evidence(stage, attempts), "s", "subject")
    assert [(one.slot, one.tokens) for one in found] == [(0, (1, 2, 3)), (0, None), (1, None)]


def test_the_bet_that_rejected_comes_before_the_one_that_earned_more():
    richer = Betting(log_e=6.0, p_value=0.002, tokens=9, rejected_after=None, leader="a")
    enough = Betting(log_e=5.0, p_value=0.007, tokens=9, rejected_after=4, leader="b")
    best = best_of([richer, None, enough])
    assert best.leader == "b"
    assert best.p_value == pytest.approx(3 * 0.007)
    assert best_of([None]) is None
