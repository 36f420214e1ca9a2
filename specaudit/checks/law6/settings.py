"""Settings of LAW6."""

from typing import Annotated

import msgspec

from specaudit.checks.law3.settings import DepthSettings


class PrecisionSettings(DepthSettings, frozen=True, kw_only=True):
    """What `[checks.LAW6]` of a suite may say: what LAW3 may be told, of every two arms."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.05
    """Total variation of the binned law from that of a plain target, up to which it is followed."""
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 64
    """Length of the longest completions, in tokens."""
    edges: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.0125
    """As much as was measured of the first three tokens of the FP8 transformer over HTTP: with nothing set aside a
    healthy audit of it conforms with probability .44, with this .98."""
    greedy_prompts: Annotated[int, msgspec.Meta(ge=8, le=4096)] = 48
    """Asked at temperature 0 of subject and reference; where neither law is followed they tell which kind of fault."""
    greedy_tokens: Annotated[int, msgspec.Meta(ge=2, le=4096)] = 24
