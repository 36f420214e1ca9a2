"""Evidence of LAW3 and LAW4 made of draws from a small chain that ends by itself, without any engine."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.law3.settings import DepthSettings
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response
from specaudit.model.entries import AttemptEntry, Failure, LawEntry, PlanEntry, ProbeEntry, StageEntry
from specaudit.model.evidence import Evidence
from specaudit.model.law import RevealedLaw
from specaudit.model.plan import PlannedRequest, Stage
from specaudit.model.record import digest
from specaudit.model.request import Request, Sampling
from tests.model.builders import plan

EOS = 3
CHAIN = np.array(
    [
        [0.45, 0.3, 0.15, 0.1],
        [0.2, 0.5, 0.2, 0.1],
        [0.3, 0.3, 0.25, 0.15],
        [0.25, 0.25, 0.25, 0.25],
        [0.4, 0.3, 0.25, 0.05],
    ]
)
"""By the token before; the last row begins. EOS comes after some ten tokens."""
LENGTHS = (3, 16, 24)
SETTINGS = DepthSettings(tolerance=0.1, max_tokens=24, prompts=1, choices=1, blocks=1, sampling=Sampling())

Rows = Sequence[Sequence[int]]
"""Completions, each up to and with its EOS."""


def draw(rng: np.random.Generator, count: int, length: int, chain: NDArray[np.float64] = CHAIN) -> list[list[int]]:
    """Draw completions that end with EOS, or at the length."""
    rows, cumulative = np.empty((count, length), dtype=np.int64), chain.cumsum(axis=1)[:, :-1]
    before = np.full(count, len(chain) - 1)
    for place in range(length):
        before = rows[:, place] = (cumulative[before] < rng.random((count, 1))).sum(axis=1)
    ended = rows == EOS
    ends = np.where(ended.any(axis=1), ended.argmax(axis=1) + 1, length)
    return [row[:end] for row, end in zip(rows.tolist(), ends.tolist(), strict=True)]


def sample(rng: np.random.Generator, each: int, chain: NDArray[np.float64] = CHAIN) -> list[tuple[int, list[int]]]:
    """Draw as many completions of every length, mixed at random; each with the length that was asked for."""
    asked = rng.permutation(np.repeat(LENGTHS, each)).tolist()
    drawn = {length: iter(draw(rng, each, length, chain)) for length in LENGTHS}
    return [(length, next(drawn[length])) for length in asked]


def evidence(
    name: str,
    completions: Sequence[tuple[int, Sequence[int]]],
    *,
    choices: int = 1,
    eos_told: bool = True,
    lost: Callable[[Rows], bool] = lambda rows: False,
) -> Evidence:
    """Evidence of one stage of the subject.

    Args:
        name: The stage.
        completions: With the length that was asked for, in plan order.
        choices: Completions of each request; they have one length.
        eos_told: Whether EOS is among the tokens, or its completion merely ends.
        lost: Which requests never come back, by the completions that were drawn.
    """
    check = name.partition(".")[0]
    header = plan(check, alpha=0.05)
    found = Capabilities(engine="test", tokens="ids", draft_tokens=0, token_prompts=True, vocabulary_size=4)
    table = np.log(np.vstack([CHAIN[-1], CHAIN[:-1]])).tolist()
    law = RevealedLaw(
        order=1, contexts=((), (0,), (1,), (2,), (3,)), logprobs=tuple(tuple(row) for row in table), eos=EOS
    )
    requests, attempts = [], []
    for slot, first in enumerate(range(0, len(completions), choices)):
        mine = completions[first : first + choices]
        request = Request(prompt=(), sampling=Sampling(), seed=first, n=choices, max_tokens=mine[0][0])
        requests.append(PlannedRequest(arm="subject", prompt_index=0, request=request))
        gone = lost([tokens for _, tokens in mine])
        answer = Response(completions=tuple(_completion(asked, tokens, eos_told) for asked, tokens in mine))
        failure = Failure(reason="timeout", message="Nothing came back.", lost=True) if gone else None
        attempts.append(
            AttemptEntry(
                stage=name,
                slot=slot,
                number=1,
                started="",
                seconds=0.0,
                response=None if gone else answer,
                failure=failure,
            )
        )
    stage = Stage(name=name, blocks=(tuple(requests),))
    return Evidence(
        [
            PlanEntry(plan=header, digest=""),
            *(ProbeEntry(role=role, capabilities=found) for role in ("subject", "reference")),
            LawEntry(role="reference", law=law),
            StageEntry(stage=stage, digest=digest(stage)),
            *attempts,
        ]
    )


def _completion(asked: int, tokens: Sequence[int], eos_told: bool) -> Completion:
    ended = tokens[-1] == EOS
    told = tokens if eos_told or not ended else tokens[:-1]
    return Completion(tokens=tuple(told), finish_reason="stop" if ended else "length")


def answers(rng: np.random.Generator, count: int) -> list[tuple[int, list[int]]]:
    """Draw completions of the longest kind."""
    return [(LENGTHS[-1], row) for row in draw(rng, count, LENGTHS[-1])]


def _under_load(rng: np.random.Generator) -> Callable[[Rows], bool]:
    return lambda rows: bool(rng.random() < 0.5) and max(map(len, rows)) > 4


LOSSES: dict[str, Callable[[np.random.Generator], Callable[[Rows], bool]]] = {
    "long": lambda rng: lambda rows: max(map(len, rows)) > 8,
    "long, under load": _under_load,
    "by the first token": lambda rng: lambda rows: any(row[0] == 1 for row in rows),
    "by EOS": lambda rng: lambda rows: any(row[-1] == EOS for row in rows),
}
"""Requests that a server loses, by what was drawn."""


def hiding(rng: np.random.Generator, each: int) -> tuple[list[tuple[int, list[int]]], Callable[[Rows], bool]]:
    """A faulty subject that loses what shows its fault.

    Its first tokens are too often 0; of completions that begin so it loses so many that those left begin right.
    """
    excess, first = 0.15, CHAIN[-1, 0]
    faulty = CHAIN.copy()
    faulty[-1] *= (1 - first - excess) / (1 - first)
    faulty[-1, 0] = first + excess
    kept = first / (1 - first) * (1 - first - excess) / (first + excess)
    return sample(rng, each, faulty), lambda rows: rows[0][0] == 0 and bool(rng.random() > kept)
