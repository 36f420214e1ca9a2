"""Settings of LAW3."""

from typing import Annotated

import msgspec

from specaudit.laws.edge import DOUBT
from specaudit.model.request import Sampling
from specaudit.model.suite import SequentialSettings
from specaudit.stats.evalues.slack import check_slack


class DepthSettings(SequentialSettings, frozen=True, kw_only=True):
    """What `[checks.LAW3]` of a suite may say."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.05
    """Total variation of the binned law from the target's that is tolerated, at each range of depths."""
    prompts: Annotated[int, msgspec.Meta(ge=1, le=64)] = 2
    prompt_tokens: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    """Prompts are repeated until they have about so many tokens; 0 leaves them as they are."""
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 256
    """Length of the longest completions, in tokens."""
    sampling: Sampling = msgspec.field(default_factory=lambda: Sampling(top_k=4))
    choices: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 16
    """Completions asked for in one request, where the engine gives so many."""
    least_completions: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 32
    """That reach each range of depths, however many tokens one of them has there."""
    blocks: Annotated[int, msgspec.Meta(ge=1, le=16)] = 6
    """In which the sample is collected and scored, each as large as all before it; after each it may be enough."""
    rounding: Annotated[float, msgspec.Meta(gt=0, le=1)] = DOUBT
    """Natural logarithms by which two passes over the same weights may differ, so that a token may stand on either side
    of a filter's cut. The default is one step of bfloat16; of float32 weights .01 is plenty."""
    edges: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.0
    """Total variation that the plan sets aside, where the law is told by logprobs, for what tokens at the edge of the
    filters hide. The bound adds what they do hide, whatever is said here."""
    success: Annotated[float, msgspec.Meta(gt=0.5, lt=1)] = 0.95
    """Wanted probability that an engine without any deviation conforms."""

    def __post_init__(self) -> None:
        """Refuse a slack that hides as much as is tolerated, and edges that are set aside as much."""
        check_slack(self.slack, length=1, tolerance=self.tolerance)
        if self.edges >= self.tolerance:
            raise ValueError(f"edges = {self.edges:g} sets aside all of the tolerance {self.tolerance:g}")
