"""Evidence for LAW1 made of draws from small chains, without any engine."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.law1.check import EmittedLaw
from specaudit.checks.law1.settings import LawSettings
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response
from specaudit.model.entries import AttemptEntry, Failure, LawEntry, PlanEntry, ProbeEntry, StageEntry
from specaudit.model.evidence import Evidence
from specaudit.model.law import RevealedLaw
from specaudit.model.plan import PlannedRequest, Role, Stage
from specaudit.model.record import digest
from specaudit.model.request import Request, Sampling
from tests.model.builders import plan

START = np.array([0.6, 0.4])
STEP = np.array([[0.3, 0.7], [0.55, 0.45]])
TOKENS = 4
SETTINGS = LawSettings(word_length=2, sampling=Sampling(), tolerance=0.1, pilot=400)
"""With plain decoding (K = 0) completions have four tokens, and words of two begin at depths 0 and 2."""

Rows = NDArray[np.int64]


def draw(
    rng: np.random.Generator, count: int, start: NDArray[np.float64] = START, step: NDArray[np.float64] = STEP
) -> Rows:
    """Draw `count` completions of a two-token chain `[count, TOKENS]`."""
    rows = np.empty((count, TOKENS), dtype=np.int64)
    rows[:, 0] = rng.random(count) < start[1]
    for i in range(1, TOKENS):
        rows[:, i] = rng.random(count) < step[rows[:, i - 1], 1]
    return rows


def response(rows: Rows) -> Response:
    return Response(completions=tuple(Completion(tokens=tuple(row), finish_reason="length") for row in rows.tolist()))


def law_entry() -> LawEntry:
    table = np.log(np.vstack([START, STEP])).tolist()
    law = RevealedLaw(order=1, contexts=((), (0,), (1,)), logprobs=tuple(tuple(row) for row in table))
    return LawEntry(role="reference", law=law)


def law_evidence(
    samples: Mapping[Role, Rows], *, exact: bool, pilot: Rows | None = None, choices: int = 10, lost: int = 0
) -> Evidence:
    """Evidence of LAW1 after its last stage; `lost` requests of the subject never came back."""
    header = plan()
    entries = [PlanEntry(plan=header, digest=digest(header))]
    caps = Capabilities(engine="test", tokens="ids", draft_tokens=0)
    entries += [ProbeEntry(role=role, capabilities=caps) for role in ("subject", "reference")]
    if exact:
        entries.append(law_entry())
    if pilot is not None:
        entries += _stage("LAW1.pilot", [("reference", pilot)], lost=0)
    parts = []
    for role, rows in samples.items():
        parts += [(role, rows[first : first + choices]) for first in range(0, max(1, len(rows)), choices)]
    return Evidence([*entries, *_stage("LAW1.sample", parts, lost=lost)])


def _stage(name: str, parts: list[tuple[Role, Rows]], lost: int) -> list[StageEntry | AttemptEntry]:
    """A stage in which a request that was lost stands before each of the first `lost` parts."""
    gone = {"failure": Failure(reason="timeout", message="Nothing came back.", lost=True)}
    slots = []
    for number, (role, rows) in enumerate(parts):
        if number < lost:
            slots.append((role, len(rows), gone))
        slots.append((role, len(rows), {"response": response(rows)}))
    slots += [(parts[0][0], len(parts[0][1]), gone)] * (lost - len(parts))
    block = tuple(
        PlannedRequest(
            arm=role,
            prompt_index=0,
            request=Request(prompt=(), sampling=Sampling(), seed=0, n=max(1, size), max_tokens=TOKENS),
        )
        for role, size, _ in slots
    )
    stage = Stage(name=name, blocks=(block,))
    attempts = [
        AttemptEntry(stage=name, slot=slot, number=1, started="", seconds=0.0, **answer)
        for slot, (_, _, answer) in enumerate(slots)
    ]
    return [StageEntry(stage=stage, digest=digest(stage)), *attempts]


CHECK = EmittedLaw()
