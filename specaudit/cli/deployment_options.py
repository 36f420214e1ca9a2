"""Options that say what decodes and what drafts, shared by the commands that price and simulate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from specaudit.claims.architecture import Architecture
    from specaudit.claims.drafters import Drafter
    from specaudit.claims.speed_up import Speculation
    from specaudit.claims.tables import Table

F = TypeVar("F", bound=Callable[..., Any])

COUNT = click.IntRange(1, 1_048_576)
SHARE = click.FloatRange(0, 1, min_open=True)
_FILE = click.Path(path_type=Path)
DRAFTERS = "model:NAME, share:X, eagle, eagle3, mtp, blind, lookup"

_OPTIONS = (
    click.option("--model", metavar="NAME", required=True, help="The target, by its name in the model table."),
    click.option("--device", metavar="NAME", required=True, help="By its name in the hardware table."),
    click.option("--devices", metavar="N", type=COUNT, default=1, show_default=True, help="Sharing every layer."),
    click.option("--precision", metavar="NAME", default="bf16", show_default=True, help="Of the weights."),
    click.option(
        "--cache-precision", metavar="NAME", help="Of keys and values.  [default: fp8 if weights are, else bf16]"
    ),
    click.option("--drafter", metavar="KIND", default="eagle3", show_default=True, help=f"One of {DRAFTERS}."),
    click.option(
        "--bandwidth", metavar="X", type=SHARE, default=0.75, show_default=True, help="Share that is reached."
    ),
    click.option("--compute", metavar="X", type=SHARE, default=0.5, show_default=True, help="Share that is reached."),
    click.option(
        "--overhead-ms", metavar="MS", type=click.FloatRange(0), default=2.0, show_default=True, help="Of every step."
    ),
    click.option(
        "--launch-ms",
        metavar="MS",
        type=click.FloatRange(0),
        default=0.4,
        show_default=True,
        help="Of every drafting pass.",
    ),
    click.option(
        "--memory-used", metavar="X", type=SHARE, default=0.9, show_default=True, help="By weights and cache."
    ),
    click.option("--no-attention", is_flag=True, help="Do not count attention's own arithmetic."),
    click.option("--no-links", is_flag=True, help="Do not count the traffic between devices."),
    click.option(
        "--hardware", metavar="FILE", type=_FILE, multiple=True, help="Devices of your own, TOML; repeatable."
    ),
    click.option("--models", metavar="FILE", type=_FILE, multiple=True, help="Models of your own, TOML; repeatable."),
)


def deployment_options(command: F) -> F:
    """Give a command the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def speculation_of(options: dict[str, Any], *, acceptance: float, later_child: float = 0.0) -> Speculation:
    """Return what the options describe.

    Raises:
        UsageError: they name what is in no table, or what does not go together.
    """
    from specaudit.claims import tables
    from specaudit.claims.precisions import PRECISIONS, precision_named
    from specaudit.claims.speed_up import Speculation
    from specaudit.claims.step_time import Deployment

    known = tables.models(tables.read_models(options["models"]))
    target, weights = known.find(options["model"], "--model"), precision_named(options["precision"], "--precision")
    cache = options["cache_precision"]
    deployment = Deployment(
        model=target,
        device=tables.devices(tables.read_devices(options["hardware"])).find(options["device"], "--device"),
        devices=options["devices"],
        precision=weights,
        cache=(
            precision_named(cache, "--cache-precision")
            if cache
            else PRECISIONS["fp8" if weights.bytes <= 1 else "bf16"]
        ),
        bandwidth_efficiency=options["bandwidth"],
        compute_efficiency=options["compute"],
        overhead=options["overhead_ms"] / 1e3,
        attention=not options["no_attention"],
        links=not options["no_links"],
    )
    drafter = _drafter(options["drafter"], target, known, options["launch_ms"] / 1e3)
    return Speculation(deployment=deployment, drafter=drafter, acceptance=acceptance, later_child=later_child)


def _drafter(text: str, target: Architecture, known: Table[Architecture], launch: float) -> Drafter:
    """Return the drafter that is asked for.

    Raises:
        UsageError: there is no such kind; the message names the nearest.
    """
    from specaudit.claims import drafters
    from specaudit.model.errors import UsageError
    from specaudit.model.nearest import nearest

    kind, _, value = text.partition(":")
    if kind == "model" and value:
        return drafters.small_model(known.find(value, "--drafter"), launch=launch)
    if kind == "share":
        try:
            share = float(value)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise UsageError(f"--drafter: {text!r} is no share between 0 and 1.", hint="--drafter share:0.02")
        return drafters.of_share(target, share, launch=launch)
    makers = {
        "eagle": drafters.eagle,
        "eagle3": drafters.eagle3,
        "mtp": drafters.mtp,
        "blind": drafters.blind_heads,
    }
    if text in makers:
        return makers[text](target, launch=launch)
    if text == "lookup":
        return drafters.prompt_lookup(launch=launch)
    raise UsageError(
        f"--drafter: there is no {text!r}.{nearest(kind, [*makers, 'lookup', 'model', 'share'])}",
        hint=f"One of {DRAFTERS}",
    )
