"""`specaudit calibrate`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from specaudit.model.calibration import Calibration

NOT_AS_IT_SHOULD_BE = 1
"""Exit code where a control was accused, a fault survives a check that should kill it, or a method breaks its bound."""


@click.command("calibrate")
@click.option("--quick", is_flag=True, help="Less of everything: two minutes on two cores.")
@click.option(
    "--mutant",
    "mutants",
    multiple=True,
    metavar="NAME[:DOSE]",
    help="Only this mutant, beside a correct decoder; repeatable.  [default: all, and the methods' false alarms]",
)
@click.option("--workers", type=click.IntRange(min=1), default=2, show_default=True, help="Processes.")
@click.option("--scheduler", metavar="URL", help="A Dask cluster in place of processes, e.g. tcp://127.0.0.1:8786.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for results, JSON and HTML; what it holds of the same calibration is not computed again.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of everything that is random.")
@click.option("--json", is_flag=True, help="Print as JSON.")
def command(
    *,
    quick: bool,
    mutants: tuple[str, ...],
    workers: int,
    scheduler: str | None,
    out: Path | None,
    seed: int,
    json: bool,
) -> None:
    """Measure the tool itself: which planted faults its checks catch, and how often it cries wolf.

    Every mutant and control is audited by every check at every level of evidence; every statistical method judges 2,000
    healthy subjects, or such as are exactly at the tolerance; and faults are timed against the least that any test
    needs. Exit code 1 where something is not as it should be.
    """
    from specaudit.calibrate.run import calibrate, tasks
    from specaudit.executors import executor

    tasks(quick=quick, seed=seed, mutants=mutants)  # what is misspelt is told before any worker starts
    with closing(executor(workers=workers, scheduler=scheduler)) as where, _progress() as progress:
        found = calibrate(where, quick=quick, seed=seed, mutants=mutants, out=out, progress=progress)
    if out is not None:
        _save(found, out)
    _show(found, json=json)
    if not found.passed:
        raise click.exceptions.Exit(NOT_AS_IT_SHOULD_BE)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    console = Console(stderr=True)
    with Progress(
        "calibrating",
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _save(found: Calibration, out: Path) -> None:
    from specaudit.model.errors import SpecauditError
    from specaudit.render.calibration_html import render_html
    from specaudit.render.json import render_json

    try:
        (out / "calibration.json").write_text(render_json(found), encoding="utf-8")
        (out / "calibration.html").write_text(render_html(found), encoding="utf-8")
    except OSError as error:
        raise SpecauditError(
            f"The calibration could not be written to {out} ({error.strerror}); its results are kept.",
            hint=f"specaudit calibrate --out {out}",
        ) from error


def _show(found: Calibration, *, json: bool) -> None:
    if json:
        from specaudit.render.json import render_json

        click.echo(render_json(found), nl=False)
        return
    from rich.console import Console

    from specaudit.render.calibration_terminal import render_calibration

    console = Console()
    color = console.color_system is not None and not console.no_color
    click.echo(render_calibration(found, width=console.width, color=color), nl=False, color=color)
