"""What machines read is valid by the schemas that they are written against, whatever an engine answered."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import xmlschema
from google.protobuf import json_format
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as StatementForm

from specaudit.cli.schema_command import _schema
from specaudit.model.finding import Verdict
from specaudit.model.report import Report
from specaudit.render.registry import render
from tests.render.pages import every_chart, recorded, unusual
from tests.render.reports import CONFORMING, HOSTILE, MISSING, OPTIONAL, REPORTS, VIOLATING, hostile, report, undecided

SCHEMAS = Path(__file__).parent / "schemas"

SHOWN: dict[str, Report] = {
    **REPORTS,
    "recorded": recorded(),
    "charts": every_chart(),
    "hostile": hostile(HOSTILE),
    "unusual": unusual(),
    "megabyte": hostile("x" * 1_000_000),
}


@cache
def junit() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd")


@cache
def sarif() -> jsonschema.Draft4Validator:
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())


@pytest.mark.parametrize("name", SHOWN)
def test_junit(name: str) -> None:
    junit().validate(render("junit", SHOWN[name]))


@pytest.mark.parametrize("name", SHOWN)
def test_sarif(name: str) -> None:
    sarif().validate(json.loads(render("sarif", SHOWN[name])))


@pytest.mark.parametrize("name", SHOWN)
def test_json_by_the_schema_that_the_command_prints(name: str) -> None:
    schema = _schema("report")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(render("json", SHOWN[name])))


@pytest.mark.parametrize("name", [name for name in SHOWN if name not in ("hostile", "unusual", "megabyte")])
def test_intoto(name: str) -> None:
    """In those left out the digest, too, is a hostile text."""
    told = render("intoto", SHOWN[name])
    Statement.copy_from_pb(json_format.Parse(told, StatementForm())).validate()
    json_format.ParseDict(json.loads(told)["predicate"], test_result_pb2.TestResult())


def test_the_validators_can_fail() -> None:
    log = json.loads(render("sarif", recorded()))
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        sarif().validate(log)
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        junit().validate("<testsuites><testsuite name='x'><case/></testsuite></testsuites>")
    statement = json.loads(render("intoto", recorded()))
    with pytest.raises(json_format.ParseError):
        json_format.ParseDict({**statement, "colour": "red"}, StatementForm())


def results(shown: Report) -> dict[str, dict[str, Any]]:
    (run,) = json.loads(render("sarif", shown))["runs"]
    return {result["ruleId"]: result for result in run["results"]}


def test_sarif_tells_verdicts_apart() -> None:
    found = results(report(1, CONFORMING, VIOLATING, OPTIONAL, undecided("LAW3")))
    told = {check: (result["kind"], result["level"]) for check, result in found.items()}
    assert told == {
        "GRD1": ("pass", "none"),
        "LAW1": ("fail", "error"),
        "CTR1": ("notApplicable", "none"),
        "LAW3": ("open", "none"),
    }
    assert VIOLATING.summary in found["LAW1"]["message"]["text"]
    assert VIOLATING.next_step in found["LAW1"]["message"]["text"]


def test_what_the_configuration_does_not_allow_is_a_notification_with_what_to_change() -> None:
    (run,) = json.loads(render("sarif", report(3, MISSING, OPTIONAL)))["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    first, second = invocation["toolConfigurationNotifications"]
    assert (first["level"], first["associatedRule"]["id"]) == ("error", "LAW1")
    assert second["level"] == "note"
    assert "--metrics URL_OF_THE_METRICS_PAGE" in second["message"]["text"]
    assert invocation["toolExecutionNotifications"] == []


def test_a_result_is_the_same_as_before_for_a_scanner_whatever_was_found() -> None:
    def fingerprint(shown: Report) -> str:
        return str(results(shown)["LAW1"]["partialFingerprints"]["checkOfSubject/v1"])

    again = report(0, undecided("LAW1"), evidence_digest="00" * 32)
    assert fingerprint(report(1, VIOLATING)) == fingerprint(again)
    assert fingerprint(again) != fingerprint(report(0, undecided("LAW1"), arms=recorded().arms[:0]))


@pytest.mark.parametrize(
    ("code", "result"), [(0, "PASSED"), (4, "WARNED"), (1, "FAILED"), (3, "FAILED"), (130, "FAILED")]
)
def test_the_statement_is_about_the_evidence(code: int, result: str) -> None:
    statement = json.loads(render("intoto", report(code, CONFORMING, VIOLATING, OPTIONAL, undecided("LAW3"))))
    (subject,) = statement["subject"]
    assert subject["digest"] == {"sha256": "cd" * 32}
    predicate = statement["predicate"]
    assert predicate["result"] == result
    assert predicate["passedTests"] == ["GRD1"]
    assert predicate["failedTests"] == ["LAW1"]
    assert predicate["warnedTests"] == ["CTR1", "LAW3"]
    assert predicate["configuration"][0]["digest"] == {"sha256": "ab" * 32}


def test_every_verdict_has_a_kind() -> None:
    found = [VIOLATING.verdict, CONFORMING.verdict, OPTIONAL.verdict, undecided().verdict]
    assert set(found) == set(Verdict)


def test_it_can_be_signed_and_a_changed_statement_is_noticed(tmp_path: Path) -> None:
    """By the commands that the documentation shows."""
    statement = tmp_path / "statement.json"
    statement.write_text(render("intoto", recorded()), encoding="utf-8")

    def openssl(*words: str) -> int:
        return subprocess.run(["openssl", *words], cwd=tmp_path, capture_output=True, check=False).returncode

    assert openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "key.pem") == 0
    assert openssl("pkey", "-in", "key.pem", "-pubout", "-out", "public.pem") == 0
    assert openssl("dgst", "-sha256", "-sign", "key.pem", "-out", "statement.sig", "statement.json") == 0
    verify = ("dgst", "-sha256", "-verify", "public.pem", "-signature", "statement.sig", "statement.json")
    assert openssl(*verify) == 0
    statement.write_text(statement.read_text().replace("FAILED", "PASSED").replace("WARNED", "PASSED"))
    statement.write_text(statement.read_text() + " ")
    assert openssl(*verify) != 0
