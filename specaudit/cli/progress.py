"""Progress on stderr: a bar at a terminal, a line per stage elsewhere, nothing when quiet."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from math import exp

import click
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from specaudit.audit.events import (
    Earned,
    Event,
    Judging,
    Listener,
    Probed,
    RateLimited,
    RequestEnded,
    Resumed,
    StageStarted,
    silent,
)
from specaudit.model.limits import NOTHING, UNLIMITED, Limits, Spending
from specaudit.model.plan import Stage
from specaudit.render.printable import printable


@contextlib.contextmanager
def listener(*, quiet: bool, verbose: bool = False) -> Iterator[Listener]:
    """Give a listener that shows what happens; the bar is taken away at the end."""
    console = Console(stderr=True)
    if quiet or sys.stderr is None:
        yield silent
    elif sys.stderr.isatty() and console.is_interactive:  # FORCE_COLOR makes no terminal of a pipe
        with _bar(console) as progress:
            yield _Bar(progress)
    else:
        yield _say_all if verbose else _say


class _Progress(Progress):
    """A bar for each stage, and below them what the audit has spent and shown as a whole."""

    told = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the bars and the line."""
        yield from super().get_renderables()
        if self.told:
            yield Text(self.told, style="dim")


def _bar(console: Console) -> _Progress:
    return _Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TextColumn("{task.fields[tokens]:,} tokens, {task.fields[rate]}/s{task.fields[lost]}"),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
    )


class _Bar:
    """One bar per stage, and a line for the audit."""

    def __init__(self, progress: _Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress
        self._clock = clock
        self._tokens = self._lost = 0
        self._began = clock()
        self._limits, self._spent, self._earned = UNLIMITED, NOTHING, ""

    def __call__(self, event: Event) -> None:
        match event:
            case StageStarted():
                self._tokens = self._lost = 0
                self._began, self._limits = self._clock(), event.limits
                self._task = self._progress.add_task(
                    event.stage.name, total=event.stage.size, completed=event.settled, tokens=0, rate="0", lost=""
                )
            case RequestEnded():
                self._tokens += event.tokens
                self._lost += not event.answered
                self._spent = event.spent
                rate = f"{self._tokens / max(self._clock() - self._began, 1e-3):,.0f}"
                lost = f", {self._lost} lost" if self._lost else ""
                self._progress.update(self._task, advance=1, tokens=self._tokens, rate=rate, lost=lost)
            case Earned():
                self._earned = _earned(event)
            case Judging():
                self._progress.console.print("judging …", style="dim")
            case Resumed():
                self._progress.console.print(_resumed(event), style="dim", highlight=False)
            case RateLimited():
                self._progress.console.print(_slowed(event), style="dim", highlight=False)
            case Probed():
                pass
        self._progress.told = "; ".join(filter(None, (_spent(self._spent, self._limits), self._earned)))


def _spent(spent: Spending, limits: Limits) -> str:
    """What was spent, and what is left of each limit."""
    if spent == NOTHING:
        return ""
    left = []
    if limits.token_budget is not None:
        left.append(f"{limits.token_budget - spent.tokens:,} tokens")
    if limits.max_requests is not None:
        left.append(f"{limits.max_requests - spent.requests:,} requests")
    cost = limits.cost(spent)
    if limits.max_cost is not None and cost is not None:
        left.append(f"{limits.max_cost - cost:.2f} of {limits.max_cost:g}")
    price = "" if cost is None else f", cost {cost:.2f}"
    rest = f", left: {', '.join(left)}" if left else ""
    return f"spent {spent.tokens:,} tokens in {spent.requests:,} requests{price}{rest}"


def _earned(event: Earned) -> str:
    """The current e-value, and the one that shows a deviation."""
    path, threshold = event.betting.path, event.betting.threshold
    now = path[-1][1] if path else event.betting.log_e
    value = "without limit" if now is None else f"{exp(min(now, 700.0)):.3g}"
    needed = "" if threshold is None else f" of {exp(min(threshold, 700.0)):,.0f}"
    return f"{event.check} e-value {value}{needed}"


def _say_all(event: Event) -> None:
    """One line per stage, and one for what bets have earned before it."""
    if isinstance(event, Earned):
        with contextlib.suppress(OSError):
            click.echo(f"{_earned(event)} after {event.betting.tokens:,} tokens", err=True)
    else:
        _say(event)


def _say(event: Event) -> None:
    """One line per stage. A reader that has gone away stops the lines, not the audit."""
    match event:
        case Probed():
            arm = event.arm
            line = f"{arm.role}: {arm.endpoint or arm.engine}, model {event.capabilities.model}"
        case StageStarted():
            left = f", {event.settled:,} of them done before" if event.settled else ""
            line = f"{event.stage.name}: {_cost(event.stage)}{left}"
        case Resumed():
            line = _resumed(event)
        case RateLimited():
            line = _slowed(event)
        case Judging():
            line = "judging"
        case RequestEnded() | Earned():
            return
    with contextlib.suppress(OSError):
        click.echo(printable(line), err=True)


def _resumed(event: Resumed) -> str:
    if event.sealed:
        return "this audit is complete already: nothing is asked, its evidence is judged again"
    return f"going on behind {event.answered:,} answered requests"


def _slowed(event: RateLimited) -> str:
    return f"the {event.arm} limits its requests: it is asked as often as it allows"


def _cost(stage: Stage) -> str:
    requests = [planned.request for planned in stage.slots()]
    tokens = sum(request.n * request.max_tokens for request in requests)
    return f"{len(requests):,} requests, up to {tokens:,} tokens"
