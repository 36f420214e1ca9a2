import json

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
