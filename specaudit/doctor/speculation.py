"""Is speculation on, can a request switch it off, are logprobs right beside it, and what are the counters worth."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from specaudit.counters.answers import AnswerError, read_answer
from specaudit.counters.interface import Reading
from specaudit.counters.page import parse
from specaudit.counters.registry import find
from specaudit.doctor.patient import Asked, Patient, readings
from specaudit.engines.behaviour import OPEN_PROMPT
from specaudit.laws.contexts import OVERFULL
from specaudit.model.checkup import Item, State
from specaudit.model.request import GREEDY, Request, Sampling

_LONG, _TIMES = 32, 4
IDLE_SECONDS = 0.5
"""In which nothing is asked, to see whether others do."""

SWITCHES = {
    "speculative.n_max": 0,
    "speculative": {"n_max": 0},
    "num_speculative_tokens": 0,
    "speculative_config": None,
    "spec_decode": False,
}
"""Names under which servers have let, or might let, a request switch drafting off; all are sent at once."""


@dataclass(frozen=True, kw_only=True)
class _Drafted:
    """What was drafted for some requests, as far as anything tells."""

    in_answers: int | None = None
    """Draft tokens, as the answers themselves count them."""
    counted: float | None = None
    """Steps that had drafts, as the metrics page counts them."""
    tokens: int = 0

    @property
    def any(self) -> bool | None:
        """True if something was drafted; None where nothing tells."""
        known = [count for count in (self.in_answers, self.counted) if count is not None]
        return any(known) if known else None

    @property
    def told(self) -> str:
        parts = []
        if self.in_answers is not None:
            parts.append(f"answers tell of {self.in_answers} draft tokens")
        if self.counted is not None:
            parts.append(f"the counters of {self.counted:.0f} drafted steps")
        return f"{' and '.join(parts)} in {self.tokens} tokens"


async def examine_speculation(patient: Patient) -> tuple[Item, ...]:
    """Look for drafts behind greedy requests, and behind one that wants none."""
    drafted = await _drafted(patient, None)
    items = [_is_on(drafted)]
    if drafted.any:
        items.append(_switch(await _drafted(patient, SWITCHES)))
    if patient.found.logprobs:
        items.append(await _logprobs(patient))
    return tuple(items)


async def _drafted(patient: Patient, further: dict[str, object] | None) -> _Drafted:
    before, _ = readings(await patient.scrape())
    what = "greedy" if further is None else "greedy, drafting switched off"
    answers = []
    for seed in range(1, _TIMES + 1):
        request = Request(prompt=OPEN_PROMPT, sampling=GREEDY, seed=seed, max_tokens=_LONG)
        answers.append(await patient.ask(request, what, further))
    after, _ = readings(await patient.scrape())
    counted = None
    if before and after:
        counted = _sum(after, "drafts") - _sum(before, "drafts")
        if counted == 0:
            counted = _sum(after, "draft_tokens") - _sum(before, "draft_tokens")
    responses = [asked.response for asked in answers if asked.response is not None]
    tokens = sum(response.received or response.completion_tokens or 0 for response in responses)
    return _Drafted(in_answers=_in_answers(answers), counted=counted, tokens=tokens)


def _sum(pages: Sequence[Reading], name: str) -> float:
    return sum(getattr(reading, name) or 0.0 for reading in pages)


def _in_answers(answers: Sequence[Asked]) -> int | None:
    """Draft tokens that the answers tell of; None where none says a word of it."""
    told: list[int] = []
    for asked in answers:
        try:
            found = read_answer(asked.response.speculation or {}) if asked.response is not None else None
        except AnswerError:
            continue
        if found is not None:
            told.append(found.draft_tokens or found.accepted or 0)
    return sum(told) if told else None


def _is_on(drafted: _Drafted) -> Item:
    question = "Is speculation really on?"
    if drafted.any is None:
        answer = "nothing tells: neither a metrics page nor the answers count drafts"
        return _item(question, "unknown", answer)
    if drafted.any:
        return _item(question, "yes", drafted.told)
    answer = f"{drafted.told}: if it is configured, it is configured, but not speculating"
    return _item(question, "no", answer)


def _switch(drafted: _Drafted) -> Item:
    question = "Can a request switch it off?"
    names = ", ".join(SWITCHES)
    if drafted.any is None:
        return _item(question, "unknown", f"with {names} sent, nothing tells")
    if drafted.any:
        return _item(question, "no", f"with {names} sent, {drafted.told}: plain decoding needs a server of its own")
    return _item(question, "yes", f"with {names} sent, {drafted.told}")


async def _logprobs(patient: Patient) -> Item:
    """Reported logprobs of drafted tokens: of every position, among them those that a verification step emitted."""
    question = "Are logprobs right in long answers?"
    count = min(patient.found.logprobs, 20)
    request = Request(prompt=OPEN_PROMPT, sampling=Sampling(), seed=1, max_tokens=_LONG, logprobs=count)
    asked = await patient.ask(request, "logprobs of a long answer")
    positions = asked.completion.logprobs if asked.completion is not None else None
    if not positions:
        return _item(question, "unknown", asked.refusal or "none were answered")
    empty = sum(not position.top for position in positions)
    zeros = sum(not position.top and position.logprob == 0.0 for position in positions)
    overfull = sum(sum(exp(logprob) for _, logprob in position.top) > OVERFULL for position in positions)
    of = f"of {len(positions)} positions"
    if zeros:
        return _item(question, "no", f"{zeros} {of} report 0.0 and no likely tokens: zeros on verification steps")
    if empty or overfull:
        return _item(question, "no", f"{empty} {of} report no likely tokens, and {overfull} more than all the mass")
    return _item(
        question, "yes", f"all {len(positions)} positions report {count} likely tokens of at most all the mass"
    )


async def examine_counters(patient: Patient) -> tuple[Item, ...]:
    """Say which engine's the metrics page is, whether restarts would show, and whether others are asking."""
    if patient.scraper is None:
        return (_counters("Are there counters?", "unknown", "no metrics page was named: --metrics URL"),)
    page = await patient.scrape()
    found, why = readings(page)
    if page is None or not found:
        return (_counters("Are there counters?", "no", why),)
    dialect = find(parse(page.text, page.content_type))
    limit = max(reading.draft_limit for reading in found)
    unfit = next((reason for reading in found for reason in reading.unfit), "")
    whose = (
        f"{dialect.name if dialect is not None else 'unknown'}'s, {len(found)} replica(s), {limit or 'no'} positions"
    )
    marked = all(reading.marker for reading in found)
    restarts = "a mark of the process shows them" if marked else "only a fall of a counter shows them"
    return (
        _counters("Are there counters?", "partly" if unfit else "yes", f"{whose}{'; ' + unfit if unfit else ''}"),
        _counters("Would a restart show?", "yes" if marked else "partly", restarts),
        await _others(patient, found),
    )


async def _others(patient: Patient, before: Sequence[Reading]) -> Item:
    await asyncio.sleep(IDLE_SECONDS)
    after, _ = readings(await patient.scrape())
    moved = _sum(after, "generation_tokens") - _sum(before, "generation_tokens")
    running = _sum(after, "requests_running")
    question = "Does anybody else ask?"
    if moved or running:
        said = f"{moved:.0f} tokens were counted and {running:.0f} requests run while nothing was asked"
        return _counters(question, "yes", f"{said}: windows of counters will be void")
    return _counters(question, "no", f"nothing moved in {IDLE_SECONDS:g} s of silence")


def _item(question: str, state: State, answer: str) -> Item:
    return Item(topic="speculation", question=question, state=state, answer=answer)


def _counters(question: str, state: State, answer: str) -> Item:
    return Item(topic="counters", question=question, state=state, answer=answer)
