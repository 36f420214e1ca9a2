"""Keys of endpoints, from the environment: the only place they are taken from."""

import os
from typing import Any

from specaudit.model.errors import UsageError

_SUBJECT = ("SPECAUDIT_API_KEY", "OPENAI_API_KEY")
_REFERENCE = "SPECAUDIT_REFERENCE_API_KEY"


def keys_from_environment() -> dict[str, Any]:
    """Return the keys by their names in `Audit`.

    Raises:
        UsageError: a key cannot be sent.
    """
    return {"api_key": _key(*_SUBJECT), "reference_api_key": _key(_REFERENCE)}


def _key(*names: str) -> str | None:
    for name in names:
        if key := os.environ.get(name, "").strip():
            if not (key.isascii() and key.isprintable()):
                raise UsageError(f"{name} holds characters that no HTTP header can carry.", hint=f"export {name}=…")
            return key
    return None
