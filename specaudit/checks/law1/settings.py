"""Settings of LAW1."""

from typing import Annotated, Literal

import msgspec

from specaudit.laws.edge import DOUBT
from specaudit.model.request import Sampling
from specaudit.model.suite import SequentialSettings
from specaudit.stats.evalues.slack import check_slack


class LawSettings(SequentialSettings, frozen=True, kw_only=True):
    """What `[checks.LAW1]` of a suite may say."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.05
    """Total variation of the words' law from the target's that is tolerated, where `bound` says."""
    bound: Literal["depths", "completions"] = "depths"
    """What must stay below the tolerance: the law of the words at each of several depths, or that of all words of a
    completion together, which takes a fifth of the tokens and sees half of a fault that shows in half of the words."""
    word_length: Annotated[int, msgspec.Meta(ge=1, le=8)] = 3
    prompts: Annotated[int, msgspec.Meta(ge=1, le=256)] = 1
    """The law is averaged over prompts; each has its own histogram."""
    sampling: Sampling = msgspec.field(default_factory=lambda: Sampling(top_k=4))
    choices: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 64
    """Completions asked for in one request, where the engine gives so many."""
    blocks: Annotated[int, msgspec.Meta(ge=1, le=16)] = 8
    """In which the sample is collected, each as large as all before it; after each it may be enough."""
    rounding: Annotated[float, msgspec.Meta(gt=0, le=1)] = DOUBT
    """Natural logarithms by which two passes over the same weights may differ, so that a token may stand on either side
    of a filter's cut. The default is one step of bfloat16; of float32 weights .01 is plenty."""
    success: Annotated[float, msgspec.Meta(gt=0.5, lt=1)] = 0.95
    """Wanted probability that an engine without any deviation conforms."""
    max_completions: Annotated[int, msgspec.Meta(ge=100, le=200_000)] = 60_000
    """Per arm; with fewer than the tolerance needs, the verdict can only be `violates` or `inconclusive`."""
    pilot: Annotated[int, msgspec.Meta(ge=100, le=200_000)] = 1024
    """Words of the reference that choose the cells where no law is known."""
    classes: Annotated[int, msgspec.Meta(ge=2, le=64)] = 4
    """Classes of tokens at each position of a word where no law is known: the most frequent ones, and the rest."""
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=4096)] | None = None
    """Tokens per completion; by default as many as four steps of K drafts and the verifier's own token emit. A single
    one comes from prefill: its law says nothing of the verifier."""
    max_contexts: Annotated[int, msgspec.Meta(ge=0, le=200_000)] = 400
    """Contexts whose law may be asked for, one token each, to score the words that begin early."""

    def __post_init__(self) -> None:
        """Refuse a slack that hides as much as is tolerated, and completions that hold no word."""
        check_slack(self.slack, length=self.word_length, tolerance=self.tolerance)
        if self.max_tokens is not None and self.max_tokens < self.word_length:
            raise ValueError(f"max_tokens = {self.max_tokens} leaves no room for a word of {self.word_length} tokens")
