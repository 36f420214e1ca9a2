import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.audit.suites import shipped
from specaudit.checks import registry
from specaudit.cli.schema_command import KINDS
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady

FORMS = Path(__file__).parent.parent / "model" / "forms" / "v1"


def faults(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "$") -> Iterator[str]:
    """What speaks against a value, by as much of JSON Schema as msgspec uses."""
    known = {"$schema", "$ref", "$defs", "title", "description", "default", "type", "enum", "anyOf", "discriminator"}
    known |= {"properties", "required", "additionalProperties", "items", "prefixItems", "minItems", "maxItems"}
    known |= {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "pattern"}
    if unknown := schema.keys() - known:
        yield f"{at}: the test does not know {unknown}"
    if "$ref" in schema:
        yield from faults(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    if "anyOf" in schema and all(list(faults(value, option, root, at)) for option in schema["anyOf"]):
        yield f"{at} is none of the alternatives"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at} is none of {schema['enum']}"
    form = schema.get("pattern", "")
    if isinstance(value, str) and (len(value) < schema.get("minLength", 0) or not re.search(form, value)):
        yield f"{at} is not of its form"
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int}
    kind = kinds.get(schema.get("type", ""), object) if schema.get("type") != "number" else (int, float)
    if not isinstance(value, kind) or (isinstance(value, bool) and schema.get("type") in ("integer", "number")):
        yield f"{at} is no {schema['type']}"
        return
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        above, below = schema.get("exclusiveMinimum", value - 1), schema.get("exclusiveMaximum", value + 1)
        if not (low <= value <= high and above < value < below):
            yield f"{at} is out of range"
    if isinstance(value, dict):
        yield from (f"{at}.{name} is missing" for name in schema.get("required", ()) if name not in value)
        for name, item in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            if inner is False:
                yield f"{at}.{name} is unknown"
            elif isinstance(inner, dict):
                yield from faults(item, inner, root, f"{at}.{name}")
    if isinstance(value, list):
        heads = schema.get("prefixItems", [])
        for index, item in enumerate(value):
            inner = heads[index] if index < len(heads) else schema.get("items", {})
            if isinstance(inner, dict):
                yield from faults(item, inner, root, f"{at}[{index}]")


@pytest.fixture
def schemas(specaudit: Specaudit) -> dict[str, dict[str, Any]]:
    return {kind: json.loads(specaudit("schema", kind).out) for kind in KINDS}


def test_what_was_recorded_fits_the_schema_of_its_form(schemas: dict[str, dict[str, Any]]) -> None:
    lines = [json.loads(line) for line in (FORMS / "evidence.jsonl").read_text().splitlines()]
    forms = {
        "evidence": lines,
        "plan": [lines[0]["plan"]],
        "report": [json.loads((FORMS / "report.json").read_text())],
        "claim": [tomllib.loads((FORMS / "claim.toml").read_text())],
        "suite": [tomllib.loads(path.read_text()) for path in (FORMS / "suite.toml", *shipped().values())],
    }
    for kind, values in forms.items():
        for value in values:
            assert list(faults(value, schemas[kind], schemas[kind])) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"alhpa": 0.1}, "$.alhpa is unknown"),
        ({"alpha": 0.7}, "$.alpha is out of range"),
        ({"checks": {"LAW9": {}}}, "$.checks.LAW9 is unknown"),
        ({"checks": {"LAW1": {"tolerance": "low"}}}, "$.checks.LAW1.tolerance is no number"),
        ({"checks": {"LAW1": {"windows": 3}}}, "$.checks.LAW1.windows is unknown"),
        ({"checks": {"CTR1": {"windows": 0}}}, "$.checks.CTR1.windows is out of range"),
    ],
)
def test_a_mistake_in_a_suite_does_not_fit(
    schemas: dict[str, dict[str, Any]], change: dict[str, Any], fault: str
) -> None:
    suite = {"name": "mine", "title": "", "checks": {}} | change
    assert list(faults(suite, schemas["suite"], schemas["suite"])) == [fault]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"wordign": "x"}, "$.wordign is unknown"),
        ({"date": "Christmas"}, "$.date is not of its form"),
        ({"numbers": {"acceptance_rate": 80}}, "$.numbers.acceptance_rate is none of the alternatives"),
        ({"conditions": {"batch": 0}}, "$.conditions.batch is none of the alternatives"),
    ],
)
def test_a_mistake_in_a_claim_does_not_fit(
    schemas: dict[str, dict[str, Any]], change: dict[str, Any], fault: str
) -> None:
    claim = tomllib.loads((FORMS / "claim.toml").read_text()) | change
    assert fault in list(faults(claim, schemas["claim"], schemas["claim"]))


def test_a_suite_has_a_property_for_every_check(schemas: dict[str, dict[str, Any]]) -> None:
    checks = schemas["suite"]["$defs"]["Suite"]["properties"]["checks"]["properties"]
    assert list(checks) == list(registry.locations())
    assert {check_id: settings["title"] for check_id, settings in checks.items()} == {
        check_id: registry.get(check_id).title for check_id in checks
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_says_what_it_is(schemas: dict[str, dict[str, Any]], kind: str) -> None:
    assert schemas[kind]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert all(shared.get("description") for shared in schemas[kind]["$defs"].values())


@pytest.mark.parametrize("kind", ["claims"])
def test_what_has_no_schema_is_told(specaudit: Specaudit, snapshot: SnapshotAssertion, kind: str) -> None:
    ran = specaudit("schema", kind)
    assert ran.code == 2
    assert steady(ran) == snapshot
