import re
import unicodedata

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from specaudit.model.finding import Effect
from specaudit.model.report import Report
from specaudit.render.terminal import render_terminal
from tests.render.reports import CONFORMING, OPTIONAL, REPORTS, VIOLATING, hostile, report, undecided


def rendered(shown: Report, folder: str = "specaudit-runs/one", **options: object) -> str:
    return render_terminal(shown, folder=folder, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", REPORTS)
def test_each_outcome_reads_well(name: str, snapshot: SnapshotAssertion) -> None:
    assert rendered(REPORTS[name]) == snapshot


def test_verbose_tells_all(snapshot: SnapshotAssertion) -> None:
    assert rendered(REPORTS["violates"], verbose=True) == snapshot


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", REPORTS)
def test_lines_keep_to_the_width_unless_they_are_to_be_pasted(name: str, width: int) -> None:
    for line in rendered(REPORTS[name], width=width, verbose=True).splitlines():
        assert line == line.rstrip()
        assert len(line) <= width or "specaudit run" in line or "curl" in line


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("width", [1, 10, 40])
def test_a_narrow_terminal_breaks_nothing(name: str, width: int) -> None:
    assert REPORTS[name].evidence_digest in rendered(REPORTS[name], width=width)


def test_without_colour_there_is_no_escape_and_colour_changes_nothing_else() -> None:
    for shown in REPORTS.values():
        plain, coloured = rendered(shown), rendered(shown, color=True)
        assert "\x1b" not in plain
        assert "\x1b[" in coloured
        without = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
        assert [line.rstrip() for line in without.splitlines()] == plain.splitlines()


def test_a_command_is_never_broken_in_two() -> None:
    text = rendered(report(3, OPTIONAL), width=40)
    assert f"\n  {OPTIONAL.next_step}\n" in text


def test_checks_that_say_the_same_say_it_once() -> None:
    text = rendered(REPORTS["inconclusive"])
    assert text.count("Raise max_completions") == 1
    assert "Next, for GRD1, LAW1:" in text


def test_what_was_allowed_is_not_called_conforming() -> None:
    text = rendered(REPORTS["inconclusive but allowed"])
    assert text.startswith("INCONCLUSIVE")
    assert "CONFORMS" not in text


def test_an_optional_check_is_marked() -> None:
    assert "CTR1 (optional)" in rendered(REPORTS["conforms"])
    assert "GRD1 (optional)" not in rendered(REPORTS["conforms"])


@pytest.mark.parametrize(
    ("low", "high", "line"),
    [
        (0.0, 0.1, "Share: 0.05, at most 0.1 (99.9 % sure); 0.2 is tolerated"),
        (None, 0.1, "Share: 0.05, at most 0.1 (99.9 % sure); 0.2 is tolerated"),
        (0.01, None, "Share: 0.05, at least 0.01 (99.9 % sure); 0.2 is tolerated"),
        (0.0, None, "Share: 0.05, at least 0 (99.9 % sure); 0.2 is tolerated"),
        (0.01, 0.1, "Share: 0.05, from 0.01 to 0.1 (each bound 99.9 % sure); 0.2 is tolerated"),
        (None, None, "Share: 0.05; 0.2 is tolerated"),
    ],
)
def test_an_effect_is_told_with_the_bounds_that_it_has(low: float | None, high: float | None, line: str) -> None:
    effect = Effect(name="share", value=0.05, low=low, high=high, confidence=0.999, tolerance=0.2)
    shown = msgspec.structs.replace(CONFORMING, effect=effect)
    assert f"  {line}\n" in rendered(report(0, shown), verbose=True)


def test_many_notes_are_cut_short_unless_all_are_asked_for() -> None:
    shown = report(4, msgspec.structs.replace(undecided(), notes=tuple(f"window {n} is void" for n in range(1, 11))))
    assert rendered(shown).count("Note: window") == 3
    assert "  … and 7 more notes, which --verbose shows\n" in rendered(shown)
    assert rendered(shown, verbose=True).count("Note: window") == 10


def test_a_folder_that_a_shell_would_split_is_quoted() -> None:
    assert "specaudit analyze 'my runs/one'\n" in rendered(REPORTS["conforms"], folder="my runs/one")


ESCAPES = "\x1b[31mred\x1b]0;title\x07 \x9b31m \x00\x7f\r\n\u202egnp.exe\u2066 \u2028 \udcff [bold]markup[/nonsense]"


def test_nothing_from_elsewhere_is_obeyed_by_the_terminal() -> None:
    shown = hostile(ESCAPES)
    for text in (rendered(shown, folder=ESCAPES, verbose=True), rendered(shown, folder=ESCAPES, color=True)):
        without_styles = re.sub(r"\x1b\[(0|1|2|3[0-7]|1;3[0-7])m", "", text)
        assert all(character.isprintable() or character == "\n" for character in without_styles)
        joined = " ".join(without_styles.split())
        assert r"\x1b[31mred" in joined
        assert "[bold]markup[/nonsense]" in joined


@settings(max_examples=40)
@given(st.text())
def test_any_summary_can_be_shown(summary: str) -> None:
    text = rendered(report(1, msgspec.structs.replace(VIOLATING, summary=summary)))
    assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c != "\n"]


def test_a_figure_that_is_no_number_is_shown_all_the_same() -> None:
    shown = msgspec.structs.replace(undecided(), measured={"a": float("nan"), "b": float("inf")})
    assert "Measured: a nan, b inf" in rendered(report(4, shown), verbose=True)
