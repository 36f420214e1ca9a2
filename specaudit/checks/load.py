"""Matched load: both arms answer the same prompts in blocks that take turns, and every block is timed.

Four blocks make a quad, A B B A and then B A A B, so that what drifts steadily falls on both arms alike. The two arms
of half a quad have the same prompts, in the same order and with the same caps, and no prompt is asked of an arm twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from specaudit.checks.seeds import first_seed
from specaudit.model.entries import AttemptEntry
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import Request, Sampling
from specaudit.prompts.choose import choose_prompts

STAGE = "CLM2"
BLOCKS = 4
"""Blocks of a quad."""

ARMS: tuple[Role, Role] = ("subject", "reference")
_ORDER: tuple[tuple[Role, ...], ...] = (
    ("subject", "reference", "reference", "subject"),
    ("reference", "subject", "subject", "reference"),
)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block, timed from its first request to its last answer.

    Attributes:
        arm: Whose.
        tokens: Generated tokens, by their ids or as billed, never by chunks of a stream.
        seconds: How long it took.
        latencies: Seconds from a request to its whole answer `[R]`, of those that were answered.
        first: Seconds to the first token `[R]`, where the answers were streams.
        whole: Every request was answered, with as many tokens as were asked for.
    """

    arm: Role
    tokens: int
    seconds: float
    latencies: Floats
    first: Floats
    whole: bool


@dataclass(frozen=True, kw_only=True)
class Quad:
    """Four blocks: the seconds that a token took in each arm, and the blocks themselves."""

    blocks: tuple[Block, ...]

    @property
    def whole(self) -> bool:
        """Both arms did the same work."""
        return all(block.whole for block in self.blocks)

    def seconds(self, arm: Role) -> float:
        """Seconds that an arm took for its two blocks."""
        return sum(block.seconds for block in self.blocks if block.arm == arm)

    def rate(self, arm: Role) -> float:
        """Tokens a second of an arm."""
        return sum(block.tokens for block in self.blocks if block.arm == arm) / self.seconds(arm)


def plan_load(
    plan: Plan,
    evidence: Evidence,
    *,
    quads: int,
    requests: int,
    max_tokens: int,
    sampling: Sampling,
    concurrency: int | None,
    rate: float | None,
) -> Stage:
    """Return the stage: `quads` times four blocks of `requests` each.

    Args:
        plan: The plan's header.
        evidence: What the arms reveal.
        quads: Quads, those for warming up included.
        requests: Of a block.
        max_tokens: Of a completion, which does not end before.
        sampling: How tokens are drawn.
        concurrency: Requests in flight (closed loop); the plan's unless given.
        rate: Requests a second, sent whether those before are answered or not (open loop); None for a closed loop.
    """
    arms = [evidence.capabilities[arm] for arm in ARMS]
    halves = 2 * quads
    prompts = choose_prompts(halves * requests, arms, plan.seed + 5)
    blocks = []
    for number in range(quads):
        for place, arm in enumerate(_ORDER[number % 2]):
            half = 2 * number + place // 2
            first = first_seed(plan, STAGE, arm) + half * requests
            blocks.append(
                tuple(
                    PlannedRequest(
                        arm=arm,
                        prompt_index=half * requests + i,
                        request=Request(
                            prompt=prompts[half * requests + i],
                            sampling=sampling,
                            seed=first + i,
                            max_tokens=max_tokens,
                        ),
                    )
                    for i in range(requests)
                )
            )
    return Stage(name=STAGE, blocks=tuple(blocks), concurrency=concurrency, rate=rate)


def measured(evidence: Evidence) -> list[Quad]:
    """Return the quads whose blocks were all asked, in the order of the plan."""
    blocks = list(_blocks(evidence))
    return [Quad(blocks=tuple(blocks[first : first + BLOCKS])) for first in range(0, len(blocks) - BLOCKS + 1, BLOCKS)]


def _blocks(evidence: Evidence) -> Iterator[Block]:
    slot = 0
    for requests in evidence.stages[STAGE].blocks:
        attempts = [evidence.attempts_at(STAGE, slot + i) for i in range(len(requests))]
        slot += len(requests)
        if not all(attempts):
            return
        yield _timed(requests, attempts)


def _timed(requests: Sequence[PlannedRequest], attempts: Sequence[Sequence[AttemptEntry]]) -> Block:
    every = [attempt for at_slot in attempts for attempt in at_slot]
    began = np.array([datetime.fromisoformat(attempt.started).timestamp() for attempt in every])
    took = np.array([attempt.seconds for attempt in every])
    answered = [attempt for attempt in every if attempt.response is not None]
    tokens = [_tokens(attempt) for attempt in answered]
    first = [attempt.response.first_token for attempt in answered if attempt.response is not None]
    return Block(
        arm=requests[0].arm,
        tokens=sum(tokens),
        seconds=float((began + took).max() - began.min()),
        latencies=np.array([attempt.seconds for attempt in answered]),
        first=np.array([seconds for seconds in first if seconds is not None]),
        whole=len(every) == len(requests) and tokens == [one.request.max_tokens for one in requests],
    )


def _tokens(attempt: AttemptEntry) -> int:
    response = attempt.response
    assert response is not None
    told = [len(completion.tokens) for completion in response.completions if completion.tokens is not None]
    return sum(told) if len(told) == len(response.completions) else response.completion_tokens or 0
