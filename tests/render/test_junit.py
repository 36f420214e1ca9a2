import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from specaudit.model.report import Report
from specaudit.render.junit import render_junit
from tests.render.reports import CONFORMING, HOSTILE, MISSING, OPTIONAL, REPORTS, VIOLATING, hostile, report, undecided


def read(shown: Report) -> TestSuite:
    """The one suite of the document, as whoever reads JUnit reads it."""
    (suite,) = JUnitXml.fromstring(render_junit(shown).encode())
    return suite


def counts(suite: TestSuite) -> tuple[int | None, ...]:
    return suite.tests, suite.failures, suite.errors, suite.skipped


def result(shown: Report, name: str) -> Failure | Error | Skipped:
    (case,) = (case for case in read(shown) if case.name == name)
    (found,) = case.result
    assert isinstance(found, Failure | Error | Skipped)
    return found


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("conforms", (2, 0, 0, 1)),
        ("violates", (3, 1, 0, 1)),
        ("could not test", (2, 0, 1, 1)),
        ("unreachable", (3, 0, 2, 1)),
        ("inconclusive", (2, 0, 0, 2)),
        ("inconclusive but allowed", (2, 0, 0, 1)),
        ("internal error", (3, 0, 1, 1)),
        ("interrupted", (2, 0, 1, 1)),
    ],
)
def test_tests_failures_errors_and_skipped_are_counted(outcome: str, expected: tuple[int, ...]) -> None:
    suite = read(REPORTS[outcome])
    assert counts(suite) == expected
    suite.update_statistics()
    assert counts(suite) == expected


def test_a_violation_is_a_failure_with_all_that_is_needed_to_act() -> None:
    failure = result(report(1, VIOLATING), "LAW1")
    assert isinstance(failure, Failure)
    assert (failure.message, failure.type) == (VIOLATING.summary, "violates")
    lines = failure.text.splitlines()
    assert lines[0] == VIOLATING.summary
    assert (
        "Total variation: 0.1819 (0.0284 is usual without any deviation), from 0.1206 to 0.2488 "
        "(each bound 99.9 % sure); 0.05 is tolerated"
    ) in lines
    assert "Witness: word '1 2 1' at depth 2: 0.05352 instead of 0.1093 (share of words)" in lines
    assert lines[-1] == f"Next: {VIOLATING.next_step}"


def test_what_could_not_be_tested_is_an_error_only_where_it_is_required() -> None:
    assert isinstance(result(report(3, MISSING), "LAW1"), Error)
    skipped = result(report(0, OPTIONAL), "CTR1")
    assert isinstance(skipped, Skipped)
    assert skipped.message == OPTIONAL.summary


def test_what_is_undecided_is_skipped_with_its_reason() -> None:
    skipped = result(report(4, undecided()), "LAW1")
    assert isinstance(skipped, Skipped)
    assert (skipped.message, skipped.type) == (undecided().summary, "inconclusive")


def test_a_conforming_check_passes_and_tells_its_figures() -> None:
    (case,) = read(report(0, CONFORMING))
    assert isinstance(case, TestCase)
    assert (case.name, case.classname, case.is_passed) == ("GRD1", "GRD", True)
    assert case.system_out.startswith(CONFORMING.summary)


def test_an_audit_that_ended_early_is_an_error_with_the_reason() -> None:
    error = result(REPORTS["unreachable"], "audit")
    assert isinstance(error, Error)
    assert error.message == "COULD NOT TEST: suite quick: collecting stopped."
    assert error.text == REPORTS["unreachable"].stopped


def test_the_suite_says_what_it_was_made_from() -> None:
    suite = read(REPORTS["violates"])
    assert suite.name == "specaudit quick"
    properties = {entry.name: entry.value for entry in suite.properties()}
    assert properties == {
        "specaudit": "0.1.0",
        "exit code": "1",
        "suite sha256": "ab" * 32,
        "evidence sha256": "cd" * 32,
        "subject": "mutant:resid-from-target",
        "reference": "reference",
    }


def test_what_xml_cannot_hold_is_told_as_an_escape() -> None:
    failure = result(hostile(HOSTILE), read(hostile(HOSTILE))._elem.findall("testcase")[1].get("name"))
    assert failure.message.startswith(r"\x1b[31mred\x1b]0;title\x07 \x9b31m \x00\x7f\r\n\u202egnp.exe")
    assert r"\ufffe [bold]markup[/nonsense] ]]> <script>alert(1)</script> &amp; |" in failure.message
    assert "<script" not in render_junit(hostile(HOSTILE))


@given(st.text(st.characters(codec=None)))
def test_any_text_gives_a_document_that_can_be_read(text: str) -> None:
    shown = report(1, msgspec.structs.replace(VIOLATING, summary=f"a{text}", next_step=text), suite=text)
    assert counts(read(shown)) == (1, 1, 0, 0)
