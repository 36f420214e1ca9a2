"""`specaudit counters`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from specaudit.cli.durations import seconds
from specaudit.cli.headers import secret_header
from specaudit.counters.registry import names

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from specaudit.counters.history import History, Interval
    from specaudit.counters.snapshots import Snapshot
    from specaudit.counters.summary import Summary

EXIT = {"measured": 0, "wrong": 1, "nothing-valid": 4}


@click.command("counters")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(exists=True, allow_dash=True))
@click.option("--watch", "urls", metavar="URL", multiple=True, help="Read this metrics page instead (repeatable).")
@click.option(
    "--every", metavar="TIME", type=seconds, default="5s", show_default=True, help="How often, e.g. 500ms, 5s, 1m."
)
@click.option("--for", "duration", metavar="TIME", type=seconds, help="For how long.  [default: until interrupted]")
@click.option("--record", metavar="FILE", type=click.Path(), help="Keep the pages that are read, a line of JSON each.")
@click.option("--dialect", type=click.Choice(names()), help="Whose pages these are.  [default: found from the page]")
@click.option(
    "--min-drafts",
    metavar="N",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="A window with fewer is void.",
)
@click.option(
    "--confidence",
    metavar="P",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.99,
    show_default=True,
    help="Of each interval.",
)
@click.option(
    "--header",
    "headers",
    metavar="NAME=ENVVAR",
    type=secret_header,
    multiple=True,
    help="Send a header with the value of an environment variable (repeatable).",
)
@click.option("--ca-file", metavar="PATH", type=click.Path(), help="Certificates to trust (PEM).  [default: usual]")
@click.option("--csv", metavar="FILE", type=click.Path(), help="Write the windows as CSV.")
@click.option("--parquet", metavar="FILE", type=click.Path(), help="Write the windows as Parquet.")
@click.option("--json", is_flag=True, help="Print as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="List every window, every reason, and what other tools show.")
@click.pass_context
def command(
    context: click.Context,
    *,
    files: tuple[str, ...],
    urls: tuple[str, ...],
    every: float,
    duration: float | None,
    record: str | None,
    dialect: str | None,
    min_drafts: int,
    confidence: float,
    headers: tuple[tuple[str, str], ...],
    ca_file: str | None,
    csv: str | None,
    parquet: str | None,
    json: bool,
    verbose: bool,
) -> None:
    """Measure acceptance from the counters on metrics pages.

    Each FILE is a page, in the order in which they were saved; or what --record wrote, or an audit's evidence.jsonl.
    A folder holds the pages of one server in the order of their names, and - is standard input. Replicas are told
    apart, by folder, by address and by engine, and never added up.

    A window lies between two pages. One that holds a restart, or begins or ends while requests run, is void: it is
    listed with the reason, and no figure is made of it.

    Exit codes: 0 measured; 1 the counters are wrong; 3 no page could be read; 4 no valid window.
    """
    from specaudit.counters.history import History
    from specaudit.model.errors import UsageError

    if bool(files) == bool(urls):
        raise UsageError("Give either files or --watch.", hint="specaudit counters --watch http://HOST:PORT/metrics")
    if record and not urls:
        raise UsageError("--record goes with --watch; files are kept already.", hint="specaudit counters --help")
    history = History(dialect, min_drafts)
    intervals: list[Interval] = []
    interrupted = False
    if urls:
        from specaudit.cli.counters_watch import Watch

        watch = Watch(urls, every=every, duration=duration, headers=dict(headers), ca_file=ca_file, record=record)
        interrupted = watch.run(lambda snapshot: _show(history.add(snapshot), intervals))
    else:
        for snapshot in _saved(files):
            intervals += history.add(snapshot)
    summary = _summary(history, intervals, confidence)
    _write(summary, csv=csv, parquet=parquet)
    _print(summary, json=json, verbose=verbose)
    context.exit(130 if interrupted else EXIT[summary.outcome])


def _saved(files: Iterable[str]) -> Iterable[Snapshot]:
    """The pages in files, folders and on standard input."""
    import sys
    from pathlib import Path

    from specaudit.counters.snapshots import snapshots_in

    for file in files:
        if file == "-":
            yield from snapshots_in(sys.stdin.buffer.read())
            continue
        path = Path(file)
        inside = sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
        for one in inside:
            # Pages given one by one are one server's; a recording says whose it is, or is called by its name.
            source = path.name if path.is_dir() else path.name if path.suffix == ".jsonl" else ""
            yield from snapshots_in(_bytes(one), source)


def _bytes(path: Path) -> bytes:
    from specaudit.model.errors import CouldNotTest

    try:
        return path.read_bytes()
    except OSError as error:
        raise CouldNotTest(f"{path} cannot be read ({error.strerror}).", hint="specaudit counters FILE") from error


def _show(found: list[Interval], intervals: list[Interval]) -> None:
    """Keep what a page ended, and say so while the watch goes on."""
    from specaudit.counters.summary import row
    from specaudit.render.counters import render_window

    intervals += found
    for interval in found:
        click.echo(render_window(row(interval)), err=True)


def _summary(history: History, intervals: list[Interval], confidence: float) -> Summary:
    from specaudit.counters.summary import of_one_page, summarise
    from specaudit.model.errors import CouldNotTest

    if not history.latest:
        reasons = list(dict.fromkeys(reason for interval in intervals for reason in interval.reasons))
        why = reasons[0] if reasons else "there are none"
        raise CouldNotTest(f"No page could be read: {why}.", hint="curl http://HOST:PORT/metrics > FILE")
    seen = {interval.source for interval in intervals if interval.window is not None}
    alone = (
        f"{source}: {of_one_page(reading)}" if source else of_one_page(reading)
        for source, readings in history.latest.items()
        for reading in readings
        if source not in seen
    )
    return summarise(intervals, confidence, notes=(*history.notes.values(), *alone))


def _write(summary: Summary, *, csv: str | None, parquet: str | None) -> None:
    from specaudit.model.errors import UsageError

    if csv is None and parquet is None:
        return
    from specaudit.counters.frame import to_frame

    frame = to_frame(summary)
    try:
        if csv is not None:
            frame.to_csv(csv, index=False)
        if parquet is not None:
            frame.to_parquet(parquet, index=False)
    except ImportError as error:
        raise UsageError("--parquet needs pyarrow.", hint="pip install 'specdec-audit[parquet]'") from error
    except OSError as error:
        raise UsageError(f"The windows could not be written ({error}).", hint="specaudit counters --help") from error


def _print(summary: Summary, *, json: bool, verbose: bool) -> None:
    if json:
        from specaudit.render.json import render_json

        click.echo(render_json(summary), nl=False)
        return
    from rich.console import Console

    from specaudit.render.counters import render_counters

    click.echo(render_counters(summary, width=Console().width, verbose=verbose), nl=False)
