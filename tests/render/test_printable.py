import json
import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.render.printable import printable, printable_json

OBEYED = ("Cc", "Cs", "Zl", "Zp")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain äö 漢字 🙂", "plain äö 漢字 🙂"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\nb\tc\r\x00", r"a\nb\tc\r\x00"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202edlrow", r"\u202edlrow"),
        ("\udc80", r"\udc80"),
    ],
)
def test_what_a_terminal_obeys_is_written_as_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters(codec=None)))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert not [c for c in printable(text) if unicodedata.category(c) in OBEYED]
    assert not [c for c in printable(text) if unicodedata.bidirectional(c) in ("LRE", "RLE", "PDF", "LRO", "RLO")]


@given(st.recursive(st.text(), lambda inner: st.dictionaries(st.text(), inner, max_size=3), max_leaves=5))
def test_json_means_the_same_and_holds_nothing_that_a_terminal_obeys(value: object) -> None:
    text = printable_json(msgspec.json.encode(value).decode())
    assert json.loads(text) == value
    assert not [c for c in text if unicodedata.category(c) in OBEYED]
