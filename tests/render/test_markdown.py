import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.render.markdown import render_markdown
from tests.render.reports import HOSTILE, REPORTS, VIOLATING, hostile, report


def outside_code(text: str) -> str:
    """The text without blocks and spans of code."""
    return re.sub(r"(?<![\\`])(`+)(?!`).+?(?<![\\`])\1(?!`)", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("outcome", REPORTS)
def test_the_verdict_is_the_first_line(outcome: str) -> None:
    first = render_markdown(REPORTS[outcome]).splitlines()[0]
    word = {"could not test": "COULD NOT TEST", "unreachable": "COULD NOT TEST", "internal error": "INTERNAL ERROR"}
    assert first == f"## specaudit: {word.get(outcome, outcome.split()[0].upper())}"


def test_violations_are_told_in_full_and_others_in_the_table_only() -> None:
    text = render_markdown(REPORTS["violates"])
    assert re.findall("^### .*", text, re.MULTILINE) == ["### LAW1"]
    assert "- Witness: word '1 2 1' at depth 2" in text
    assert f"```text\n{VIOLATING.next_step}\n```" in text
    assert "| CTR1 (optional) | not-applicable |" in text


def test_every_row_has_as_many_cells_as_the_head() -> None:
    for shown in (*REPORTS.values(), hostile(HOSTILE)):
        rows = [line for line in render_markdown(shown).splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {4}


def test_texts_from_elsewhere_make_no_markup() -> None:
    text = outside_code(render_markdown(hostile(HOSTILE)))
    for mark in "*_[]<>~&$@`":
        bare = re.findall(rf"(?<!\\){re.escape(mark)}", text.replace("**violates**", ""))
        assert not bare, (mark, text)
    assert "http://" not in text


def test_a_dash_a_word_and_an_address_begin_nothing() -> None:
    shown = report(3, stopped="- www.evil.example")
    assert "\n\n\\- www\\.evil.example\n" in render_markdown(shown)


@given(st.text(st.sampled_from("`~ a\n"), min_size=1, max_size=12))
def test_a_command_never_leaves_its_block(text: str) -> None:
    shown = report(1, msgspec.structs.replace(VIOLATING, next_step=text))
    blocks = re.findall(r"^(`{3,})text\n(.*)\n\1$", render_markdown(shown), re.MULTILINE)
    assert [block for _, block in blocks] == [text.replace("\n", r"\n")]
