"""`specaudit claim simulate`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from specaudit.cli.deployment_options import COUNT, deployment_options, speculation_of

if TYPE_CHECKING:
    from specaudit.claims.simulation.policies import Policy
    from specaudit.claims.simulation.workload import Kind, Workload
    from specaudit.claims.speed_up import Speculation
    from specaudit.decoding.scheduler import Scheduling

_MIX = ("code=0.3:0.8", "chat=0.5:0.6", "lookup=0.2:0.9")
_DRAFTS = click.IntRange(1, 16)


@click.command("simulate", short_help="draft lengths under load: who is faster, who is slowed down")
@deployment_options
@click.option(
    "--kind",
    "kinds",
    metavar="NAME=SHARE:ACCEPTANCE",
    multiple=True,
    help=f"Requests of a kind; repeatable; acceptance from 0.5.  [default: {', '.join(_MIX)}]",
)
@click.option(
    "--rate",
    "rates",
    metavar="R",
    type=click.FloatRange(0, min_open=True),
    multiple=True,
    help="Requests a second; repeatable.",
)
@click.option(
    "--at-once",
    metavar="N",
    type=click.IntRange(1, 1024),
    multiple=True,
    help="Always so many; repeatable.  [default: 1, 16, 64]",
)
@click.option(
    "--requests", metavar="N", type=click.IntRange(2, 100_000), default=64, show_default=True, help="Of each load."
)
@click.option("--fixed", metavar="K", type=_DRAFTS, default=4, show_default=True, help="Drafts of the fixed policy.")
@click.option("--draft-tokens", metavar="K", type=_DRAFTS, default=8, show_default=True, help="At most, of the others.")
@click.option("--prompt", metavar="N", type=COUNT, default=1024, show_default=True, help="Tokens of a prompt.")
@click.option("--shortest", metavar="N", type=COUNT, default=64, show_default=True, help="Tokens asked for, at least.")
@click.option("--longest", metavar="N", type=COUNT, default=128, show_default=True, help="Tokens asked for, at most.")
@click.option("--prefill", is_flag=True, help="Read prompts here, too, and not elsewhere.")
@click.option("--kv-tokens", metavar="N", type=COUNT, help="Room for generated tokens: beyond it requests give way.")
@click.option("--seed", metavar="N", type=click.IntRange(0), default=0, show_default=True, help="Of the workload.")
@click.option("--json", is_flag=True, help="Print as JSON.")
def simulate_command(
    *,
    kinds: tuple[str, ...],
    rates: tuple[float, ...],
    at_once: tuple[int, ...],
    requests: int,
    fixed: int,
    draft_tokens: int,
    prompt: int,
    shortest: int,
    longest: int,
    prefill: bool,
    kv_tokens: int | None,
    seed: int,
    json: bool,
    **options: Any,
) -> None:
    """Serve mixed requests with the reference decoder and its scheduler, on a clock that the step-time model drives.

    Draft lengths are compared: none, always K, the best for each batch size, moved by each request's last step, and
    chosen by an oracle that knows what every draft is worth. Each request is held beside itself under plain decoding.
    """
    from specaudit.claims.capacity import capacity
    from specaudit.claims.simulation.compare import compare
    from specaudit.claims.simulation.workload import workload
    from specaudit.claims.tokens import Shape
    from specaudit.decoding.scheduler import Scheduling
    from specaudit.model.errors import UsageError

    mix = [_kind(text) for text in kinds or _MIX]
    mean = sum(kind.share * kind.acceptance for kind in mix) / sum(kind.share for kind in mix)
    speculation = speculation_of(options, acceptance=mean)
    if shortest > longest:
        raise UsageError(f"--shortest {shortest} is more than --longest {longest}.", hint="--shortest 64 --longest 128")
    holds = capacity(speculation, Shape.chain(draft_tokens), prompt + longest, memory_used=options["memory_used"]).batch
    if not holds:
        raise UsageError(
            f"The weights leave no room for a sequence of {prompt + longest} tokens.", hint="Give more --devices"
        )

    def load(name: str, most: int, *, rate: float | None, count: int) -> tuple[str, Workload, Scheduling]:
        found = workload(mix, requests=count, rate=rate, shortest=shortest, longest=longest, seed=seed)
        return name, found, Scheduling(max_requests=min(most, holds), kv_tokens=kv_tokens)

    try:
        loads = [load(f"{rate:g} requests/s", holds, rate=rate, count=requests) for rate in rates]
        for many in at_once or (() if rates else (1, 16, 64)):
            loads.append(load(f"{many} at once", many, rate=None, count=max(requests, 2 * many)))
        compared = compare(
            loads,
            speculation,
            _policies(speculation, mix, fixed, draft_tokens, prompt + (shortest + longest) // 4),
            prompt=prompt,
            prefill=prefill,
        )
    except ValueError as error:
        raise UsageError(f"This cannot be simulated: {error}.", hint="specaudit claim simulate --help") from error
    if json:
        from specaudit.model.record import to_json

        click.echo(to_json(compared))
        return
    from rich.console import Console

    from specaudit.render.simulation import render_simulation

    click.echo(render_simulation(compared, width=Console().width), nl=False)


def _policies(speculation: Speculation, mix: Iterable[Kind], fixed: int, most: int, context: int) -> tuple[Policy, ...]:
    from specaudit.claims.simulation import policies
    from specaudit.claims.speed_up import buckets

    found = buckets(speculation, context, largest=1024, most=most)
    drafting = [bucket for bucket in found if bucket.draft_tokens]
    return (
        policies.fixed(fixed),
        *([policies.by_batch(found)] if drafting else []),
        policies.adaptive(most),
        policies.oracle(speculation, [kind.acceptance for kind in mix], most, context),
    )


def _kind(text: str) -> Kind:
    """Read `NAME=SHARE:ACCEPTANCE`.

    Raises:
        UsageError: it is not of that form.
    """
    from specaudit.claims.simulation.workload import Kind
    from specaudit.model.errors import UsageError

    name, _, figures = text.partition("=")
    share, _, acceptance = figures.partition(":")
    try:
        return Kind(name=name, share=float(share), acceptance=float(acceptance))
    except ValueError as error:
        raise UsageError(f"--kind {text!r} is not NAME=SHARE:ACCEPTANCE.", hint=f"--kind {_MIX[0]}") from error
