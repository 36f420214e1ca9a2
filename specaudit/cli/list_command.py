"""`specaudit list`."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from specaudit.mutants.registry import Mutant

KINDS = ("checks", "engines", "mutants", "controls", "suites", "prompts", "claims", "dialects")


@click.command("list")
@click.argument("kind", metavar="KIND", type=click.Choice(KINDS))
@click.option("--json", is_flag=True, help="Print as JSON.")
def command(*, kind: str, json: bool) -> None:
    """List what there is, a name a line first.

    KIND is checks, engines, mutants, controls, suites, prompts, claims or dialects.
    """
    rows = _rows(kind)
    if json:
        from specaudit.model.record import to_json

        click.echo(to_json([{"name": name, "description": text} for name, text in rows]))
        return
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        click.echo(f"{name:<{width}}  {text}".rstrip())


def _rows(kind: str) -> list[tuple[str, str]]:
    """(name, description) of everything of a kind."""
    match kind:
        case "checks":
            from specaudit.checks import registry as checks

            return [(check_id, checks.get(check_id).title) for check_id in checks.locations()]
        case "engines":
            from specaudit.engines import registry as engines

            return [(name, engines.DESCRIPTIONS.get(name, "")) for name in engines.modules()]
        case "mutants":
            from specaudit.mutants import registry as mutants

            return [(name, _told(mutants.get(name))) for name in mutants.names()]
        case "controls":
            from specaudit.mutants import registry as mutants

            return [(name, mutants.get_control(name).fault) for name in mutants.controls()]
        case "suites":
            from specaudit.audit.suites import load_suite, shipped

            return [(name, load_suite(name).title) for name in shipped()]
        case "claims":
            from specaudit.claims.reading import load_claim, shipped_claims

            return [(name, load_claim(name).title) for name in shipped_claims()]
        case "prompts":
            from specaudit.prompts import sets

            return [(name, sets.title(name)) for name in sets.names()]
        case _:
            from specaudit.counters import registry as dialects

            return [(dialect.name, dialect.description) for dialect in dialects.all_dialects()]


def _told(mutant: "Mutant") -> str:
    return f"{mutant.family}: {mutant.fault} Killed by {', '.join(mutant.killed_by)}."
