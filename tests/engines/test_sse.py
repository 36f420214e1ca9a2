from itertools import chain

import pytest

from specaudit.engines.sse import Events, payloads


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
        ("\ufeffdata: a\n\ndata: \ufeffb\n\n", ["a", "\ufeffb"]),
    ],
)
def test_the_data_of_events(text, found):
    assert payloads(text.encode()) == found
    events = Events()
    pieces = [events.take(bytes([byte])) for byte in text.encode()]
    assert [*chain.from_iterable(pieces), *events.take(b"", last=True)] == found


def test_an_event_is_told_when_it_ends():
    events = Events()
    assert events.take(b"data: a\r") == []
    assert events.take(b"\n\r\ndata: b\n") == ["a"]
    assert events.take(b"\n") == ["b"]


def test_what_is_not_utf_8_is_marked():
    assert payloads(b"data: m\xfc\n\n") == ["m\ufffd"]
