"""A tokenizer for endpoints that tell text and no tokens: given by the user, or else one that tells characters apart.

Into which tokens a text is divided need not be how the engine made it: what is compared then is the law of the text,
in pieces that are cut alike in every arm.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import msgspec

from specaudit.model.errors import UsageError
from specaudit.model.request import Token

_HINT = "specaudit run --tokenizer tokenizer.json"


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """Divides text into tokens."""

    encode: Callable[[str], tuple[Token, ...]]
    digest: str
    """SHA-256 of the file that it was read from."""


CHARACTERS = Tokenizer(encode=lambda text: tuple(text), digest="")
"""Every character by itself: nothing has to be known of the model, and a word of them sees less than one of tokens."""


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a tokenizer: a `tokenizer.json`, or a JSON object of token texts with their ids.

    A table cuts off the longest text that it holds, from the left; a character that it does not hold is a token by
    itself. A `tokenizer.json` needs the extra `tokenizers`.

    Raises:
        UsageError: the file cannot be read, is neither, or needs the extra, which is not installed.
    """
    try:
        content = path.read_bytes()
        data = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        encode = _model(content) if "model" in data else _table(msgspec.json.decode(content, type=dict[str, int]))
    except OSError as error:
        raise UsageError(f"The tokenizer {path} cannot be read: {error.strerror}.", hint=_HINT) from error
    except (msgspec.DecodeError, ValueError) as error:
        raise UsageError(
            f"{path} is neither a tokenizer.json nor a JSON object of token texts with their ids: {error}.", hint=_HINT
        ) from error
    return Tokenizer(encode=encode, digest=hashlib.sha256(content).hexdigest())


def _table(ids: dict[str, int]) -> Callable[[str], tuple[Token, ...]]:
    longest_first = sorted(filter(None, ids), key=len, reverse=True)
    pieces = re.compile("|".join([*map(re.escape, longest_first), "."]), re.DOTALL)
    return lambda text: tuple(ids.get(piece, piece) for piece in pieces.findall(text))


def _model(content: bytes) -> Callable[[str], tuple[Token, ...]]:
    try:
        library = import_module("tokenizers")
    except ModuleNotFoundError as error:
        raise UsageError(
            "A tokenizer.json needs the package 'tokenizers', which is not installed.",
            hint="pip install 'specdec-audit[tokenizers]', or give a JSON object of token texts with their ids",
        ) from error
    try:
        model = library.Tokenizer.from_buffer(content)
    except Exception as error:  # the package raises nothing more special
        raise ValueError(str(error)) from error
    return lambda text: tuple(model.encode(text, add_special_tokens=False).ids)
