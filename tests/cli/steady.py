"""What a command did, with everything that changes from run to run taken out."""

import re
from dataclasses import dataclass
from pathlib import Path

_VOLATILE = (
    (r"\b[0-9a-f]{64}\b", "<digest>"),
    (r"\d{8}T\d{6}Z(-\w+)-[0-9a-f]{4}\b", r"<time>\1"),
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+\+00:00", "<time>"),
    (r"127\.0\.0\.1:\d{4,5}", "<server>"),
)
_FIGURE = r"(?<![\w#])\d[\d,]*(\.\d+)?(e-\d+)?\b"


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A command line with what it printed and its exit code."""

    arguments: tuple[str, ...]
    code: int
    out: str
    err: str


def steady(ran: Ran, *, figures: bool = True) -> str:
    """Return a command's whole behaviour as one text for a snapshot; without figures they are shown as #."""
    words = " ".join(Path(word).name if Path(word).is_absolute() else word for word in ran.arguments)
    out, err = (_settled(text) if figures else re.sub(_FIGURE, "#", _settled(text)) for text in (ran.out, ran.err))
    return f"$ {_settled(f'specaudit {words}'.strip())}\nexit {ran.code}\n--- stdout\n{out}--- stderr\n{err}"


def _settled(text: str) -> str:
    text = text.replace(str(Path.cwd()), "<here>").replace(str(Path(__file__).parent.parent), "<tests>")
    for pattern, name in _VOLATILE:
        text = re.sub(pattern, name, text)
    return text
