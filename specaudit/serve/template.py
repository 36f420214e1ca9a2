"""The chat template of a decoder whose tokens are letters: role markers and contents become tokens of the prompt."""

from collections.abc import Sequence

import msgspec

ROLES = ("system", "user", "assistant")


class Message(msgspec.Struct, kw_only=True):
    """One turn of a conversation."""

    role: str
    content: str = ""


def rendered(messages: Sequence[Message], *, date: str | None) -> str:
    """Return a conversation as the text that is tokenized: a letter for each role, then what was said.

    The last letter invites the assistant. Where the template prints a date, it stands at the very beginning, as in
    Llama's: the prompt's tokens, and their number, then depend on the day.

    Raises:
        ValueError: there is no message, or one in a role that the template does not have.
    """
    if not messages:
        raise ValueError("messages must not be empty")
    for message in messages:
        if message.role not in ROLES:
            raise ValueError(f"the chat template has no role {message.role!r}")
    turns = "".join(_marker(message.role) + message.content for message in messages)
    return ("" if date is None else _marker("system") + date) + turns + _marker("assistant")


def _marker(role: str) -> str:
    return chr(ord("a") + ROLES.index(role))
