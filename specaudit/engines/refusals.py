"""What a server says when it refuses a request, taken from the error forms in use."""

import re
from typing import Any

import msgspec

from specaudit.model.entries import Failure

_WRAPPERS = ("error", "errors", "detail", "details", "message", "msg", "description", "title", "fault", "faultstring")
"""Names behind which servers put their words, or another object with them; the first that is there is followed."""

_FAULTS_SHOWN = 3

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""

_PRINTED_FAULT = re.compile(rf"'loc': \(([^()]*)\), 'msg': ({_QUOTED})")
"""A fault as Python prints pydantic's: where it is, and what it is."""

_ESCAPED = re.compile(r"\\(.)")

_NOT_OF_THE_REQUEST = (401, 403, 404, 405, 407, 408, 409, 425, 429)
"""Statuses of a client's error that are not about what is asked."""


def refuses(failure: Failure) -> bool:
    """Say whether a failure is the refusal of what was asked, not of the key or the pace, nor a fault."""
    status = failure.status or 0
    return 400 <= status < 500 and status not in _NOT_OF_THE_REQUEST


def is_web_page(text: str) -> bool:
    """True for what is meant for a browser."""
    return "<html" in text[:2000].lower()


def words(text: str, reason: str) -> str:
    """Return the words in an error's body.

    OpenAI, vLLM, llama.cpp: `{"error": {"message": …}}`. FastAPI: `{"detail": …}`, or under it a list of
    `{"loc": [place], "msg": …}`. Google: the first in a list. Cloudflare: `{"errors": [{"message": …}]}`.
    TensorRT-LLM, vLLM: that list in a `message`, as Python prints it. Gateways of several layers: any of these in a
    `message`. A proxy's web page: its title.

    Args:
        text: the body.
        reason: the status's own words, for a body that is empty.
    """
    if is_web_page(text):
        return text.partition("<title>")[2].partition("<")[0] or "a web page"
    try:
        return _said(msgspec.json.decode(text)) or text
    except (msgspec.DecodeError, ValueError, RecursionError):
        return text or reason


def _said(value: Any) -> str:
    match value:
        case str():
            return _printed(value) or value
        case list():
            return "; ".join(filter(None, map(_said, value[:_FAULTS_SHOWN])))
        case {"loc": [*place], "msg": str(fault)}:
            return f"{'.'.join(map(str, place))}: {fault}"
        case dict():
            return next((said for name in _WRAPPERS if (said := _said(value.get(name)))), "")
        case _:
            return ""


def _printed(message: str) -> str:
    """The faults of a list that Python printed; nothing where there are none."""
    return _said([_fault(place, said) for place, said in _PRINTED_FAULT.findall(message)[:_FAULTS_SHOWN]])


def _fault(place: str, said: str) -> dict[str, Any]:
    parts = (part.strip(" '\"") for part in place.split(","))
    return {"loc": [*filter(None, parts)], "msg": _ESCAPED.sub(r"\1", said[1:-1])}
