"""Emitted tokens, each beside the law that it was to be drawn from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

import msgspec
import numpy as np
from numpy.typing import NDArray

from specaudit.checks.paths import steps_of
from specaudit.checks.tables import LawTable
from specaudit.laws.contexts import Context, ContextLaws, Key, NextLaw, exact_laws
from specaudit.laws.edge import Edge
from specaudit.laws.orders import FilterOrder
from specaudit.laws.processors import looks_back
from specaudit.model.completion import Completion, Steps
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Role
from specaudit.model.request import Prompt, Sampling, Token
from specaudit.stats.evalues.contexts import Completions
from specaudit.stats.evalues.uniforms import position_uniforms


@dataclass(frozen=True, kw_only=True)
class Emission:
    """One completion as it came back, or as it was lost."""

    slot: int
    prompt: Context
    tokens: tuple[Token, ...] | None
    """None where it was lost: what would have been emitted is not known."""
    asked: int
    """Tokens asked for."""
    steps: Steps | None = None
    """How it was decoded, where that is told."""
    end_hidden: bool = False
    """It ended with a token that is not told: an end of sequence that was drawn, and is none of its tokens."""


def emissions(
    evidence: Evidence, stage: str, role: Role, *, known_as: Callable[[Prompt], Context | None] | None = None
) -> list[Emission]:
    """Return an arm's completions in a stage, in plan order, as far as they were asked for.

    Lost is what did not come back, came without its tokens or with more than were asked for, or was cut short. Left
    out is what came back for a prompt that is not known.

    Args:
        evidence: All of it.
        stage: Its name.
        role: The arm.
        known_as: Which context a prompt is; by default its token ids, where the arm tells them.
    """
    found: list[Emission] = []
    for slot, planned, response in evidence.answered(stage, role):
        if not evidence.attempts_at(stage, slot):
            continue
        request = planned.request
        prompt = evidence.prompt_tokens(role, request.prompt) if known_as is None else known_as(request.prompt)
        if prompt is None:
            continue
        completions = response.completions[: request.n] if response else ()
        for place in range(request.n):
            lost = response is None or place >= len(completions)
            found.append(
                Emission(
                    slot=slot,
                    prompt=prompt,
                    tokens=None if lost else _whole(completions[place], request.max_tokens),
                    asked=request.max_tokens,
                    steps=None if response is None or lost else steps_of(response, place),
                )
            )
    return _with_ends(found)


def _with_ends(emitted: list[Emission]) -> list[Emission]:
    """Note which completions ended with a token that is not told.

    Some servers tell the end of a sequence as the last token, some do not. A token that ended completions and stands
    nowhere else is such an end; where the last tokens stand elsewhere too, something behind them was drawn.
    """
    ended = [one.tokens is not None and len(one.tokens) < one.asked for one in emitted]
    if not any(ended):
        return emitted
    last = {one.tokens[-1] if one.tokens else None for one, early in zip(emitted, ended, strict=True) if early}
    elsewhere = any(token in last for one in emitted for token in (one.tokens or ())[:-1])
    if None not in last and not elsewhere:
        return emitted
    return [replace(one, end_hidden=early) for one, early in zip(emitted, ended, strict=True)]


def _whole(completion: Completion, asked: int) -> tuple[Token, ...] | None:
    """The tokens of a completion that came back whole."""
    tokens = completion.tokens
    if tokens is None or len(tokens) > asked:
        return None
    return tokens if len(tokens) == asked or completion.finish_reason == "stop" else None


@dataclass(frozen=True, kw_only=True)
class KnownTokens:
    """Tokens in plan order, each with the law that it was to have."""

    laws: LawTable
    completions: Completions
    depth: NDArray[np.int64]
    """How many tokens were emitted before each `[N]`."""
    row: NDArray[np.int64]
    """Number of each token's completion in its stage `[N]`."""


@dataclass(frozen=True, kw_only=True)
class ScoredTokens:
    """A part of the plan, ready for the statistics."""

    known: KnownTokens | None
    """None where no law is known in all of it."""
    broken: bool
    """Something of it was lost. What came behind may have been chosen by being kept, so bets end there."""
    unbroken: int
    """How many of the known completions stand before the first loss."""
    stage: str = ""
    """Which the completions belong to."""
    unscored: NDArray[np.int64]
    """Depths of the tokens that were to be scored and are not, since an answer was lost or told no law."""

    def unscored_in(self, first: int, end: int) -> int:
        """Return how many tokens at depths from `first` to before `end` are not scored."""
        return int(np.count_nonzero((self.unscored >= first) & (self.unscored < end)))


@dataclass(kw_only=True)
class Scoring:
    """Collects laws and the tokens that were emitted under them, completion by completion."""

    laws: list[NextLaw] = field(default_factory=list)
    edges: list[Edge] | None = None
    """What is in doubt about each law; None where all are exact."""
    drafts: list[NextLaw] | None = None
    """The drafter's law beside each; None where it is not known."""
    raw: list[NextLaw] | None = None
    """The law without filters beside each; None where it is not known, or no filter is asked for."""
    context: list[int] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    completion: list[int] = field(default_factory=list)
    unscored: list[int] = field(default_factory=list)
    first_loss: int | None = None
    """The first completion of which something was lost."""

    def add_law(
        self, law: NextLaw, edge: Edge | None = None, draft: NextLaw | None = None, raw: NextLaw | None = None
    ) -> int:
        """Add a law with what is known beside it; return its number."""
        self.laws.append(law)
        if self.edges is not None and edge is not None:
            self.edges.append(edge)
        if self.drafts is not None and draft is not None:
            self.drafts.append(draft)
        if self.raw is not None and raw is not None:
            self.raw.append(raw)
        return len(self.laws) - 1

    def add(self, completion: int, depth: int, token: Token, law: int) -> None:
        """Add a token that was emitted under a law, by the law's number. Completions come one after the other."""
        self.completion.append(completion)
        self.depth.append(depth)
        self.tokens.append(token)
        self.context.append(law)

    def extend(self, completion: int, tokens: Sequence[Token], laws: Sequence[int]) -> None:
        """Add the first tokens of a completion, each by the number of the law that it was emitted under."""
        self.completion.extend(repeat(completion, len(laws)))
        self.depth.extend(range(len(laws)))
        self.tokens.extend(tokens[: len(laws)])
        self.context.extend(laws)

    def lose(self, completion: int, depths: Iterable[int]) -> None:
        """Note that tokens of a completion, or their laws, are not known."""
        self.unscored += depths
        if self.first_loss is None:
            self.first_loss = completion

    def scored(self, *, first: int, seed: int, groups: Sequence[int] | None = None, stage: str = "") -> ScoredTokens:
        """Return what was collected, and what was not.

        Args:
            first: Number of the first completion in the plan.
            seed: Of the uniforms that randomise ranks.
            groups: Group of each completion that may depend on the others in it, by its number; each its own if None.
            stage: Which the completions belong to.
        """
        rows, lengths = np.unique(np.array(self.completion, dtype=np.int64), return_counts=True)
        return ScoredTokens(
            known=self._known(rows, lengths, first, seed, groups) if self.laws else None,
            broken=self.first_loss is not None,
            unbroken=len(rows) if self.first_loss is None else int(np.searchsorted(rows, self.first_loss)),
            unscored=np.array(self.unscored, dtype=np.int64),
            stage=stage,
        )

    def _known(
        self,
        rows: NDArray[np.int64],
        lengths: NDArray[np.int64],
        first: int,
        seed: int,
        groups: Sequence[int] | None,
    ) -> KnownTokens:
        laws = LawTable(self.laws, edges=self.edges, drafts=self.drafts, raw=self.raw)
        depth = np.array(self.depth)
        member = rows if groups is None else np.array(groups)[rows]
        return KnownTokens(
            laws=laws,
            completions=Completions(
                context=np.array(self.context),
                cell=laws.cells(self.context, self.tokens),
                uniform=position_uniforms(seed, np.array(self.completion) + first, depth),
                lengths=lengths,
                lost=np.zeros(len(rows), dtype=np.int64),
                groups=np.unique(member, return_counts=True)[1],
            ),
            depth=depth,
            row=np.array(self.completion, dtype=np.int64),
        )


def walk(
    laws: ContextLaws,
    emitted: Iterable[Emission],
    *,
    edges: Mapping[Key, Edge] | None = None,
    drafts: ContextLaws | None = None,
    raw: ContextLaws | None = None,
) -> Scoring:
    """Follow completions through laws that are known by context, as far as they are known.

    Args:
        laws: What is known of the target's law.
        emitted: The completions.
        edges: What is in doubt about the law, by context; None where it is exact.
        drafts: The drafter's law, by the same contexts; None where it is not known.
        raw: The law without filters, by the same contexts; None where it is not known.
    """
    scoring = Scoring(
        edges=None if edges is None else [],
        drafts=None if drafts is None else [],
        raw=None if raw is None else [],
    )
    number: dict[Key, int | None] = {}

    def numbered(key: Key) -> int | None:
        """The number of the law in a context; None where it is not known."""
        if key not in number:
            law = laws.next_law(key)
            number[key] = None
            if law is not None:
                number[key] = scoring.add_law(
                    law,
                    None if edges is None else edges[key],
                    None if drafts is None else drafts.next_law(key),
                    None if raw is None else raw.next_law(key),
                )
                keys.append(key)
                behind.append({})
        return number[key]

    keys: list[Key] = []
    # What each is followed by: most completions go where others went before.
    behind: list[dict[Token, int | None]] = []
    for row, one in enumerate(emitted):
        if one.tokens is None:
            scoring.lose(row, range(one.asked))
            continue
        here = numbered(laws.start(one.prompt)) if one.tokens else None
        passed: list[int] = []
        for token in one.tokens:
            if here is None:
                break
            passed.append(here)
            if len(passed) == len(one.tokens):
                break
            followed = behind[here]
            if token not in followed:
                followed[token] = numbered(laws.after(keys[here], token))
            here = followed[token]
        scoring.extend(row, one.tokens, passed)
        if one.end_hidden and len(passed) == len(one.tokens):
            scoring.lose(row, [len(one.tokens)])
    return scoring


def exact_alternatives(
    evidence: Evidence, sampling: Sampling, order: FilterOrder
) -> tuple[ContextLaws | None, ContextLaws | None]:
    """Return laws to bet on beside the exact one, None where there is none: the drafter's, and the unfiltered one.

    The law that the subject says it drafts from, and the target's without filters, where any is asked for. They are
    only bet with: whatever they are, no bet accuses a subject that has the target's law. Where filters look back, so
    that a context is more than its last tokens, there is neither.
    """
    if looks_back(sampling):
        return None, None
    drafts = raw = None
    subject = evidence.laws.get("subject")
    if subject is not None and subject.drafts is not None:
        drafts = exact_laws(msgspec.structs.replace(subject, logprobs=subject.drafts, drafts=None), sampling, order)
    if sampling != Sampling():
        raw = exact_laws(evidence.laws["reference"], Sampling(), order)
    return drafts, raw
