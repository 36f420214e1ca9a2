"""Progress on stderr: a bar at a terminal, a line per stage elsewhere, nothing when quiet."""

import contextlib
import sys
from collections.abc import Iterator

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from specaudit.audit.events import (
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
from specaudit.model.plan import Stage
from specaudit.render.printable import printable


@contextlib.contextmanager
def listener(*, quiet: bool) -> Iterator[Listener]:
    """Give a listener that shows what happens; the bar is taken away at the end."""
    console = Console(stderr=True)
    if quiet or sys.stderr is None:
        yield silent
    elif sys.stderr.isatty() and console.is_interactive:  # FORCE_COLOR makes no terminal of a pipe
        with _bar(console) as progress:
            yield _Bar(progress)
    else:
        yield _say


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[tokens]:,} tokens{task.fields[lost]}"),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
    )


class _Bar:
    """One bar per stage."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tokens = self._lost = 0

    def __call__(self, event: Event) -> None:
        match event:
            case StageStarted():
                self._tokens = self._lost = 0
                self._task = self._progress.add_task(
                    event.stage.name, total=event.stage.size, completed=event.settled, tokens=0, lost=""
                )
            case RequestEnded():
                self._tokens += event.tokens
                self._lost += not event.answered
                lost = f", {self._lost} lost" if self._lost else ""
                self._progress.update(self._task, advance=1, tokens=self._tokens, lost=lost)
            case Judging():
                self._progress.console.print("judging …", style="dim")
            case Resumed():
                self._progress.console.print(_resumed(event), style="dim", highlight=False)
            case RateLimited():
                self._progress.console.print(_slowed(event), style="dim", highlight=False)
            case Probed():
                pass


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
        case RequestEnded():
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
