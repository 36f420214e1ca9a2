from dataclasses import replace

from specaudit.counters.history import Interval
from specaudit.counters.summary import row, summarise
from specaudit.counters.windows import window
from specaudit.render.counters import render_counters, render_window
from tests.counters.simulated import Server


def intervals(count: int, *, source: str = "") -> list[Interval]:
    server, found = Server(seed=1), []
    for i in range(count):
        before = server.read()
        server.serve(4, 64)
        judged = window(before, server.read(), min_drafts=10**6 if i % 10 == 9 else 1)
        found.append(
            Interval(
                source=source,
                replica="",
                start=f"2026-11-29T{i // 60:02}:{i % 60:02}:00+00:00",
                end=f"2026-11-29T{(i + 1) // 60:02}:{(i + 1) % 60:02}:00+00:00",
                status=judged.status,
                reasons=judged.reasons,
                window=judged,
            )
        )
    return found


def test_of_many_windows_the_first_and_the_last_are_listed() -> None:
    summary = summarise(intervals(100), confidence=0.99)
    short, long = render_counters(summary), render_counters(summary, verbose=True)
    numbers = [line.split()[0] for line in short.splitlines()[1:] if line.endswith(("valid", "void"))]
    assert numbers == [*map(str, range(1, 21)), *map(str, range(81, 101))]
    assert len([line for line in long.splitlines()[1:] if line.endswith(("valid", "void"))]) == 100
    assert max(map(len, short.splitlines())) <= 80


def test_reasons_beyond_the_first_few_are_told_on_demand() -> None:
    found = [replace(one, status="void", reasons=(f"reason {i}",)) for i, one in enumerate(intervals(12))]
    summary = summarise(found, confidence=0.99)
    assert "- and 4 more, which --verbose tells" in render_counters(summary)
    assert "- void 12: reason 11" in render_counters(summary, verbose=True)


def test_what_pages_say_cannot_steer_a_terminal() -> None:
    hostile = "\x1b[31mred\u202e"
    found = [replace(one, reasons=(hostile,)) for one in intervals(2, source=hostile)]
    text = render_counters(summarise(found, confidence=0.99, notes=(hostile,))) + render_window(row(found[0]))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"\x1b[31mred" in text


def test_a_window_in_a_line() -> None:
    valid, void = intervals(10)[0], intervals(10)[9]
    assert render_window(row(valid)).startswith("00:01:00  valid, ")
    assert render_window(row(valid)).endswith(" tokens per step")
    assert render_window(row(void)).endswith("the floor is 1,000,000")
