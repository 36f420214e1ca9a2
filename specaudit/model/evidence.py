"""Evidence: everything that was asked and answered, as the checks see it.

Evidence is read in plan order (stage, slot, choice). The order in which answers arrived is recorded but has no
influence on any finding.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Response
from specaudit.model.entries import (
    AnyEntry,
    AttemptEntry,
    LawEntry,
    PlanEntry,
    ProbeEntry,
    ResumeEntry,
    SealEntry,
    SnapshotEntry,
    StageEntry,
    StopEntry,
)
from specaudit.model.law import RevealedLaw
from specaudit.model.limits import UNLIMITED
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import Prompt, Token
from specaudit.model.segments import begun, ended, only

END = -1
"""Stands in token arrays for every position after an early stop."""


@dataclass(frozen=True, kw_only=True)
class Draws:
    """The completions of one arm in one stage, in plan order."""

    tokens: NDArray[np.int64]
    """[N, T] indices into `vocabulary`, END after an early stop."""
    prompt_index: NDArray[np.int64]
    """[N]"""
    slot: NDArray[np.int64]
    """[N] slot of the request that a completion belongs to, counted on over the stages."""
    asked: NDArray[np.int64]
    """[N] tokens that were asked for."""
    vocabulary: tuple[Token, ...]
    """The tokens seen in the stage (by any arm), sorted."""
    planned: int
    """Completions asked for; those beyond N were lost."""

    @property
    def lost_fraction(self) -> float:
        """Share of the planned completions that never arrived whole."""
        return 1.0 - len(self.tokens) / self.planned if self.planned else 0.0


class Evidence:
    """An index over the entries of one audit."""

    def __init__(self, entries: Iterable[AnyEntry], *, digest: str = "") -> None:
        self.entries = tuple(entries)
        self.digest = digest
        """SHA-256 of the last line as it stands in the file."""
        self.capabilities: dict[Role, Capabilities] = {}
        self.laws: dict[Role, RevealedLaw] = {}
        self.stages: dict[str, Stage] = {}
        self.stop: StopEntry | None = None
        """Why collecting ended early; None where it did not, or went on after all."""
        self.sealed = False
        self.limits = UNLIMITED
        """What the audit may cost, and how fast it may ask, since it was last begun or resumed."""
        self._snapshots: dict[tuple[str, str], dict[int, SnapshotEntry]] = {}
        self._attempts: dict[str, dict[int, list[AttemptEntry]]] = {}
        self._requests: dict[str, tuple[PlannedRequest, ...]] = {}
        self._draws: dict[tuple[str, ...], dict[Role, Draws]] = {}
        for entry in self.entries:
            self._index(entry)

    def _index(self, entry: AnyEntry) -> None:
        match entry:
            case ProbeEntry():
                self.capabilities[entry.role] = entry.capabilities
            case LawEntry():
                self.laws[entry.role] = entry.law
            case StageEntry():
                self.stages[entry.stage.name] = entry.stage
            case AttemptEntry():
                self._attempts.setdefault(entry.stage, {}).setdefault(entry.slot, []).append(entry)
            case SnapshotEntry():
                self._snapshots.setdefault((entry.stage, entry.source), {})[entry.block] = entry
            case StopEntry():
                self.stop = entry
            case ResumeEntry():
                self.stop = None
                self.limits = entry.limits or self.limits
            case SealEntry():
                self.sealed = True
            case PlanEntry():
                self.limits = entry.plan.limits

    @cached_property
    def plan(self) -> Plan:
        """The plan's header."""
        first = self.entries[0]
        assert isinstance(first, PlanEntry), "evidence begins with its plan"
        return first.plan

    @cached_property
    def _prompts(self) -> dict[tuple[Role, str], tuple[int, ...]]:
        """How each arm tokenized texts, where it told."""
        told: dict[tuple[Role, str], tuple[int, ...]] = {}
        for name in self.stages:
            for slot, planned in enumerate(self._slots(name)):
                response, prompt = self.response(name, slot), planned.request.prompt
                if response is not None and response.prompt_token_ids is not None and isinstance(prompt, str):
                    told.setdefault((planned.arm, prompt), response.prompt_token_ids)
        return told

    def prompt_tokens(self, role: Role, prompt: Prompt) -> tuple[int, ...] | None:
        """Return the token ids of a prompt for an arm; None where the arm has not told how it tokenizes it."""
        return self._prompts.get((role, prompt)) if isinstance(prompt, str) else prompt

    def snapshots(self, stage: str, source: str = "") -> dict[int, SnapshotEntry]:
        """Return the readings of a metrics page, as the plan calls it, by the number of blocks that had ended."""
        return self._snapshots.get((stage, source), {})

    def attempts(self, stage: str | None = None) -> list[AttemptEntry]:
        """Return every attempt of a stage (of all stages), in plan order."""
        names = self.stages if stage is None else [stage]
        return [
            attempt
            for name in names
            for _, attempts in sorted(self._attempts.get(name, {}).items())
            for attempt in sorted(attempts, key=lambda entry: entry.number)
        ]

    def attempts_at(self, stage: str, slot: int) -> list[AttemptEntry]:
        """Return the attempts at one slot in the order in which they were recorded."""
        return self._attempts.get(stage, {}).get(slot, [])

    def _slots(self, stage: str) -> tuple[PlannedRequest, ...]:
        """The requests of a stage, put together once: a long prompt stands once for all of them."""
        if stage not in self._requests:
            self._requests[stage] = self.stages[stage].slots()
        return self._requests[stage]

    def is_settled(self, stage: str, slot: int) -> bool:
        """Say whether a slot was answered or lost; a refusal before anything was generated leaves it open."""
        attempts = self.attempts_at(stage, slot)
        return any(attempt.response is not None or (attempt.failure and attempt.failure.lost) for attempt in attempts)

    def response(self, stage: str, slot: int) -> Response | None:
        """Return the answer at a slot, or None where it was lost or never asked for."""
        attempts = self.attempts_at(stage, slot)
        return next((attempt.response for attempt in attempts if attempt.response is not None), None)

    def answered(self, stage: str, role: Role) -> list[tuple[int, PlannedRequest, Response | None]]:
        """Return (slot, planned request, answer) of one arm in plan order."""
        slots = enumerate(self._slots(stage))
        return [(slot, planned, self.response(stage, slot)) for slot, planned in slots if planned.arm == role]

    def parts(self, name: str) -> list[str]:
        """Return the stages that something was collected in: `name` itself, or `name.0`, `name.1` and so on."""
        return [stage for stage in self.stages if stage == name or stage.startswith(f"{name}.")]

    def draws(self, *stages: str) -> dict[Role, Draws]:
        """Return the completions of each arm, over one or several stages, as arrays with one vocabulary.

        A completion that ended early for any reason but a stop (cut short, wrong cap) counts as lost: what
        would have followed is unknown. Of the others, the tokens of the segment that the plan names are returned;
        those that never reached it are left out. They are worked out once.
        """
        if stages not in self._draws:
            self._draws[stages] = self._drawn(stages)
        return dict(self._draws[stages])

    def _drawn(self, stages: Iterable[str]) -> dict[Role, Draws]:
        places = [
            (name, slot, item)
            for name in stages
            for slot, item in enumerate(self._slots(name))
            if item.arm != "background"
        ]
        segment = self.plan.segment if places else "all"
        arms = {item.arm: _Collected(exact=self._counts_tokens(item.arm)) for _, _, item in places}
        width = max((item.request.max_tokens for _, _, item in places), default=0)
        for place, (name, slot, item) in enumerate(places):
            request, arm = item.request, arms[item.arm]
            arm.planned += bool(self.attempts_at(name, slot)) * request.n  # what was never asked is no loss
            response = self.response(name, slot)
            before = len(arm.tokens)
            for completion in response.completions[: request.n] if response else ():
                judged = only(completion, segment)
                if not arm.exact and not begun(judged):
                    arm.planned -= 1
                elif (tokens := ended(judged, request.max_tokens, exact=arm.exact)) is not None:
                    arm.tokens.append(tokens)
            arm.requests.append((len(arm.tokens) - before, place, item.prompt_index, request.max_tokens))
        seen = set(chain.from_iterable(chain.from_iterable(arm.tokens for arm in arms.values())))
        vocabulary = tuple(sorted(seen, key=lambda token: (isinstance(token, str), token)))
        code = {token: index for index, token in enumerate(vocabulary)}
        return {role: _draws(arm, code, vocabulary, width) for role, arm in arms.items()}

    def _counts_tokens(self, role: Role) -> bool:
        """True if the tokens of an arm's completions are all that it generated, and its own."""
        found = self.capabilities.get(role)
        whole = found is None or (found.tokens != "retokenized" and found.reasoning != "hidden")
        return self.plan.segment == "all" and whole


@dataclass(kw_only=True)
class _Collected:
    """The completions of an arm that came back whole."""

    exact: bool
    """Their tokens are all that was generated."""
    planned: int = 0
    tokens: list[tuple[Token, ...]] = field(default_factory=list)
    requests: list[tuple[int, int, int, int]] = field(default_factory=list)
    """How many of each request, and its slot, prompt and cap."""


def _draws(arm: _Collected, code: dict[Token, int], vocabulary: tuple[Token, ...], width: int) -> Draws:
    count, slot, prompt, asked = np.array(arm.requests, dtype=np.int64).reshape(-1, 4).T
    lengths = np.fromiter(map(len, arm.tokens), dtype=np.int64, count=len(arm.tokens))
    tokens = np.full((len(lengths), width), END, dtype=np.int64)
    flat = map(code.__getitem__, chain.from_iterable(arm.tokens))
    tokens[np.arange(width) < lengths[:, None]] = np.fromiter(flat, dtype=np.int64, count=int(lengths.sum()))
    return Draws(
        tokens=tokens,
        prompt_index=prompt.repeat(count),
        slot=slot.repeat(count),
        asked=asked.repeat(count),
        vocabulary=vocabulary,
        planned=arm.planned,
    )
