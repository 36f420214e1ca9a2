"""Settings of the checks that hold greedy completions against each other, GRD1 and GRD2."""

from typing import Annotated

import msgspec

from specaudit.model.suite import CheckSettings


class GreedySettings(CheckSettings, frozen=True, kw_only=True):
    """What `[checks.GRD1]` and `[checks.GRD2]` of a suite may say."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.15
    """Share of prompts whose completions may differ."""
    prompts: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 64
    max_tokens: Annotated[int, msgspec.Meta(ge=2)] = 32
    hard_gap: Annotated[float, msgspec.Meta(ge=0)] = 2.0
    """Nats by which the plain target prefers its own token, from which on a difference is no numeric accident."""
