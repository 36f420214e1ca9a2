import gzip

import pytest

from specaudit.counters.body import decode
from specaudit.counters.page import PageError

from .recorded import page


def test_a_page_packed_by_gzip_is_the_page() -> None:
    text = page("sglang/after")
    assert decode(gzip.compress(text.encode())) == decode(text.encode()) == text


def test_a_byte_order_mark_is_left_out() -> None:
    assert decode(b"\xef\xbb\xbfdrafts_total 1\n") == "drafts_total 1\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (gzip.compress(b"drafts_total 1\n" * 100, mtime=0)[:-20], "gzip file that is cut off"),
        (gzip.compress(b"drafts_total 1\n", mtime=0)[:-8] + b"\0" * 8, "broken gzip file"),
        (b"drafts_total\xff 1\n", "not UTF-8 text \\(byte 12\\)"),
        (gzip.compress(b"\xff\xfe", mtime=0), "not UTF-8 text \\(byte 0\\)"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(body: bytes, message: str) -> None:
    with pytest.raises(PageError, match=message):
        decode(body)


def test_a_page_that_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specaudit.counters.body._LARGEST", 1000)
    assert decode(gzip.compress(b"x" * 1000, mtime=0)) == "x" * 1000
    with pytest.raises(PageError, match="unpacks to more than"):
        decode(gzip.compress(b"x" * 1001, mtime=0))
