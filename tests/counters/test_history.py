from datetime import UTC, datetime, timedelta

from specaudit.counters.history import History, Interval
from specaudit.counters.snapshots import Snapshot

from .pages import vllm_page

START = datetime(2026, 11, 29, 18, tzinfo=UTC)


def grown(steps: int, **more: object) -> str:
    """A page after so many steps in which two of three drafts are accepted, in sequences of one hundred steps."""
    counts = {"drafts": steps, "draft_tokens": 3 * steps, "accepted": 2 * steps, "positions": (steps, steps, 0)}
    return vllm_page(**{**counts, "generation": 3 * steps + steps // 100, "sequences": steps // 100, **more})


def pages(*texts: str, source: str = "", every: float = 5.0) -> list[Snapshot]:
    times = (START + timedelta(seconds=every * i) for i in range(len(texts)))
    return [Snapshot(source=source, page=text, taken=time.isoformat()) for text, time in zip(texts, times, strict=True)]


def intervals(snapshots: list[Snapshot], history: History | None = None) -> list[Interval]:
    history = history or History()
    return [interval for snapshot in snapshots for interval in history.add(snapshot)]


def test_windows_lie_between_pages() -> None:
    found = intervals(pages(grown(0), grown(100), grown(300)))
    assert [(one.status, one.window.drafts) for one in found] == [("valid", 100), ("valid", 200)]
    assert found[0].end == found[1].start == (START + timedelta(seconds=5)).isoformat()
    assert found[0].window.elapsed == 5


def test_the_floor_is_for_every_window() -> None:
    found = intervals(pages(grown(0), grown(100), grown(300)), History(min_drafts=150))
    assert [one.status for one in found] == ["void", "valid"]


def test_a_page_that_cannot_be_read_leaves_a_gap_that_the_next_window_reaches_over() -> None:
    first, second = pages(grown(0), grown(300))
    lost = [Snapshot(failure="Nothing answers."), Snapshot(page="<html></html>")]
    found = intervals([lost[0], first, *lost, second])
    assert [one.status for one in found] == ["unread", "unread", "unread", "valid"]
    assert [one.reasons for one in found[:3]] == [
        ("Nothing answers.",),
        ("Nothing answers.",),
        ("the page is HTML, not Prometheus metrics",),
    ]
    assert found[3].window.drafts == 300


def test_a_restart_in_a_gap_is_seen() -> None:
    found = intervals([*pages(grown(100)), Snapshot(failure="Nothing answers."), *pages(grown(300, created=1.71e9))])
    assert found[-1].status == "void"
    assert "the server restarted" in found[-1].reasons[0]


def test_every_source_has_windows_of_its_own() -> None:
    one, other = pages(grown(0), grown(100), source="a"), pages(grown(5000), grown(5300), source="b")
    found = intervals([one[0], other[0], one[1], other[1]])
    assert [(each.source, each.status, each.window.drafts) for each in found] == [
        ("a", "valid", 100),
        ("b", "valid", 300),
    ]


def test_every_engine_on_a_page_has_windows_of_its_own() -> None:
    start, end = (grown(n) + grown(10 * n, engine="1").split("\n", 1)[1] for n in (100, 200))
    found = intervals(pages(start, end))
    assert [(each.replica, each.status, each.window.drafts) for each in found] == [
        ("0", "valid", 100),
        ("1", "valid", 1000),
    ]


def test_a_load_balancer_is_recognised_by_servers_that_come_back() -> None:
    one, other = [grown(n, created=1.7e9) for n in (100, 200)], [grown(n, created=1.71e9) for n in (150, 250)]
    found = intervals(pages(one[0], other[0], one[1], other[1]))
    assert [each.status for each in found] == ["void"] * 3
    assert "several share this address" not in found[0].reasons[0]
    assert "several share this address" in found[1].reasons[0]
    assert "several share this address" in found[2].reasons[0]


def test_pages_in_the_wrong_order_are_void_and_told_so() -> None:
    first, second = pages(grown(100), grown(300))
    (found,) = intervals([second, first])
    assert found.status == "void"
    assert "5 s older" in found.reasons[0]
    untimed = [Snapshot(page=snapshot.page) for snapshot in (second, first)]
    assert "are the scrapes in their order?" in intervals(untimed)[0].reasons[0]


def test_a_clock_that_is_wrong_is_noted_once() -> None:
    history = History()
    future = START.timestamp() + 3600
    found = intervals(pages(grown(0, created=future), grown(100, created=future)), history)
    assert [each.status for each in found] == ["valid"]
    assert list(history.notes.values()) == [
        "the server says that it started 3,595 s after it was asked: one of the two clocks is wrong"
    ]
    assert intervals(pages(grown(0), grown(100)), sound := History())
    assert sound.notes == {}


def test_the_latest_readings_are_kept() -> None:
    history = History()
    intervals(pages(grown(0), grown(100), source="a"), history)
    assert [reading.drafts for reading in history.latest["a"]] == [100]


def test_equal_parts_of_readings_are_kept_once() -> None:
    found = intervals(pages(*(grown(100 * i) for i in range(4))))
    kept = {id(part) for one in found for part in (one.window.before.marker, one.window.after.marker)}
    assert len(kept) == 1
    assert len({id(one.window.after.series) for one in found}) == 1
