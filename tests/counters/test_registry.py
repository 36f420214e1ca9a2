import pytest

from specaudit.counters.page import parse
from specaudit.counters.registry import find, names

from .recorded import page


def test_names() -> None:
    assert names() == ("vllm", "llamacpp")


@pytest.mark.parametrize(
    ("recording", "name"),
    [("vllm/draft_after", "vllm"), ("vllm/plain_after", "vllm"), ("llamacpp/draft", "llamacpp")],
)
def test_an_engine_is_found_from_its_page(recording: str, name: str) -> None:
    dialect = find(parse(page(recording)))
    assert dialect is not None
    assert dialect.name == name


def test_a_page_of_something_else_is_nobodys() -> None:
    assert find(parse("process_start_time_seconds 1.5e9\nnode_load1 0.3\n")) is None
