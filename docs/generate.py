"""Pages that are made from what there is: checks, commands, suites, exit codes, mutants. A hook of mkdocs.

Nothing here is written twice: a check's page is its docstring, a command's its help.
"""

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from specaudit.audit.suites import load_suite, shipped
from specaudit.checks import registry
from specaudit.cli.main import COMMANDS, cli, load
from specaudit.model import report as reports
from specaudit.mutants import registry as mutants
from specaudit.render.docstrings import paragraphs

COSTED = ("quick", "long")
"""Suites whose costs are computed while the pages are made; others take too long for that."""

EXIT_CODES = {
    reports.EXIT_CONFORMS: "every required check conforms (required: marked in the suite, or named by `--select`)",
    reports.EXIT_VIOLATES: "at least one check violates, required or not",
    reports.EXIT_USAGE: "the command line, a suite or a setting is wrong; nothing was asked",
    reports.EXIT_COULD_NOT_TEST: "could not test: unreachable, nothing selected, a required check not applicable, "
    "arms that do not match; or a report's file could not be written",
    reports.EXIT_INCONCLUSIVE: "inconclusive: a required check neither showed nor excluded a deviation "
    "(`--allow-inconclusive` makes it 0)",
    reports.EXIT_INTERNAL: "an error of specaudit itself; the evidence is kept",
    reports.EXIT_INTERRUPTED: "interrupted, or evidence that was cut off; `specaudit run --resume` goes on",
}

_HEADS = {
    "Requirement": "What it demands",
    "Null hypothesis": "Null hypothesis",
    "Statistic": "Statistic",
    "Method": "Method",
    "Assumptions": "Assumptions",
    "Kills": "What it kills, and what it spares",
    "Source": "Source",
}


def pages(*, costs: bool = True) -> dict[str, str]:
    """Return every page that is made, by its path below `docs/`; costs take half a minute."""
    made = {"checks/index.md": _checks(), "commands/index.md": _commands(), "suites.md": _suites()}
    made |= {"exit-codes.md": _exit_codes(), "mutants.md": _mutants()}
    made |= {f"checks/{check_id}.md": _check(check_id, costs) for check_id in registry.locations()}
    return made | {f"commands/{name}.md": _command(name) for name in COMMANDS}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site (mkdocs calls this)."""
    from mkdocs.structure.files import File

    for path, text in pages(costs=os.environ.get("SPECAUDIT_DOCS_COSTS") != "no").items():
        files.append(File.generated(config, path, content=text))
    return files


def _checks() -> str:
    rows = [f"| [{one}]({one}.md) | {registry.get(one).title} |" for one in registry.locations()]
    return "\n".join(["# Checks", "", "| check | is about |", "|---|---|", *rows, ""])


def _check(check_id: str, costs: bool) -> str:
    check, told = registry.get(check_id), paragraphs(check_id)
    lines = [f"# {check_id}: {check.title}", ""]
    for name, head in _HEADS.items():
        if name in told:
            lines += [f"## {head}", "", _sentence(told[name]), ""]
    lines += ["## Settings", "", f"In a suite, under `[checks.{check_id}]`:", "", "| key | default |", "|---|---|"]
    lines += [f"| `{name}` | {default} |" for name, default in _settings(check.settings_type)]
    lines += ["", "## Cost", "", *_cost(check_id, costs)]
    return "\n".join([*lines, ""])


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _settings(kind: Any) -> Iterator[tuple[str, str]]:
    for one in msgspec.structs.fields(kind):
        if one.default is not msgspec.NODEFAULT:
            default = one.default
        elif one.default_factory is not msgspec.NODEFAULT:
            default = one.default_factory()
        else:
            yield one.encode_name, "must be given"
            continue
        yield one.encode_name, f"`{msgspec.json.encode(default).decode()}`" if default is not None else "none"


def _cost(check_id: str, costs: bool) -> Iterator[str]:
    yield "What it asks follows from its suite and from what an engine reveals. For your own:"
    yield ""
    yield f"```sh\nspecaudit plan --select {check_id}\n```"
    rows = _costs().get(check_id, []) if costs else []
    if rows:
        yield ""
        yield "In process, where the law is known exactly; what checks share is counted for the first that asks:"
        yield ""
        yield "| suite | requests | generated tokens | smallest deviation seen with 90 % probability |"
        yield "|---|---|---|---|"
        yield from rows


@cache
def _costs() -> dict[str, list[str]]:
    from specaudit.audit.audit import Audit
    from specaudit.audit.estimate import estimate

    found: dict[str, list[str]] = {}
    for name in COSTED:
        for one in estimate(Audit(suite=load_suite(name), out=Path("nowhere"))).checks:
            seen = one.smallest_detectable
            least = "" if seen is None else f"{seen.name} {seen.value:.3g} {seen.unit}".strip()
            cells = (name, f"{one.spending.requests:,}", f"{one.spending.generated_tokens:,}", least)
            found.setdefault(one.check, []).append(f"| {' | '.join(cells)} |")
    return found


def _commands() -> str:
    rows = [f"| [`specaudit {name}`]({name}.md) | {line} |" for name, line in COMMANDS.items()]
    return "\n".join(["# Commands", "", "| command | does |", "|---|---|", *rows, ""])


def _command(name: str) -> str:
    parts = [f"# specaudit {name}", "", f"{_sentence(COMMANDS[name])}.", ""]
    context = cli.make_context("specaudit", ["--help"], resilient_parsing=True)
    for path, command in commands(load(name), (name,)):
        inner = click.Context(command, info_name=" ".join(path), parent=context, max_content_width=100)
        inner.terminal_width = 100
        text = command.get_help(inner)
        parts += [*([] if path == (name,) else [f"## specaudit {' '.join(path)}", ""]), "```text", text, "```", ""]
    return "\n".join(parts)


def commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a command and those within it, each with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            if inner is not None:
                yield from commands(inner, (*path, name))


def _suites() -> str:
    lines = ["# Suites", "", "A suite is a TOML file; `--suite` takes a shipped one by name, or your own by path.", ""]
    for name, file in shipped().items():
        suite = load_suite(name)
        checks = ", ".join(f"[{one}](checks/{one}.md)" for one in suite.checks)
        lines += [f"## {name}", "", f"{_sentence(suite.title)}. Checks: {checks}.", ""]
        lines += ["```toml", file.read_text(encoding="utf-8").rstrip(), "```", ""]
    return "\n".join(lines)


def _exit_codes() -> str:
    rows = [f"| {code} | {told} |" for code, told in EXIT_CODES.items()]
    order = " > ".join(str(code) for code in reports.PRECEDENCE)
    return "\n".join(
        ["# Exit codes", "", "| code | means |", "|---|---|", *rows, "", f"Where several apply: {order}.", ""]
    )


def _mutants() -> str:
    lines = [
        "# Mutants and controls",
        "",
        "A mutant is the reference decoder with one planted fault; a check that cannot ",
    ]
    lines[-1] += (
        "fail shows nothing, so each is held against them (`specaudit calibrate`). A control is unusual and right."
    )
    lines += ["", "| mutant | family | fault |", "|---|---|---|"]
    lines += [f"| `{name}` | {mutants.get(name).family} | {mutants.get(name).fault} |" for name in mutants.names()]
    lines += ["", "| control | what is unusual |", "|---|---|"]
    lines += [f"| `{name}` | {mutants.get_control(name).fault} |" for name in mutants.controls()]
    return "\n".join([*lines, ""])
