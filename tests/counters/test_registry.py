import pytest

from specaudit.counters.page import PageError, parse
from specaudit.counters.read import read_page
from specaudit.counters.registry import all_dialects, find, get, names

from .recorded import page


def test_names() -> None:
    assert names() == ("vllm-v0", "vllm", "sglang", "tensorrt-llm", "llamacpp", "lmdeploy", "tgi")
    assert [get(name) for name in names()] == list(all_dialects())
    assert get("ollama") is None


@pytest.mark.parametrize(
    ("recording", "name"),
    [
        ("vllm/draft_after", "vllm"),
        ("vllm/plain_after", "vllm"),
        ("vllm-v0/after", "vllm-v0"),
        ("sglang/after", "sglang"),
        ("sglang/gauges", "sglang"),
        ("tensorrt-llm/after", "tensorrt-llm"),
        ("llamacpp/draft", "llamacpp"),
        ("lmdeploy/fresh", "lmdeploy"),
        ("tgi/after", "tgi"),
        ("tgi/plain", "tgi"),
    ],
)
def test_an_engine_is_found_from_its_page(recording: str, name: str) -> None:
    dialect = find(parse(page(recording)))
    assert dialect is not None
    assert dialect.name == name


def test_a_page_of_something_else_is_nobodys() -> None:
    text = "process_start_time_seconds 1.5e9\nnode_load1 0.3\n"
    assert find(parse(text)) is None
    with pytest.raises(PageError, match="no engine known here"):
        read_page(text)


def test_what_no_dialect_reads_does_not_matter() -> None:
    text = page("vllm/draft_after")
    assert read_page(text + "node_load1 0.1\nnode_load1 0.2\nnode_load2{\n") == read_page(text)


def test_histograms_are_passed_over_in_both_formats() -> None:
    lines = [line for line in page("vllm/eagle_after").splitlines() if not line.startswith("#")]
    (classic,) = read_page("\n".join(lines) + "\n")
    (openmetrics,) = read_page("\n".join([*lines, "# EOF"]), "application/openmetrics-text; version=1.0.0")
    assert classic == openmetrics


def test_a_dialect_by_name_overrides() -> None:
    (v1,) = read_page(page("vllm/draft_after"), dialect="vllm")
    assert v1.unfit == ()
    (v0,) = read_page(page("vllm/draft_after"), dialect="vllm-v0")
    assert v0.unfit != ()
    with pytest.raises(PageError, match="has no lmdeploy:spec_decode"):
        read_page(page("vllm/draft_after"), dialect="lmdeploy")
    with pytest.raises(ValueError, match="no dialect 'vlm'; there are vllm-v0, vllm"):
        read_page(page("vllm/draft_after"), dialect="vlm")


def test_a_server_of_another_process_tells_its_uptime() -> None:
    (reading,) = read_page(page("tgi/after") + "process_uptime_seconds 12.5\n")
    assert reading.uptime == 12.5
