"""Where answers fell short of what was asked: told in the notes of every check that they were asked for.

What did not come is counted as lost by the checks themselves; here it is said, so that a verdict which stays open, or a
bound which is wide, has its reason beside it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from specaudit.checks import registry
from specaudit.model.completion import Completion, Response
from specaudit.model.evidence import Evidence
from specaudit.model.plan import PlannedRequest, Role, engine_of
from specaudit.model.segments import ended

_NAMED = 3
"""Models, and reasons, that a sentence names."""


@dataclass(kw_only=True)
class _Asked:
    """What was asked of one arm for one check, and what of it did not come."""

    requests: int = 0
    choices: int = 0
    scored: int = 0
    """Completions whose logprobs were asked for."""
    unanswered: Counter[str] = field(default_factory=Counter)
    """Requests that never gave an answer, by what became of the last attempt."""
    given_up: int = 0
    """Requests that were in flight when collecting ended."""
    fewer: int = 0
    """Answers with fewer choices than asked for."""
    missing: int = 0
    """Choices that these lack."""
    untold: int = 0
    """Completions without tokens."""
    cut: int = 0
    """Completions that ended early for no reason that was asked for."""
    silent: int = 0
    """Completions without the logprobs that were asked for."""
    servers: Counter[str] = field(default_factory=Counter)
    """Answers by what they say answered them."""


def shortfalls(evidence: Evidence, check_id: str) -> tuple[str, ...]:
    """Return sentences, without full stops, on what a check wanted and did not get, an arm after the other."""
    own = (check_id, registry.family(check_id))
    arms: dict[Role, _Asked] = {}
    for name, stage in evidence.stages.items():
        if name.split(".")[0] not in own:
            continue
        for slot, planned in enumerate(stage.slots()):
            attempts = evidence.attempts_at(name, slot)
            if not attempts or planned.arm == "background":
                continue
            asked = arms.setdefault(planned.arm, _Asked())
            asked.requests += 1
            if (response := evidence.response(name, slot)) is not None:
                _count(asked, planned, response, evidence)
            elif (failure := attempts[-1].failure) is not None and failure.reason == "given up":
                asked.given_up += 1
            elif failure is not None:
                asked.unanswered[failure.reason + ("" if failure.status is None else f" {failure.status}")] += 1
    wanted = getattr(registry.settings_of(evidence.plan.suite, check_id), "choices", 1)
    return tuple(
        sentence
        for role, asked in arms.items()
        for sentence in (*_capped(evidence, role, wanted), *_sentences(role, asked))
    )


def _capped(evidence: Evidence, role: Role, wanted: int) -> Iterator[str]:
    """What a server that was asked for several choices was seen to give."""
    arm, found = evidence.plan.arm(engine_of(role)), evidence.capabilities.get(engine_of(role))
    if arm is not None and arm.endpoint is not None and found is not None and found.max_choices < wanted:
        most = "one choice" if found.max_choices == 1 else f"at most {found.max_choices} choices"
        yield f"the {role} gives {most} in a request, where {wanted} were wanted: it was asked so much more often"


def _count(asked: _Asked, planned: PlannedRequest, response: Response, evidence: Evidence) -> None:
    request, completions = planned.request, response.completions[: planned.request.n]
    asked.choices += request.n
    asked.fewer += len(completions) < request.n
    asked.missing += request.n - len(completions)
    asked.servers[response.served_by or ""] += 1
    found = evidence.capabilities.get(planned.engine)
    told = found is not None and found.tokens != "none"
    exact = told and found.tokens != "retokenized" and found.reasoning != "hidden" if found else False
    for completion in completions:
        if completion.tokens is None:
            asked.untold += told
        elif exact and evidence.plan.segment == "all":
            asked.cut += ended(completion, request.max_tokens, exact=True) is None
    if request.logprobs is not None and found is not None and found.logprobs:
        asked.scored += len(completions)
        asked.silent += sum(not _scored(completion) for completion in completions)


def _scored(completion: Completion) -> bool:
    """Whether logprobs came with every token of a completion."""
    if not completion.tokens:
        return True
    told = completion.logprobs or ()
    return len(told) == len(completion.tokens) and any(position.logprob is not None for position in told)


def _sentences(role: Role, asked: _Asked) -> Iterator[str]:
    if lost := asked.unanswered.total():
        why = ", ".join(reason for reason, _ in asked.unanswered.most_common(_NAMED))
        yield f"{lost:,} of {asked.requests:,} requests to the {role} never gave an answer ({why}), and count as lost"
    if asked.given_up:
        of = f"{asked.given_up:,} of {asked.requests:,} requests to the {role}"
        yield f"{of} were in flight when collecting ended, and count as lost"
    if asked.missing:
        yield (
            f"{asked.fewer:,} answers of the {role} held fewer choices than asked for: {asked.missing:,} of "
            f"{asked.choices:,} are missing, and counted as lost"
        )
    for count, what in (
        (asked.untold, "came without its tokens, and is counted as lost"),
        (asked.cut, "ended before its cap and without a stop, and is counted as lost"),
    ):
        if count:
            yield f"of {asked.choices:,} choices of the {role}, {_each(count, what)}"
    if asked.silent:
        yield f"the {role} reported no logprobs for {asked.silent:,} of {asked.scored:,} choices that asked for them"
    if len(asked.servers) > 1:
        named = ", ".join(sorted(name or "the one asked for" for name, _ in asked.servers.most_common(_NAMED)))
        yield f"answers of the {role} name {len(asked.servers)} models or versions ({named}): several answer there"


def _each(count: int, what: str) -> str:
    if count == 1:
        return f"1 {what}"
    return f"{count:,} {what}".replace(" its ", " their ").replace(" is ", " are ")
