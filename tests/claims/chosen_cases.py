"""What follows from the inputs of `chosen.toml`, for tests and for the published page."""

from dataclasses import dataclass

import numpy as np

from specaudit.claims import drafters
from specaudit.claims.capacity import Capacity, capacity
from specaudit.claims.speed_up import Speculation, flips
from specaudit.claims.tables import models
from specaudit.claims.tails import Spread, Tail, tail
from specaudit.claims.tokens import Shape, tree
from tests.claims.cases import CHOSEN, CONTEXT, LAUNCH, chosen_deployment, light

LARGEST = 1024


@dataclass(frozen=True, kw_only=True)
class Flip:
    """Blind heads against a small model, at one pair of acceptances."""

    blind_acceptance: float
    model_acceptance: float
    blind: tuple[float, ...]
    """Speed-up at a batch of 1, 2, 3, …"""
    model: tuple[float, ...]

    @property
    def at(self) -> tuple[float, ...]:
        """Batches from which on another of the two is ahead."""
        return flips(np.array(self.blind), np.array(self.model), range(1, len(self.blind) + 1))

    @property
    def first(self) -> str:
        """Who is ahead alone."""
        return "blind heads" if self.blind[0] > self.model[0] else "small model"


def shares() -> tuple[float, float]:
    """What drafting with the heads, and with the small model, reads, over what a step of the target reads."""
    given, target = CHOSEN["blind"], chosen_deployment().model
    heads, small = drafters.blind_heads(target), drafters.small_model(models().find(given["small_model"]))
    return tuple(given["draft_tokens"] * one.weights / target.parameters for one in (heads, small))  # type: ignore[return-value]


def flip(blind_by: float = 0.0, model_by: float = 0.0) -> Flip:
    """Compare them, with acceptances moved by so much."""
    given, deployment = CHOSEN["blind"], chosen_deployment()
    shape, batches = Shape.chain(given["draft_tokens"]), np.arange(1, LARGEST + 1)
    rates = given["blind_acceptance"] + blind_by, given["small_model_acceptance"] + model_by
    makers = (
        drafters.blind_heads(deployment.model, launch=LAUNCH),
        drafters.small_model(models().find(given["small_model"]), launch=LAUNCH),
    )
    blind, model = (
        Speculation(deployment=deployment, drafter=drafter, acceptance=rate).speed_up(shape, batches, CONTEXT)
        for drafter, rate in zip(makers, rates, strict=True)
    )
    return Flip(
        blind_acceptance=rates[0], model_acceptance=rates[1], blind=tuple(blind.tolist()), model=tuple(model.tolist())
    )


def tree_stops_winning(batch: int, *, later_by: float = 0.0, mask: bool = True) -> float | None:
    """The acceptance above which the tree is slower than the chain; None where it is already at .01.

    Args:
        batch: sequences.
        later_by: by how much a later child's share is moved.
        mask: whether the mask is read.
    """
    given = CHOSEN["tree"]
    shape, chain = tree(given["parents"]), Shape.chain(given["chain"])
    deployment, drafter = chosen_deployment(), light(given["drafter_share"])
    seen = shape.mask_bytes(CONTEXT) if mask else 0.0
    of_tree = deployment.step(batch, CONTEXT, shape.nodes + 1, seen) + drafter.seconds(
        deployment, shape, batch, CONTEXT
    )
    of_chain = Speculation(deployment=deployment, drafter=drafter, acceptance=0.5).seconds(chain, batch, CONTEXT)
    wins = [
        float(acceptance)
        for acceptance in np.arange(0.01, 1.0, 0.001)
        if shape.tokens(float(acceptance), given["later_child"] + later_by) / of_tree
        > chain.tokens(float(acceptance)) / of_chain
    ]
    return max(wins, default=None)


def tails(by: float = 0.0) -> list[Tail]:
    """Who is slowed down at each batch, with the mean acceptance moved by so much."""
    given = CHOSEN["tail"]
    one = Speculation(deployment=chosen_deployment(), drafter=light(given["drafter_share"]), acceptance=given["mean"])
    spread = Spread(mean=given["mean"] + by, deviation=given["deviation"])
    return [tail(one, Shape.chain(given["draft_tokens"]), batch, CONTEXT, spread) for batch in given["batches"]]


def long_outputs() -> list[Capacity]:
    """A full cache at the end of outputs of each length."""
    given, drafts = CHOSEN["long"], CHOSEN["tail"]["draft_tokens"]
    one = Speculation(
        deployment=chosen_deployment(),
        drafter=light(CHOSEN["tail"]["drafter_share"]),
        acceptance=CHOSEN["tail"]["mean"],
    )
    return [
        capacity(one, Shape.chain(drafts), given["prompt"] + output, memory_used=given["memory_used"])
        for output in given["outputs"]
    ]
