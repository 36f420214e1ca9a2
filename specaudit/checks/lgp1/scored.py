"""Reported logprobs, each beside what the target would report in its context."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log

from msgspec.structs import replace

from specaudit.checks.lgp1.requests import SCORE, Answer, Context, How, answers, contexts, positions, sampling_of
from specaudit.checks.lgp1.settings import LogprobSettings
from specaudit.laws.contexts import ContextLaws, NextLaw, exact_laws, scored_law
from specaudit.laws.orders import order_of
from specaudit.laws.processors import looks_back
from specaudit.model.completion import TokenLogprobs
from specaudit.model.evidence import Evidence
from specaudit.model.request import Sampling, Token

Logprobs = Mapping[Token, float]


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is known of the target in one context."""

    raw: Logprobs
    processed: Logprobs | None
    """None where it is not known."""
    drafter: Logprobs | None = None
    """The drafter's, where the subject reveals it."""


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One emitted token: what was reported, and what each hypothesis says would be."""

    answer: int
    position: int
    token: int
    reported: float
    says: Mapping[str, float]
    """Natural logarithms by hypothesis; those that do not know the token are left out."""


@dataclass(frozen=True, kw_only=True)
class ScoredAnswers:
    """All that could be compared."""

    tokens: tuple[Scored, ...]
    missing: frozenset[int]
    """Numbers of the answers in which a scored token came without its logprob."""
    lost: int
    """Answers that did not come back with their tokens."""
    processed_known: bool
    """The target's law behind the filters is known wherever it was asked for."""
    unlisted: int
    """Positions with fewer likely tokens than were asked for."""


def scored_answers(settings: LogprobSettings, evidence: Evidence, how: How) -> ScoredAnswers:
    """Hold every scored token against the target."""
    found, lost = answers(evidence)
    targets = _exact(settings, evidence) if how == "exact" else _asked(settings, evidence, how, found)
    tokens: list[Scored] = []
    missing: set[int] = set()
    asked = min(settings.logprobs, evidence.capabilities["subject"].logprobs)
    known, unlisted = True, 0
    for answer in found:
        for position in positions(evidence.plan, settings, how, answer):
            target = targets(answer, position)
            if target is None:
                continue
            told = answer.reported[position]
            if told is None or told.logprob is None:
                missing.add(answer.number)
                continue
            known = known and target.processed is not None
            likely = min(len(law) for law in (target.raw, target.processed) if law is not None)
            unlisted += len(told.top) < min(asked, likely)
            before = targets(answer, position - 1) if position else None
            one = _scored(answer, position, told, target, before)
            if one is not None:
                tokens.append(one)
    return ScoredAnswers(
        tokens=tuple(tokens),
        missing=frozenset(missing),
        lost=lost,
        processed_known=known,
        unlisted=unlisted,
    )


def _scored(answer: Answer, position: int, told: TokenLogprobs, target: Target, before: Target | None) -> Scored | None:
    """A token beside all that it might have been reported with; None where the target's logprob of it is not known."""
    token = answer.tokens[position]
    if told.logprob is None or token not in target.raw:
        return None
    another = isinstance(told.token, int) and told.token != token
    laws = {
        "raw": target.raw,
        "processed": target.processed or {},
        "drafter": target.drafter or {},
        "before": before.raw if before is not None else {},
    }
    says = {name: law[token] for name, law in laws.items() if token in law}
    return Scored(
        answer=answer.number,
        position=position,
        token=token,
        # What is reported of another token is no report of this one, whatever the number.
        reported=float("-inf") if another else told.logprob,
        says=says,
    )


class _Exact:
    """Targets in process, from the revealed law."""

    def __init__(self, raw: ContextLaws, processed: ContextLaws, drafter: ContextLaws | None) -> None:
        self._laws = (raw, processed, drafter)
        self._known: dict[tuple[int, ...], Target | None] = {}

    def __call__(self, answer: Answer, position: int) -> Target | None:
        context = (*answer.prompt, *answer.tokens[:position])
        if context not in self._known:
            raw, processed, drafter = (_next(laws, answer, position) for laws in self._laws)
            self._known[context] = None if raw is None else Target(raw=raw, processed=processed, drafter=drafter)
        return self._known[context]


def _next(laws: ContextLaws | None, answer: Answer, position: int) -> Logprobs | None:
    if laws is None:
        return None
    key = laws.start(answer.prompt)
    for token in answer.tokens[:position]:
        key = laws.after(key, token)
    law = laws.next_law(key)
    return None if law is None else _logs(law)


def _exact(settings: LogprobSettings, evidence: Evidence) -> "_Exact":
    sampling = sampling_of(settings, evidence)
    order = order_of(evidence.capabilities["reference"].engine)
    revealed, subject = evidence.laws["reference"], evidence.laws.get("subject")
    drafts = None
    if subject is not None and subject.drafts is not None:
        drafts = exact_laws(replace(subject, logprobs=subject.drafts, drafts=None), Sampling(), order)
    return _Exact(exact_laws(revealed, Sampling(), order), exact_laws(revealed, sampling, order), drafts)


class _Asked:
    """Targets that the reference was asked for."""

    def __init__(self, told: Mapping[tuple[tuple[int, ...], tuple[int, ...]], Target]) -> None:
        self._told = told

    def __call__(self, answer: Answer, position: int) -> Target | None:
        return self._told.get((answer.prompt, answer.tokens[:position]))


def _asked(settings: LogprobSettings, evidence: Evidence, how: How, found: list[Answer]) -> _Asked:
    if SCORE not in evidence.stages:
        return _Asked({})
    sampling = sampling_of(settings, evidence)
    order = order_of(evidence.capabilities["reference"].engine)
    asked = contexts(evidence.plan, settings, how, found)
    told: dict[tuple[tuple[int, ...], tuple[int, ...]], Target] = {}
    for context, (_, _, response) in zip(asked, evidence.answered(SCORE, "reference"), strict=False):
        if response is None:
            continue
        first = response.completions[0].logprobs if response.completions else None
        row = response.scores or () if how == "forced" else (first or ())[:1]
        for prefix, position in _places(context, how, row):
            raw = dict(position.top)
            if position.logprob is not None:
                raw.setdefault(position.token, position.logprob)
            law = None if looks_back(sampling) else scored_law(position, sampling, "raw", order)
            told[context.prompt, prefix] = Target(raw=raw, processed=None if law is None else _logs(law))
    return _Asked(told)


def _places(
    context: Context, how: How, row: tuple[TokenLogprobs, ...]
) -> Iterator[tuple[tuple[int, ...], TokenLogprobs]]:
    """The prefix behind which each position was scored."""
    for depth, position in enumerate(row):
        yield (context.tokens[:depth] if how == "forced" else context.tokens), position


def _logs(law: NextLaw) -> Logprobs:
    return {token: log(p) for token, p in law.items()}
