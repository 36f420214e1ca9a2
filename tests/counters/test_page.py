import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.exposition import generate_latest as classic_text
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_text

from specaudit.counters.page import PageError, Sample, Series, parse
from specaudit.counters.read import read_page

from .recorded import page

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    Counter("vllm:spec_decode_num_drafts", "Drafts.", ["engine"], registry=registry).labels("0").inc(437)
    Gauge("vllm:num_requests_running", 'Running, "now" \\ \n.', registry=registry).set(2)
    return registry


def test_both_formats_give_the_same_samples(registry: CollectorRegistry) -> None:
    classic = parse(classic_text(registry).decode(), "text/plain; version=0.0.4")
    openmetrics = parse(openmetrics_text(registry).decode(), OPENMETRICS)
    assert {sample.series for sample in classic} == {
        Series("vllm:spec_decode_num_drafts_total", (("engine", "0"),)),
        Series("vllm:spec_decode_num_drafts_created", (("engine", "0"),)),
        Series("vllm:num_requests_running"),
    }
    # The client writes an underscore for the colon in OpenMetrics samples.
    by_name = {sample.name.replace(":", "_"): sample.value for sample in classic}
    assert {sample.name: sample.value for sample in openmetrics} == by_name


def test_openmetrics_is_known_by_its_end_without_a_content_type() -> None:
    # The exemplar is a syntax error in the classic format.
    text = '# TYPE drafts counter\ndrafts_total 3 # {trace="x"} 1\n# EOF\n'
    assert [(sample.name, sample.value) for sample in parse(text)] == [("drafts_total", 3)]


def test_a_counter_keeps_its_name_under_a_type_line_without_total() -> None:
    text = "# TYPE drafts counter\ndrafts_total 3\ndrafts_created 1.5e9\n"
    assert parse(text) == (
        Sample(name="drafts_total", labels={}, value=3),
        Sample(name="drafts_created", labels={}, value=1.5e9),
    )


def test_native_histograms_are_left_out() -> None:
    histogram = (
        "latency {count:1,sum:2,schema:0,zero_threshold:0.1,zero_count:0,positive_spans:[0:1],positive_deltas:[1]}"
    )
    text = f"# TYPE latency histogram\n{histogram}\n# TYPE drafts counter\ndrafts_total 3\n# EOF\n"
    assert [sample.name for sample in parse(text)] == ["drafts_total"]


def test_label_escapes_are_undone() -> None:
    (sample,) = parse('drafts_total{model_name="a\\"b\\\\c\\nd,e}"} 1\n')
    assert sample.labels == {"model_name": 'a"b\\c\nd,e}'}


def test_series_are_written_as_on_the_page() -> None:
    assert str(Series("drafts_total")) == "drafts_total"
    assert str(Series("drafts_total", (("engine", "0"), ("model", "m")))) == 'drafts_total{engine="0",model="m"}'


@pytest.mark.parametrize(
    ("text", "content_type", "message"),
    [
        ("", "", "the page is empty"),
        (" \n\n", "", "the page is empty"),
        ("# HELP drafts Drafts.\n", "", "no samples"),
        ("<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", "text/html", "the page is HTML"),
        ("\n  <html></html>", "text/plain", "the page is HTML"),
        (json.dumps({"object": "list", "data": []}), "application/json", "the page is JSON"),
        (json.dumps([{"iter": 1}], indent=1) + "\n", "", "the page is JSON"),
        ("drafts_total 437", "", "cut off"),
        ('drafts_total{engine="0",mod', "", "cut off"),
        ("# TYPE drafts counter\ndrafts_total 437\n", OPENMETRICS, "cut off"),
        ("404 page not found\n", "", "not Prometheus text"),
        ("drafts_total \x1b[31mred\n", "", r"not Prometheus text \([^\x1b]*\)"),
        (f"drafts_total 1{'0' * 400}\n", "", "not Prometheus text"),
        ('drafts_total{a="\x1b"} 1\ndrafts_total{a="\x1b"} 2\n', "", r"^[^\x1b]* twice"),
        ('drafts_total{a="1"} 1\ndrafts_total{a="1"} 2\n', "", r'drafts_total\{a="1"\} twice'),
    ],
)
def test_what_is_no_page_is_refused_with_the_reason(text: str, content_type: str, message: str) -> None:
    with pytest.raises(PageError, match=message):
        parse(text, content_type)


def read_or_refuse(text: str, content_type: str = "") -> None:
    refusal = ""
    try:
        parse(text, content_type)
        read_page(text, content_type)
    except PageError as error:
        refusal = str(error)
    assert refusal.isprintable()


METRIC_LIKE = st.text(alphabet='vlm:_total{}="\\,# TYPEHLcounter0129.+-eNaInf\n\t\r', max_size=80)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    text=st.text(max_size=60) | METRIC_LIKE, ending=st.sampled_from(["", "\n", "\n# EOF\n"]), openmetrics=st.booleans()
)
def test_no_text_raises_anything_but_page_errors(text: str, ending: str, openmetrics: bool) -> None:
    read_or_refuse(text + ending, OPENMETRICS if openmetrics else "")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_no_damage_to_a_real_page_raises_anything_but_page_errors(data: st.DataObject) -> None:
    text = page("vllm/eagle_after")
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    read_or_refuse(text[:start] + data.draw(METRIC_LIKE) + text[end:])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(cut=st.integers(0, len(page("vllm/eagle_after")) - 1))
def test_a_page_cut_anywhere_is_refused_or_has_all_its_speculation_counters(cut: int) -> None:
    text = page("vllm/eagle_after")
    try:
        (reading,) = read_page(text[:cut])
    except PageError:
        return
    assert reading.accepted_per_position == (259, 2)
    assert (reading.drafts, reading.accepted, reading.generation_tokens) == (27688, 261, 38460)
