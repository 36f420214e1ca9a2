import subprocess
import sys

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.render.registry import FORMATS, render
from tests.render.reports import CONFORMING, HOSTILE, REPORTS, VIOLATING, hostile, report, undecided

LARGE = ("html", "sarif", "vendor-html", "vendor-markdown")
"""Formats that tell so much that they have tests of their own."""


@pytest.mark.parametrize("outcome", REPORTS)
@pytest.mark.parametrize("name", [name for name in FORMATS if name not in (*LARGE, "json")])
def test_each_outcome_in_each_format(name: str, outcome: str, snapshot: SnapshotAssertion) -> None:
    assert render(name, REPORTS[outcome]) == snapshot


@pytest.mark.parametrize("outcome", REPORTS)
@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_a_pure_function_and_ends_its_last_line(name: str, outcome: str) -> None:
    text = render(name, REPORTS[outcome])
    assert text.endswith("\n")
    assert text == render(name, REPORTS[outcome])


@pytest.mark.parametrize("name", FORMATS)
def test_texts_from_elsewhere_hold_nothing_that_is_obeyed(name: str) -> None:
    text = render(name, hostile(HOSTILE))
    assert all(character.isprintable() or character in "\n\t" for character in text)
    text.encode()


@pytest.mark.parametrize("name", FORMATS)
def test_a_text_of_a_megabyte_and_many_findings_are_told(name: str) -> None:
    assert render(name, hostile("x" * 1_000_000))
    many = report(1, *[CONFORMING, VIOLATING, undecided()] * 300)
    assert render(name, many).count("LAW1") >= 600


def test_naming_the_formats_imports_none_of_them() -> None:
    script = (
        "import sys, specaudit.render.registry; "
        "sys.exit(bool({'msgspec', 'junitparser', 'specaudit.model.report'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
