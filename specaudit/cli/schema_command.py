"""`specaudit schema`."""

from typing import Any

import click

KINDS = ("suite", "plan", "evidence", "report", "claim", "hardware", "models")

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/{name}"


@click.command("schema")
@click.argument("kind", metavar="KIND", type=click.Choice(KINDS))
def command(*, kind: str) -> None:
    """Print the JSON Schema of a form. KIND is suite, plan, evidence, report, claim, hardware or models.

    Those of a suite, a claim, hardware and models are of their TOML, a suite's with the settings of every installed
    check; evidence's is that of one line.
    """
    import msgspec

    from specaudit.model.record import to_json

    click.echo(msgspec.json.format(to_json(_schema(kind)), indent=2))


def _schema(kind: str) -> dict[str, Any]:
    import msgspec

    from specaudit.claims.tables import DeviceFile, ModelFile
    from specaudit.model.claim import Claim
    from specaudit.model.entries import AnyEntry
    from specaudit.model.plan import Plan
    from specaudit.model.report import Report
    from specaudit.model.suite import Suite

    if kind == "suite":
        return _suite_schema(Suite)
    form = {
        "plan": Plan,
        "evidence": AnyEntry,
        "report": Report,
        "claim": Claim,
        "hardware": DeviceFile,
        "models": ModelFile,
    }[kind]
    return {"$schema": _DIALECT, **msgspec.json.schema(form, ref_template=_REFERENCE)}


def _suite_schema(suite: type) -> dict[str, Any]:
    """The schema of a suite whose `checks` has a property for every check, with that check's own settings."""
    import msgspec

    from specaudit.checks import registry

    checks = {check_id: registry.get(check_id) for check_id in registry.locations()}
    kinds = [suite, *(check.settings_type for check in checks.values())]
    (whole, *own), shared = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    shared[suite.__name__]["properties"]["checks"] = {
        "description": "Settings by check id, in the order they run.",
        "type": "object",
        "properties": {
            check_id: {"title": check.title, **settings}
            for (check_id, check), settings in zip(checks.items(), own, strict=True)
        },
        "additionalProperties": False,
    }
    return {"$schema": _DIALECT, **whole, "$defs": shared}
