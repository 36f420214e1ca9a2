"""Policies on the decoder's scheduler: against the formula, brute force, and what must be true of any of them."""

from itertools import product

import numpy as np
import pytest

from specaudit.claims.simulation.compare import compare
from specaudit.claims.simulation.policies import adaptive, by_batch, fairest, fixed, oracle, ragged_seconds
from specaudit.claims.simulation.run import serve
from specaudit.claims.simulation.workload import Kind, Workload, workload, world_of
from specaudit.claims.speed_up import Bucket, Speculation
from specaudit.claims.tokens import Shape, chain_tokens
from specaudit.decoding.drafters.acceptance import measure_acceptance
from specaudit.decoding.drafters.interface import Sequences
from specaudit.decoding.scheduler import Scheduling
from tests.claims.cases import CHOSEN, chosen_deployment, light

KINDS = [Kind(name=name, **given) for name, given in CHOSEN["policies"]["mix"].items()]
RATES = np.array([kind.acceptance for kind in KINDS])
SPECULATION = Speculation(deployment=chosen_deployment(), drafter=light(0.016), acceptance=0.7)
NO_LIMITS = Scheduling()


def load(count: int, *, rate: float | None = None, tokens: tuple[int, int] = (32, 48), seed: int = 0) -> Workload:
    return workload(KINDS, requests=count, rate=rate, shortest=tokens[0], longest=tokens[1], seed=seed)


def test_a_request_stays_of_its_kind_and_its_drafts_are_accepted_as_often_as_said() -> None:
    world = world_of(KINDS)
    for number, kind in enumerate(KINDS):
        contexts = Sequences(
            slots=np.arange(2),
            tokens=np.array([[2 * number], [2 * number + 1]]),
            lengths=np.array([1, 1]),
            features=None,
        )
        found = measure_acceptance(world.drafter(2), world.target, contexts, draft_tokens=3, seed=0)
        assert found.per_position == pytest.approx([kind.acceptance] * 3)


@pytest.mark.parametrize("drafts", [0, 4])
def test_alone_requests_take_what_the_formula_says(drafts: int) -> None:
    """Over a mix of tokens the times add up: each kind's tokens over its tokens a step, at one price a step."""
    found = load(32, tokens=(96, 96))
    served = serve(found, SPECULATION, fixed(drafts), prompt=1024, limits=Scheduling(max_requests=1), prefill=False)
    counts = np.bincount(found.kind, minlength=len(KINDS))
    seconds = float(SPECULATION.seconds(Shape.chain(drafts), 1, 1024 + 48))
    expected = float((counts * 96 / chain_tokens(RATES, drafts)).sum()) * seconds
    # Chance: .6 of a step's tokens over the root of 1,250 steps is 1.7 %. First tokens are undrafted, last steps short.
    assert served.seconds == pytest.approx(expected, rel=0.08 if drafts else 1e-3)
    assert served.batch == pytest.approx(1)


@pytest.mark.parametrize("counts", [(1, 0, 0), (5, 8, 3), (40, 80, 30), (0, 200, 56)])
def test_the_oracle_finds_what_trying_all_lengths_finds(counts: tuple[int, ...]) -> None:
    most, many = 4, np.array(counts)

    def gain(lengths: np.ndarray) -> float:
        seconds = ragged_seconds(SPECULATION, np.repeat(lengths, many), np.full(many.sum(), 1100.0))
        return float((many * np.log(chain_tokens(RATES, lengths))).sum() - many.sum() * np.log(seconds))

    found = fairest(SPECULATION, RATES, many, most, 1100.0)
    every = (np.array(lengths) for lengths in product(range(most + 1), repeat=3))
    assert gain(found) == pytest.approx(max(map(gain, every)), abs=1e-9)


def test_with_prices_that_forbid_it_the_oracle_drafts_nothing() -> None:
    assert fairest(SPECULATION, RATES, np.array([0, 900, 0]), 8, 100.0).tolist() == [0, 0, 0]


@pytest.mark.parametrize("batch", [1, 32, 200])
def test_knowing_everything_is_no_worse_than_a_fixed_length_or_none(batch: int) -> None:
    found = load(max(8, 2 * batch))
    limits = Scheduling(max_requests=batch)
    policies = (fixed(0), fixed(4), oracle(SPECULATION, RATES.tolist(), 8, 1050.0))
    plain, four, knowing = (
        serve(found, SPECULATION, policy, prompt=1024, limits=limits, prefill=False).crowded for policy in policies
    )
    assert knowing > 0.97 * max(plain, four)  # three in a hundred is what few requests differ by


def test_every_token_is_served_whatever_the_policy() -> None:
    found = load(30, rate=30.0)
    policies = (fixed(0), fixed(3), adaptive(6), by_batch([Bucket(first=1, last=4, draft_tokens=5)]))
    for policy in policies:
        served = serve(found, SPECULATION, policy, prompt=1024, limits=NO_LIMITS)
        assert (served.first >= found.arrivals).all()
        assert (served.last >= served.first).all()
        assert np.isfinite(served.last).all()
        assert (served.drafted == 0) == (policy.name == "plain")


def test_where_arithmetic_decides_speculation_slows_requests_down_and_hard_ones_first() -> None:
    found = load(500, tokens=(16, 24))
    compared = compare([("all at once", found, NO_LIMITS)], SPECULATION, (fixed(4),), prompt=1024, prefill=False).loads[
        0
    ]
    _, four = compared.policies
    slowed = {kind.kind: kind.slowed for kind in four.kinds}
    assert slowed["chat"] > 0.9
    assert slowed["chat"] >= slowed["code"] >= slowed["lookup"]
    tails = {kind.kind: kind.tail for kind in four.kinds}
    assert max(tails, key=tails.__getitem__) == "chat"
    assert sum(tails.values()) == pytest.approx(1)


def test_alone_nobody_is_slowed_down() -> None:
    compared = compare(
        [("alone", load(12), Scheduling(max_requests=1))], SPECULATION, (fixed(4),), prompt=1024, prefill=False
    )
    assert compared.loads[0].closed
    assert compared.loads[0].policies[1].slowed == 0


def test_who_gives_way_reads_its_prompt_again_and_pays_for_it() -> None:
    found = load(12)
    roomy = serve(found, SPECULATION, fixed(3), prompt=1024, limits=NO_LIMITS, prefill=False)
    tight = serve(found, SPECULATION, fixed(3), prompt=1024, limits=Scheduling(kv_tokens=240), prefill=False)
    assert roomy.preemptions == 0
    assert tight.preemptions > 0
    assert tight.seconds > roomy.seconds + 0.5 * tight.preemptions * float(
        SPECULATION.deployment.step(1, 512, 1024) - SPECULATION.deployment.step(1, 1024)
    )


def test_a_ragged_step_is_the_step_where_all_rows_are_alike() -> None:
    drafts, contexts = np.full(7, 4), np.full(7, 2000.0)
    assert ragged_seconds(SPECULATION, drafts, contexts) == pytest.approx(
        float(SPECULATION.seconds(Shape.chain(4), 7, 2000))
    )


def test_kinds_that_cannot_be() -> None:
    with pytest.raises(ValueError, match=r"acceptances from \.5 to 1"):
        workload([Kind(name="x", share=1, acceptance=0.4)], requests=2, rate=None, shortest=1, longest=2, seed=0)
