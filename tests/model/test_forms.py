"""Forms that were written by earlier versions stay readable, and are judged the same.

`forms/v1` holds a suite, the evidence of an audit under it that was stopped and resumed, and its report. When a check
is meant to judge otherwise than it did, the report is written anew from the same evidence; the evidence is never.
"""

import json
from pathlib import Path

import msgspec
import pytest

from specaudit.audit.analyse import analyse
from specaudit.audit.record import FILE_NAME, read_evidence
from specaudit.audit.suites import load_suite
from specaudit.model.claim import Claim
from specaudit.model.entries import AnyEntry
from specaudit.model.errors import UsageError
from specaudit.model.record import FORM_VERSION, to_json, version_of
from specaudit.model.report import parse_report
from specaudit.render.json import render_json

V1 = Path(__file__).parent / "forms" / "v1"
REPORT = (V1 / "report.json").read_bytes()


def test_evidence_is_read_and_judged_as_it_was() -> None:
    report = analyse(read_evidence(V1))
    tool = parse_report(REPORT, "report.json").tool
    assert render_json(msgspec.structs.replace(report, tool=tool)).encode() == REPORT


def test_evidence_has_a_line_of_every_kind() -> None:
    kinds = {json.loads(line)["kind"] for line in (V1 / FILE_NAME).read_text().splitlines()}
    assert kinds == {kind.__struct_config__.tag for kind in AnyEntry.__args__}


def test_a_report_is_read_whole() -> None:
    report = parse_report(REPORT, "report.json")
    assert _covers(json.loads(to_json(report)), json.loads(REPORT))


def test_a_suite_is_read_and_is_the_one_of_the_evidence() -> None:
    suite = load_suite(str(V1 / "suite.toml"))
    recorded = read_evidence(V1).plan.suite
    assert {**suite.checks, "CTR3": {**suite.checks["CTR3"], "required": False}} == recorded.checks
    assert msgspec.structs.replace(suite, checks=recorded.checks) == recorded


def test_a_claim_is_read() -> None:
    claim = msgspec.toml.decode((V1 / "claim.toml").read_bytes(), type=Claim)
    assert claim.numbers.tokens_per_second == 181.74
    assert claim.conditions.devices == 1
    assert claim.conditions.batch is None


def test_nothing_that_stands_in_a_line_is_lost_by_reading_it() -> None:
    """Fields that were added later stand beside it, with their defaults."""
    for line, entry in zip((V1 / FILE_NAME).read_bytes().splitlines(), read_evidence(V1).entries, strict=True):
        assert _covers(json.loads(to_json(entry)), json.loads(line))


def _covers(now: object, then: object) -> bool:
    if isinstance(then, dict) and isinstance(now, dict):
        return all(name in now and _covers(now[name], value) for name, value in then.items())
    if isinstance(then, list) and isinstance(now, list):
        return len(now) == len(then) and all(map(_covers, now, then))
    return now == then


@pytest.mark.parametrize(
    ("data", "version"),
    [
        (REPORT, 1),
        ((V1 / FILE_NAME).read_bytes().splitlines()[0], 1),
        (b'{"version":3,"colour":[1]}', 3),
        (b'{"kind":"plan","plan":{"version":2,"colour":"red"},"weight":1}', 2),
        (b'{"kind":"seal"}', None),
        (b"[1]", None),
        (b'{"version":"3"}', None),
        (b"\xff", None),
        (b"", None),
    ],
)
def test_a_version_is_found_whatever_stands_beside_it(data: bytes, version: int | None) -> None:
    assert version_of(data) == version


def test_a_newer_report_is_refused_by_its_version_and_not_by_its_fields() -> None:
    newer = json.dumps({**json.loads(REPORT), "version": FORM_VERSION + 1, "colour": "red"}).encode()
    with pytest.raises(UsageError, match=r"^r\.json was written by a newer specaudit: .* version 2, .* version 1\.$"):
        parse_report(newer, "r.json")


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", REPORT.replace(b'"tool"', b'"tol"')])
def test_what_is_no_report_is_told(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"^r\.json is no report: "):
        parse_report(data, "r.json")
