"""`specaudit trace`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from specaudit.decoding.trace import Trace, TracedStep
    from specaudit.decoding.worlds import World


@click.command("trace")
@click.option("--world", metavar="NAME", default="markov4", show_default=True, help="What is decoded.")
@click.option(
    "--drafter",
    metavar="NAME",
    help="lookup, or what the world has: model, tree, eagle, eagle3, mtp, medusa.  [default: the world's]",
)
@click.option(
    "--draft-tokens", metavar="K", type=click.IntRange(0, 64), default=3, show_default=True, help="Drafts per step."
)
@click.option("--min-match", metavar="N", type=click.IntRange(1), help="Lookup: fewest tokens to agree.  [default: 1]")
@click.option("--max-match", metavar="N", type=click.IntRange(1), help="Lookup: most tokens compared.  [default: 3]")
@click.option("--prompt", metavar="TEXT", help="Text to go on with; a letter is a token where tokens have no text.")
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="Seed of the request.")
@click.option("--max-tokens", metavar="N", type=click.IntRange(1, 4096), default=16, show_default=True, help="Its cap.")
@click.option("--temperature", metavar="T", type=float, default=1.0, show_default=True, help="0 decodes greedily.")
@click.option("--top-k", metavar="K", type=int, default=0, show_default=True, help="0 keeps all tokens.")
@click.option("--top-p", metavar="P", type=float, default=1.0, show_default=True, help="1 keeps all tokens.")
@click.option("--min-p", metavar="P", type=float, default=0.0, show_default=True, help="0 keeps all tokens.")
@click.option("--stop", metavar="TEXT", multiple=True, help="Text that ends the completion; repeatable.")
@click.option(
    "--verifier",
    type=click.Choice(["chain", "block"]),
    default="chain",
    show_default=True,
    help="How drafts are judged.",
)
@click.option("--json", is_flag=True, help="Print as JSON.")
def command(
    *,
    world: str,
    drafter: str | None,
    draft_tokens: int,
    min_match: int | None,
    max_match: int | None,
    prompt: str | None,
    seed: int,
    max_tokens: int,
    temperature: float,
    top_k: int,
    top_p: float,
    min_p: float,
    stop: tuple[str, ...],
    verifier: str,
    json: bool,
) -> None:
    """Decode one request and show each step: drafts, how they are judged, what is emitted, what memory keeps.

    A token that a coin times q leaves below p is accepted. READS are tokens that the target computes in the step, KEEPS
    those that its memory keeps; the rest is rolled back.
    """
    from specaudit.decoding.decoder import SpeculativeDecoder
    from specaudit.decoding.lexemes import RENAME_PROMPT, encode
    from specaudit.decoding.parameters import SamplingParameters, StopRules
    from specaudit.decoding.trace import trace
    from specaudit.decoding.verify.block import BlockVerifier
    from specaudit.model.errors import UsageError

    found = _world(world, drafter, min_match, max_match)
    texts = found.texts or ()
    if verifier == "block" and found.topology is not None:
        raise UsageError("Block verification judges chains, not trees.", hint="specaudit trace --verifier chain")
    try:
        traced = trace(
            SpeculativeDecoder(
                found, draft_tokens=draft_tokens, verifier=BlockVerifier() if verifier == "block" else None
            ),
            encode((RENAME_PROMPT if world == "code" else "a") if prompt is None else prompt, texts),
            seed,
            max_tokens=max_tokens,
            parameters=SamplingParameters(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p),
            stop=StopRules(strings=stop),
        )
    except ValueError as error:
        raise UsageError(f"This cannot be traced: {error}.", hint="specaudit trace --help") from error
    if json:
        from specaudit.model.record import to_json

        click.echo(to_json({"world": found.name, "texts": texts, "trace": traced}))
        return
    _show(traced, texts)


def _world(name: str, drafter: str | None, min_match: int | None, max_match: int | None) -> World:
    """Return a world with the drafter that is asked for, and with a letter for each token that has no text.

    Raises:
        UsageError: there is no such world or drafter, or lookup's options are given without it.
    """
    from dataclasses import replace

    from specaudit.decoding.drafters.makers import Lookup
    from specaudit.decoding.worlds import WORLDS, SmallModel
    from specaudit.engines.embedded import world_named
    from specaudit.model.errors import UsageError
    from specaudit.model.nearest import nearest

    world = world_named(name)
    others = {other.removeprefix(f"{name}-"): other for other in WORLDS if other.startswith(f"{name}-")}
    if isinstance(world.drafter, SmallModel):
        others["model"] = name
    if drafter == "lookup" or (drafter is None and isinstance(world.drafter, Lookup)):
        lookup = Lookup(vocabulary_size=world.vocabulary_size, min_match=min_match or 1, max_match=max_match or 3)
        world = replace(world, drafter=lookup, topology=None)
    elif min_match or max_match:
        raise UsageError("Match lengths are for lookup.", hint=f"specaudit trace --world {name} --drafter lookup")
    elif drafter in others:
        world = WORLDS[others[drafter]]
    elif drafter is not None:
        known = sorted({*others, "lookup"})
        raise UsageError(
            f"World {name} has no drafter {drafter!r}.{nearest(drafter, known)}", hint=f"--drafter {'|'.join(known)}"
        )
    letters = tuple(chr(ord("a") + token) for token in range(world.vocabulary_size))
    return replace(world, texts=world.texts or letters)


def _show(traced: Trace, texts: Sequence[str]) -> None:
    """Print the steps as a table, then the text and what it cost."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("step", "token", "q", "p", "coin", "verdict", "emits", "reads", "keeps"):
        words = name in ("token", "verdict")
        table.add_column(name, justify="left" if words else "right", no_wrap=True)
    for number, step in enumerate(traced.steps, start=1):
        for cells in _rows(number, step, texts):
            table.add_row(*map(Text, cells))
    console = Console()
    with console.capture() as shown:
        console.print(Text.assemble(("prompt: ", "dim"), _spelt(traced.prompt, texts)))
        console.print(table)
        console.print(Text.assemble(("output: ", "dim"), _spelt(traced.tokens, texts)))
        console.print(Text(_summary(traced)))
    click.echo("\n".join(line.rstrip() for line in shown.get().splitlines()))


def _rows(number: int, step: TracedStep, texts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Write a step as lines: one for each draft, and one for what the target adds, if that is emitted."""
    lines: list[tuple[str, ...]] = [
        (
            _spelt((draft.token,), texts),
            f"{draft.q:.3f}",
            f"{draft.p:.3f}",
            "" if draft.coin is None else f"{draft.coin:.3f}",
            draft.verdict,
        )
        for draft in step.drafts
    ]
    if step.kind != "none":
        lines.append((_spelt(step.emitted[-1:], texts), "", "", "", step.kind))
    for i, line in enumerate(lines):
        work = (len(step.emitted), step.computed, step.kept)
        yield ("" if i else str(number), *line, *("" if i else str(count) for count in work))


def _spelt(tokens: Sequence[int], texts: Sequence[str]) -> str:
    """Write tokens so that blanks and line breaks show."""
    return "".join(texts[token] for token in tokens).replace("\n", "⏎").replace(" ", "·")


def _summary(traced: Trace) -> str:
    drafted = sum(len(step.drafts) for step in traced.steps)
    accepted = sum(draft.verdict == "accepted" for step in traced.steps for draft in step.drafts)
    ends = {"length": "its cap", "eos": "EOS", "stop token": "a stop token", "stop string": "a stop string"}
    return (
        f"{len(traced.tokens)} tokens in {len(traced.steps)} steps, ended by {ends[traced.finish]}; "
        f"{accepted} of {drafted} drafts accepted"
    )
