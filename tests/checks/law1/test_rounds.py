"""LAW1's sample in rounds, and the bets on pairs that may end it where no law is known."""

import msgspec
import numpy as np
import pytest

from specaudit.checks.interface import budget_of
from specaudit.checks.law1.check import EmittedLaw
from specaudit.checks.law1.pairs import bet_on_pairs
from specaudit.checks.law1.settings import LawSettings
from specaudit.model.finding import Verdict
from specaudit.model.request import Sampling
from tests.checks.chains import SETTINGS, START, draw, law_evidence
from tests.checks.drive import drive, engine

CHECK = EmittedLaw()
SMALL = LawSettings(tolerance=0.2, sampling=Sampling(top_k=4), prompts=3, choices=16)
WRONG = np.array([[0.5, 0.5], [0.35, 0.65]])


def test_each_round_is_as_large_as_all_before_it_and_asks_for_every_prompt():
    evidence = drive(CHECK, SMALL, engine(), reveal=True)
    rounds = [evidence.stages[name].slots() for name in evidence.parts("LAW1.sample")]
    sizes = [len(slots) for slots in rounds]
    assert len(sizes) > 3
    for earlier in range(1, len(sizes)):
        assert abs(sizes[earlier] - sum(sizes[:earlier])) <= SMALL.prompts
    for slots in rounds:
        assert {planned.prompt_index for planned in slots} == {0, 1, 2}


def test_no_round_repeats_a_seed():
    evidence = drive(CHECK, SMALL, engine(), reveal=True)
    slots = [planned for name in evidence.parts("LAW1.sample") for planned in evidence.stages[name].slots()]
    seeds = [planned.request.seed + choice for planned in slots for choice in range(planned.request.n)]
    assert len(set(seeds)) == len(seeds)


def test_the_sample_ends_with_the_round_that_is_enough_unless_all_of_it_is_wanted():
    faulty = engine("resid-from-target")
    early = drive(CHECK, SMALL, faulty, reveal=True)
    whole = drive(CHECK, msgspec.structs.replace(SMALL, fixed_n=True), engine("resid-from-target"), reveal=True)
    assert len(early.parts("LAW1.sample")) < len(whole.parts("LAW1.sample"))


def pairs(subject, reference, *, alpha=1e-3, choices=10, grouped=False, lost=0):
    rng = np.random.default_rng(9)
    samples = {"subject": subject, "reference": reference}
    evidence = law_evidence(samples, exact=False, pilot=draw(rng, 400), choices=choices, lost=lost)
    return bet_on_pairs(SETTINGS, evidence, alpha=alpha, grouped=grouped)


def test_pairs_show_another_law_and_say_after_how_many_tokens():
    rng = np.random.default_rng(1)
    found = pairs(draw(rng, 3000, START, WRONG), draw(rng, 3000))
    assert found.rejected_after is not None
    assert found.rejected_after < 2000
    assert found.leader.startswith("all tokens ")


def test_pairs_of_one_law_are_rejected_at_most_at_the_level():
    """Of 300 audits at .05 more than 28 alarms have a probability below 1e-3."""
    rng = np.random.default_rng(2)
    alarms = sum(pairs(draw(rng, 200), draw(rng, 200), alpha=0.05).rejected_after is not None for _ in range(300))
    assert alarms <= 28


def test_copied_choices_count_once():
    rng = np.random.default_rng(3)
    copies = np.repeat(draw(rng, 40), 64, axis=0)
    assert pairs(copies, draw(rng, 2560), choices=64).tokens == 4 * 2560
    grouped = pairs(copies, draw(rng, 2560), choices=64, grouped=True)
    assert grouped.tokens == 4 * 40
    assert grouped.rejected_after is None


def test_after_a_loss_nothing_is_bet():
    rng = np.random.default_rng(4)
    assert pairs(draw(rng, 300, START, WRONG), draw(rng, 300), choices=100, lost=1) is None


@pytest.mark.parametrize("seed", [0, 1])
def test_judging_finds_what_ended_the_sample(seed):
    evidence = drive(CHECK, SMALL, engine("resid-from-target"), seed=seed, logprobs=0, logprobs_mode="unknown")
    finding = CHECK.judge(SMALL, evidence, budget_of(evidence.plan, "LAW1"))
    assert finding.verdict is Verdict.VIOLATES
    assert finding.betting.rejected_after is not None
