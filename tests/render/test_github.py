import re
from urllib.parse import unquote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.model.report import Report
from specaudit.render.github import render_github
from specaudit.render.printable import printable
from tests.render.reports import CONFORMING, MISSING, OPTIONAL, REPORTS, VIOLATING, report, undecided


def commands(shown: Report) -> list[tuple[str, str, str]]:
    """(level, title, message) of every line, read as the runner reads it."""
    lines = render_github(shown).splitlines()
    found = [re.fullmatch(r"::(error|warning|notice) title=([^:,]*)::(.*)", line) for line in lines]
    assert all(found), lines
    return [(match[1], unquote(match[2]), unquote(match[3])) for match in found if match]


@pytest.mark.parametrize(
    ("outcome", "levels"),
    [
        ("conforms", ["notice", "notice"]),
        ("violates", ["error", "error", "notice"]),
        ("could not test", ["error", "error", "notice"]),
        ("inconclusive", ["warning", "warning", "warning"]),
        ("inconclusive but allowed", ["warning", "warning"]),
        ("internal error", ["error", "warning"]),
        ("interrupted", ["error", "warning"]),
    ],
)
def test_the_level_tells_what_stops_a_job(outcome: str, levels: list[str]) -> None:
    assert [level for level, _, _ in commands(REPORTS[outcome])] == levels


def test_the_outcome_comes_first_and_violations_before_all_others() -> None:
    shown = commands(report(1, OPTIONAL, MISSING, CONFORMING, VIOLATING))
    assert [title for _, title, _ in shown] == [
        "specaudit: VIOLATES",
        "LAW1 violates",
        "CTR1 not-applicable",
        "LAW1 not-applicable",
    ]


def test_a_message_has_lines_and_says_what_to_try() -> None:
    message = commands(report(1, VIOLATING))[1][2].split("\n")
    assert message[0] == VIOLATING.summary
    assert "99.9 % sure" in message[1]
    assert message[-1] == f"Next: {VIOLATING.next_step}"


def test_what_the_runner_would_obey_is_escaped() -> None:
    named = msgspec.structs.replace(VIOLATING, check="A:1,B%", summary="100 %0A\r\n::stop-commands::x")
    line = render_github(report(1, named)).splitlines()[1]
    assert line.startswith(r"::error title=A%3A1%2CB%25 violates::100 %250A\r\n::stop-commands::x%0A")


@given(st.text(st.characters(codec=None), max_size=300))
def test_any_text_comes_back_and_begins_no_command_of_its_own(text: str) -> None:
    shown = commands(report(1, msgspec.structs.replace(VIOLATING, check=text, summary=text)))
    assert len(shown) == 2
    assert shown[1][1] == f"{printable(text)} violates"
    assert shown[1][2].startswith(printable(text))


def test_a_text_without_end_is_cut() -> None:
    endless = msgspec.structs.replace(undecided(), summary="x" * 1_000_000)
    (_, _, message) = commands(report(4, endless))[1]
    assert message.startswith("x" * 1000 + "…\n")
