"""Carry out a stage: bounded concurrency, every attempt recorded, counters read while the engine is quiet."""

import asyncio
import hashlib
import time
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from msgspec.structs import replace

from specaudit.audit.budget import Ledger, spent_on
from specaudit.audit.events import Listener, RateLimited, RequestEnded
from specaudit.audit.record import Recording
from specaudit.audit.shards import WHOLE, Shard
from specaudit.engines.interface import Engine, EngineFailure, Page, Scraper
from specaudit.engines.pace import REFUSED_FOR_GOOD, Pacer
from specaudit.model.completion import Response
from specaudit.model.entries import AttemptEntry, Failure, SnapshotEntry
from specaudit.model.errors import CouldNotTest
from specaudit.model.limits import UNLIMITED, at_most
from specaudit.model.plan import PlannedRequest, Role, Stage

FAILURES_IN_A_ROW = 20
"""After this many an engine is called dead, and nothing more is asked."""

QUIET_READINGS = 200
QUIET_SECONDS = 0.01
"""Between two readings that must agree: engines count a step after they have sent its tokens."""

_IN_FLIGHT = Failure(reason="given up", message="Given up in flight: collecting ended.", lost=True)


@dataclass(frozen=True, kw_only=True)
class _Task:
    """A slot that is to be asked."""

    slot: int
    planned: PlannedRequest
    numbers: Iterator[int]
    """Of the attempts to come. Those before collecting was resumed were all refused before anything was generated."""


class Collector:
    """Asks the engines of all arms and records what they say."""

    def __init__(
        self,
        recorder: Recording,
        engines: Mapping[Role, Engine],
        scrapers: Mapping[str, Scraper],
        *,
        concurrency: int,
        listener: Listener,
        ledger: Ledger | None = None,
        pacer: Pacer | None = None,
        shard: Shard = WHOLE,
    ) -> None:
        self._recorder = recorder
        self._engines = engines
        self._scrapers = scrapers
        self._concurrency = concurrency
        self._listener = listener
        self._ledger = ledger or Ledger(UNLIMITED)
        self._pacer = pacer or Pacer(UNLIMITED)
        self._shard = shard
        self._tokenized: dict[tuple[Role, str], tuple[int, ...] | None] = {}
        self._failures: dict[Role, int] = dict.fromkeys(engines, 0)  # by the role whose engine is asked
        self._answered: dict[Role, tuple[str, int, datetime]] = {}  # stage and slot of the last answer, and when
        self._slowed: set[Role] = set()

    async def collect(self, stage: Stage) -> None:
        """Carry out this shard's part of a stage, block after block, or what is left of it.

        A slot that was answered or lost is never asked again. A reading is taken again only where the first was of no
        use and nothing was generated since, so that an interruption makes void the one window that it falls into.

        Raises:
            LimitReached: there is no room for the next request; everything that was sent is answered.
            CouldNotTest: an engine has died or refuses everything; what was collected is recorded.
        """
        own = self._shard.slots(stage)
        if not own:
            return
        before = self._recorder.evidence()
        settled = {slot for slot in range(stage.size) if before.is_settled(stage.name, slot)}
        last, readings = max(settled, default=-1), [before.snapshots(stage.name, page) for page in self._scrapers]
        if last < 0:
            await self._snapshot(stage, ended=0)
        first = 0
        for ended, block in enumerate(stage.blocks, start=1):
            tasks = [
                _Task(
                    slot=slot,
                    planned=stage.whole(planned),
                    numbers=count(1 + len(before.attempts_at(stage.name, slot))),
                )
                for slot, planned in enumerate(block, start=first)
                if slot in own and slot not in settled
            ]
            if stage.rate is None:
                most = min(stage.concurrency or self._concurrency, self._concurrency)
                await self._collect_block(stage, tasks, most)
            else:
                await self._send_at_rate(stage, tasks, stage.rate)
            first += len(block)
            if any(_reads_again(read.get(ended), unchanged=last < first) for read in readings):
                await self._snapshot(stage, ended=ended)

    async def _collect_block(self, stage: Stage, tasks: Sequence[_Task], concurrency: int) -> None:
        waiting = iter(tasks)

        async def work() -> None:
            for task in waiting:
                await self._ask(stage, task)
                await asyncio.sleep(0)  # an engine in process never waits, and Ctrl-C must have its turn

        await _all_of(work() for _ in range(min(concurrency, len(tasks))))

    async def _send_at_rate(self, stage: Stage, tasks: Sequence[_Task], rate: float) -> None:
        """Send each request at its own time; what is not answered by then stays in flight."""

        async def send(number: int, task: _Task) -> None:
            await asyncio.sleep(number / rate)
            await self._ask(stage, task)

        await _all_of(send(number, task) for number, task in enumerate(tasks))

    async def _ask(self, stage: Stage, task: _Task) -> None:
        """Ask until answered, refused for good, or lost; a lost draw is never drawn again."""
        most = at_most(task.planned.request)
        try:
            async with self._ledger.room_for(most):
                response = await self._pacer.patiently(
                    lambda: self._attempt(stage, task), most.tokens, lambda: self._slow_down(task.planned.engine)
                )
        except EngineFailure as failure:
            self._failures[task.planned.engine] += 1
            self._listener(RequestEnded(answered=False, tokens=0, spent=self._ledger.spent))
            self._stop_if_dead(stage, task, failure)
        else:
            self._failures[task.planned.engine] = 0
            self._answered[task.planned.engine] = stage.name, task.slot, datetime.now(UTC)
            self._listener(RequestEnded(answered=True, tokens=response.received, spent=self._ledger.spent))

    def _stop_if_dead(self, stage: Stage, task: _Task, failure: EngineFailure) -> None:
        arm = task.planned.engine
        if failure.failure.reason != "connect" and self._failures[arm] < FAILURES_IN_A_ROW:
            return
        refuses = failure.failure.status in REFUSED_FOR_GOOD
        did = "refuses what is asked of it" if refuses else "stopped answering"
        hint = "specaudit run --resume DIR, when it answers again"
        last = self._answered.get(arm)
        before = f"Its last answer was to {_at(*last)}." if last else "It has answered nothing since collecting began."
        raise CouldNotTest(
            f"The {arm} {did} at {_at(stage.name, task.slot, datetime.now(UTC))}: {failure.failure.message} {before}",
            hint="Leave the check out with --ignore, or change its requests in the suite" if refuses else hint,
        ) from failure

    def _slow_down(self, arm: Role) -> None:
        """Tell, once, that an arm limits how often it is asked."""
        if arm not in self._slowed:
            self._slowed.add(arm)
            self._listener(RateLimited(arm))

    async def _attempt(self, stage: Stage, task: _Task) -> Response:
        number = next(task.numbers)
        started, clock = _now(), time.perf_counter()

        def record(response: Response | None = None, failure: Failure | None = None) -> None:
            entry = AttemptEntry(
                stage=stage.name,
                slot=task.slot,
                number=number,
                started=started,
                seconds=round(time.perf_counter() - clock, 6),
                response=response,
                failure=failure,
            )
            self._ledger.book(spent_on(task.planned.request, entry))
            self._recorder.append(entry)

        try:
            response = await self._engines[task.planned.engine].complete(task.planned.request)
        except EngineFailure as failure:
            record(failure=failure.failure)
            raise
        except asyncio.CancelledError:
            record(failure=_IN_FLIGHT)
            raise
        record(self._brief(task.planned, response))
        return response

    def _brief(self, planned: PlannedRequest, response: Response) -> Response:
        """The answer without the prompt's token ids, where these are known: long prompts are recorded once."""
        ids, prompt = response.prompt_token_ids, planned.request.prompt
        known = self._tokenized.setdefault((planned.arm, prompt), ids) if isinstance(prompt, str) else prompt
        first = known is ids
        return response if ids is None or first or ids != known else replace(response, prompt_token_ids=None)

    async def _snapshot(self, stage: Stage, *, ended: int) -> None:
        """Read the counters of every replica, all at the same moment, and record them in the order of the plan."""
        if not self._shard.reads(stage):
            return
        for entry in await asyncio.gather(*(self._read(stage, ended, *one) for one in self._scrapers.items())):
            self._recorder.append(entry)

    async def _read(self, stage: Stage, ended: int, source: str, scraper: Scraper) -> SnapshotEntry:
        """Read a page until two readings in a row agree: an engine may still be counting."""
        page, failure, quiet = Page(text=""), None, False
        try:
            page = await scraper.scrape()
            for _ in range(QUIET_READINGS):
                await asyncio.sleep(QUIET_SECONDS)
                before, page = page, await scraper.scrape()
                quiet = _counters(before.text) == _counters(page.text)
                if quiet:
                    break
        except EngineFailure as error:
            failure = error.failure.message
        return SnapshotEntry(
            stage=stage.name,
            block=ended,
            taken=_now(),
            quiet=quiet,
            page=page.text,
            source=source,
            content_type=page.content_type,
            headers=dict(page.headers),
            sha256=hashlib.sha256(page.text.encode()).hexdigest(),
            failure=failure,
        )


async def _all_of(work: Iterable[Coroutine[None, None, None]]) -> None:
    """Wait for all; the first that could not go on ends the others, and is raised."""
    stop: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except* CouldNotTest as stops:
        stop = stops.exceptions[0]
    if stop is not None:
        raise stop


def _reads_again(reading: SnapshotEntry | None, *, unchanged: bool) -> bool:
    """Whether a page has to be read: it was not, or in vain, and nothing was generated since."""
    return reading is None or (reading.failure is not None and unchanged)


def _counters(page: str) -> list[str]:
    """The lines that move only when tokens are generated; process times and page counts move by being read."""
    return [line for line in page.splitlines() if "token" in line and not line.startswith("#")]


def _at(stage: str, slot: int, when: datetime) -> str:
    return f"request {slot + 1} of stage {stage}, at {when.isoformat(timespec='milliseconds')}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
