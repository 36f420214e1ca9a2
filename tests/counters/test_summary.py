from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.counters.frame import to_frame
from specaudit.counters.history import History, Interval
from specaudit.counters.snapshots import Snapshot, snapshots_in
from specaudit.counters.summary import Summary, of_one_page, summarise
from specaudit.render.counters import render_counters
from specaudit.render.json import render_json

from .pages import vllm_page
from .recorded import page, reading
from .test_page import METRIC_LIKE


def summed(*pages: str, source: str = "") -> Summary:
    history = History()
    found = [one for text in pages for one in history.add(Snapshot(source=source, page=text))]
    return summarise(found, confidence=0.99)


def test_what_is_measured() -> None:
    summary = summed(page("vllm/draft_before"), page("vllm/draft_after"))
    assert summary.outcome == "measured"
    assert summary.statuses == {"valid": 1}
    names = [figure.name for figure in summary.overall.figures]
    assert names[:3] == ["verifier length", "user length", "draft acceptance rate"]
    assert names[3:] == [f"position {i}" for i in (1, 2, 3)] + [f"position {i}, reached" for i in (1, 2, 3)]
    assert summary.overall.figures[0].value == 1 + 5352 / 43707
    assert summary.windows[0].drafts == 43707
    assert summary.replicas == ()


def test_drafts_of_different_lengths_are_told() -> None:
    assert "different lengths" in summed(page("vllm/ngram_before"), page("vllm/ngram_after")).notes[0]
    assert summed(page("vllm/draft_before"), page("vllm/draft_after")).notes == ()


def test_wrong_counters_make_the_outcome_wrong_whatever_else_is_valid() -> None:
    sound = {"drafts": 400, "draft_tokens": 1200, "accepted": 700, "positions": (350, 220, 130), "generation": 1140}
    wrong = {**sound, "accepted": 1000, "drafts": 600, "draft_tokens": 1800, "generation": 1500}
    summary = summed(vllm_page(), vllm_page(**sound, sequences=40), vllm_page(**wrong, sequences=50))
    assert summary.statuses == {"valid": 1, "void": 1}
    assert summary.outcome == "wrong"


def test_a_defect_is_named_once_with_its_first_window() -> None:
    counts = [
        {"drafts": n, "draft_tokens": n // 2, "accepted": 0, "generation": 2 * n, "sequences": n // 10}
        for n in (0, 100, 200, 300)
    ]
    summary = summed(*(vllm_page(**each) for each in counts))
    (defect,) = summary.defects
    assert (defect.name, defect.window, defect.windows) == ("empty-drafts", 1, 3)
    assert "100 drafts had 50 tokens" in defect.what


def test_lengths_that_make_no_sense_are_left_out() -> None:
    summary = summed(page("vllm/draft_after"), page("vllm/draft_restart"))
    assert summary.windows[0].drafts == -43724
    assert summary.windows[0].length is None


def test_one_page_tells_totals() -> None:
    assert of_one_page(reading("vllm/draft_after")).endswith("counted 43,724 drafts, verifier's length 1.123")
    assert of_one_page(reading("vllm/draft_restart")).endswith("counted no drafts")
    assert of_one_page(reading("llamacpp/probabilistic")).endswith("counted 2,473 drafts, verifier's length 2.532")
    wrong = replace(reading("vllm/draft_after"), accepted=6000)
    assert "contradict each other: the positions add up to 5,365" in of_one_page(wrong)
    assert of_one_page(reading("sglang/after")).endswith("counted 2,400 drafts")


def test_the_table_has_a_row_for_each_window() -> None:
    summary = summed(page("vllm/draft_before"), "<html>", page("vllm/draft_after"), source="a")
    table = to_frame(summary)
    assert list(table["status"]) == ["unread", "valid"]
    assert table["accepted_3"].tolist()[1] == 663
    assert table.drop(columns=["start", "end"]).isna().sum().sum() == 9, "what an unread page does not tell"
    assert len(to_frame(summed())) == 0


PAGES = [
    page(name) for name in ("vllm/eagle_after", "sglang/after", "tgi/after", "tensorrt-llm/after", "lmdeploy/after")
]


def damaged(draw: st.DrawFn, text: str) -> str:
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 30)))
    return text[:start] + draw(METRIC_LIKE) + text[end:]


@st.composite
def scrapes(draw: st.DrawFn) -> list[bytes]:
    """Pages of one engine, some of them damaged, with numbers that no counter has."""
    text = draw(st.sampled_from(PAGES))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        changed = damaged(draw, text) if draw(st.booleans()) else text
        number = draw(st.sampled_from(["NaN", "+Inf", "-1", "1e308", "9007199254740993", "0", "7", "0.5"]))
        lines = changed.split("\n")
        place = draw(st.integers(0, len(lines) - 1))
        lines[place] = f"{lines[place].rsplit(' ', 1)[0]} {number}"
        found.append("\n".join(lines).encode())
    return found


@settings(max_examples=150, deadline=None, derandomize=True)
@given(bodies=scrapes(), taken=st.sampled_from(["", "2026-11-29T18:00:00Z", "0001-01-01T00:00:00+14:00", "never"]))
def test_whatever_pages_say_it_is_summed_up_and_shown(bodies: list[bytes], taken: str) -> None:
    history, found = History(), list[Interval]()
    for body in bodies:
        for one in snapshots_in(body):
            found += history.add(Snapshot(page=one.page, taken=taken, failure=one.failure))
    summary = summarise(found, confidence=0.99)
    for readings in history.latest.values():
        assert of_one_page(readings[0])
    assert render_counters(summary, verbose=True)
    assert render_json(summary)
    assert len(to_frame(summary)) == len(found)
