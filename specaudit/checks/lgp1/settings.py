"""Settings of LGP1."""

from typing import Annotated

import msgspec

from specaudit.model.request import Sampling
from specaudit.model.suite import CheckSettings


class LogprobSettings(CheckSettings, frozen=True, kw_only=True):
    """What `[checks.LGP1]` of a suite may say."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.15
    """Share of answers that may hold a logprob which is off."""
    nats: Annotated[float, msgspec.Meta(gt=0, lt=10)] = 0.25
    """By how much a reported logprob may differ from the target's: one step of bfloat16 logits between 32 and 64."""
    prompts: Annotated[int, msgspec.Meta(ge=8, le=4096)] = 96
    """Each is answered once: answers to one prompt would stand in the same contexts, and be off together."""
    max_tokens: Annotated[int, msgspec.Meta(ge=4, le=100_000)] = 24
    scored: Annotated[int, msgspec.Meta(ge=2, le=1024)] = 6
    """Tokens of each answer that are scored where that takes a request each, its first one included."""
    logprobs: Annotated[int, msgspec.Meta(ge=0, le=1024)] = 5
    """Most likely tokens that are asked for at each position, where the engine gives so many."""
    blocks: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    """In which the answers are collected, with a reading of the counters between them."""
    sampling: Sampling = msgspec.field(default_factory=lambda: Sampling(temperature=0.5, top_k=4))
    """Far from neutral, so that logprobs before and after the filters differ by more than is tolerated."""
