import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.engines.addresses import UNREADABLE, public_address


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("https://api.example/v1/", "https://api.example/v1/"),
        ("http://user:pass@host:1/v1", "http://host:1/v1"),
        ("http://user:p@ss@host/v1", "http://host/v1"),
        ("https://host/v1?api_key=hidden&x=1#hidden", "https://host/v1"),
        ("http://host/@org/v1", "http://host/@org/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("user:pass@host:80/v1?key=hidden", "host:80/v1"),
        ("//user:pass@host/v1", "//host/v1"),
        ("localhost:8000/v1", "localhost:8000/v1"),
        ("foo", "foo"),
        ("", ""),
        ("http://user:pa/ss@host/v1", UNREADABLE),
        ("http://user:pa#ss@host/v1", UNREADABLE),
        ("http://user:pa?ss@host/v1", UNREADABLE),
        ("http://user:123/w@host/v1", UNREADABLE),
        ("http://user:1234?w@host/v1", UNREADABLE),
        ("http://user:12#w@host/v1", UNREADABLE),
        ("http://[::1/v1", UNREADABLE),
        ("http://host:99999/v1", UNREADABLE),
    ],
)
def test_only_what_is_public_stays(address, public):
    assert public_address(address) == public


@given(st.text(), st.text())
def test_no_text_breaks_it_and_no_query_passes(before, after):
    assert "hidden" not in public_address(f"{before}?{after}hidden")


@given(st.text("abcXYZ059.:/?#@[]%", min_size=1))
def test_a_public_address_is_its_own(address):
    public = public_address(address)
    assert public_address(public) in (public, UNREADABLE)


secrets = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=3).filter(lambda s: s not in UNREADABLE)


@given(secrets)
def test_a_password_never_passes(password):
    assert f"~{password}~" not in public_address(f"http://user:~{password}~@host.example/v1")
