import pytest

from specaudit.engines.sse import payloads


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("data: a\n\n", ["a"]),
        ("data: a\n\ndata: b\n\n", ["a", "b"]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        ("data: a\r\rdata: b\r\r", ["a", "b"]),
        ("data:a\n\n", ["a"]),
        ("data:  a\n\n", [" a"]),
        ("data: a\ndata: b\n\n", ["a\nb"]),
        (": ping\n\ndata: a\n\n: ping\n\n", ["a"]),
        ("event: message\nid: 7\nretry: 3\ndata: a\n\n", ["a"]),
        ("event: message\n\n", []),
        ("data: a", ["a"]),
        ("data\n\n", [""]),
        ("data: \u2028 is no line end\n\n", ["\u2028 is no line end"]),
    ],
)
def test_the_data_of_events(text, found):
    assert list(payloads(text)) == found
