import hashlib
import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.model.errors import UsageError
from specaudit.prompts.tokenizers import load_tokenizer

TABLE = {"a": 0, "b": 1, "ab": 2, "abb": 3, " ": 4, ".": 5, "": 6}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "vocab.json"
    path.write_text(json.dumps(TABLE))
    return load_tokenizer(path)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", ()),
        ("ab", (2,)),
        ("abba", (3, 0)),
        ("ba b.", (1, 0, 4, 1, 5)),
        ("axé\n", (0, "x", "é", "\n")),
    ],
)
def test_the_longest_text_is_cut_off_from_the_left(table, text, tokens):
    assert table.encode(text) == tokens


@given(st.text("ab .x\n"))
def test_nothing_of_a_text_is_lost(table, text):
    spelled = {token: word for word, token in TABLE.items()}
    assert "".join(spelled.get(token, str(token)) for token in table.encode(text)) == text


def test_the_file_is_known_by_its_digest(tmp_path):
    path = tmp_path / "vocab.json"
    path.write_text('{"a": 0}')
    assert load_tokenizer(path).digest == hashlib.sha256(b'{"a": 0}').hexdigest()


class Model:
    """Stands for the library's tokenizer."""

    @staticmethod
    def from_buffer(content):
        if b"broken" in content:
            raise Exception("broken model")
        return Model()

    def encode(self, text, add_special_tokens):
        assert not add_special_tokens
        return SimpleNamespace(ids=[len(word) for word in text.split()])


@pytest.fixture
def library(monkeypatch):
    module = ModuleType("tokenizers")
    module.Tokenizer = Model
    monkeypatch.setitem(sys.modules, "tokenizers", module)


def test_a_tokenizer_json_is_read_by_the_library(tmp_path, library):
    path = tmp_path / "tokenizer.json"
    path.write_text('{"version": "1.0", "model": {"type": "BPE"}}')
    assert load_tokenizer(path).encode("one three") == (3, 5)


def test_without_the_library_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    path = tmp_path / "tokenizer.json"
    path.write_text('{"model": {}}')
    with pytest.raises(UsageError, match="needs the package 'tokenizers'") as caught:
        load_tokenizer(path)
    assert "pip install 'specdec-audit[tokenizers]'" in caught.value.hint


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"a": "b"}', '{"a": 1.5}', '{"model": "broken"}', "\x00\x00", '["a", "b"]']
)
def test_what_is_no_tokenizer_is_a_sentence(tmp_path, library, content):
    path = tmp_path / "vocab.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=r"is neither a tokenizer\.json nor a JSON object of token texts"):
        load_tokenizer(path)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file or directory"):
        load_tokenizer(tmp_path / "none.json")
