import base64
import html
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.engines.redaction import Redaction, secret_parts

LONG = 'sk-ab/cd+"\\ef'


def test_long_keys_go_from_messages_and_data():
    redaction = Redaction([LONG])
    assert redaction.message(f"Bearer {LONG} is wrong") == "Bearer [key] is wrong"
    assert redaction.data({f"x{LONG}": [LONG, {"a": f"{LONG}y"}, 1, 0.5, None, True]}) == {
        "x[key]": ["[key]", {"a": "[key]y"}, 1, 0.5, None, True]
    }


@pytest.mark.parametrize("escaped", [json.dumps(LONG), json.dumps(LONG).replace("/", r"\/"), r'"sk\u002dab/cd+\"\\ef"'])
def test_escapes_hide_no_key(escaped):
    assert Redaction([LONG]).data(json.loads(escaped)) == "[key]"


def unicode_escapes(text):
    return "".join(f"\\u{unit:04X}" for unit in memoryview(text.encode("utf-16-le")).cast("H"))


ESCAPES = [
    json.dumps,
    lambda text: json.dumps(text).replace("/", r"\/"),
    lambda text: json.dumps(json.dumps({"error": json.dumps(text)})),
    unicode_escapes,
    repr,
    html.escape,
    lambda text: html.escape(html.escape(text)),
    lambda text: "".join(f"&#{ord(c)};" for c in text),
    lambda text: "".join(f"&#x{ord(c):X};" for c in text),
    quote,
    quote_plus,
    lambda text: quote(quote(text, safe="")).lower(),
    lambda text: quote(json.dumps(text)),
    lambda text: json.dumps(html.escape(text)),
]


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize("key", ["sk-0123_456789", LONG, "geheim & \u00fc/\U0001f600 <%41>", "back\\\\slash\\"])
def test_a_key_goes_in_whatever_escapes_it_comes(escape, key):
    redacted = Redaction([key]).message(escape(f"~{key}~"))
    assert "[key]" in redacted
    assert len(redacted) < len("[key]") + 50
    assert not any(part in redacted for part in ("0123", "cd", "geheim", "slash"))


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", ":", "u:", "me:"])
@pytest.mark.parametrize("after", ["", "!", "!!"])
@pytest.mark.parametrize("key", ["sk-01234", "sk~~~~~~>>>>???"])
def test_a_key_goes_from_base64(encode, before, after, key):
    told = encode(f"{before}{key}{after}".encode()).decode()
    assert len(Redaction([key]).message(told).replace("[key]", "")) <= len(told) - len(key) * 4 // 3 + 2


@pytest.mark.parametrize("text", ["\\" * 100_000, "%25" * 30_000, "&amp;" * 20_000, "s\\" * 50_000, "%5c" * 30_000])
@pytest.mark.parametrize("key", ["sk-0123456789", "\\" * 12, "%25%25%25%25", "&amp;&amp;"])
def test_no_text_takes_long(text, key):
    began = time.process_time()
    Redaction([key]).message(text + "x")
    assert time.process_time() - began < 2


@pytest.mark.parametrize("key", ["0", "EMPTY", "none", "token", "[key]"])
def test_short_keys_leave_data_alone(key):
    data = {"a": ["0", "EMPTY", "none", key], key: 10.0, "token_ids": [0]}
    assert Redaction([key]).data(data) == data


def test_short_keys_go_from_messages_as_whole_words():
    assert (
        Redaction(["token"]).message("token 'token' refuses return_token_ids")
        == "[key] '[key]' refuses return_token_ids"
    )
    assert Redaction(["0"]).message("got 0, not 10") == "got [key], not 10"


def test_the_longer_of_two_keys_goes_first():
    assert Redaction(["abcdefgh", "abcdefghij"]).message("abcdefghij abcdefgh") == "[key] [key]"


def test_without_keys_nothing_changes():
    redaction = Redaction(["", ""])
    data = {"a": ["", None]}
    assert redaction.data(data) is data
    assert redaction.message("a message") == "a message"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("abk-"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abk-"), inner),
)


@given(json_values, st.text("abk-", min_size=8))
def test_no_long_key_stays_anywhere(value, key):
    placed = [value, {key: f"a{key}b"}]
    assert key not in str(Redaction([key]).data(placed))


@pytest.mark.parametrize(
    ("header", "echoed"),
    [
        ("Bearer sk-0123456789", "Incorrect key: sk-0123456789"),
        ("session=0123456789abc; theme=dark", "no session 0123456789abc"),
        ("Basic bWU6aGlkZGVuLXdvcmQ=", "hidden-word is no password of me:hidden-word"),
        ("0123456789", "0123456789"),
    ],
)
def test_what_a_server_may_echo_of_a_header_is_not_kept(header, echoed):
    told = Redaction(secret_parts(header)).message(echoed)
    assert not any(secret in told for secret in ("0123456789", "hidden-word"))


def test_the_name_of_a_scheme_is_no_secret():
    assert Redaction(secret_parts("Bearer sk-0123456789")).message("Bearer expected") == "Bearer expected"
