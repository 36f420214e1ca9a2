"""Keys of endpoints, from the environment: the only place they are taken from."""

import os
from typing import Any

from specaudit.engines.headers import sendable
from specaudit.model.errors import UsageError

_SUBJECT = ("SPECAUDIT_API_KEY", "OPENAI_API_KEY")
_PLAIN = {
    "reference_api_key": "SPECAUDIT_REFERENCE_API_KEY",
    "full_precision_api_key": "SPECAUDIT_FULL_PRECISION_API_KEY",
}


def keys_from_environment() -> dict[str, Any]:
    """Return the keys by their names in `Audit`.

    Raises:
        UsageError: a key cannot be sent.
    """
    return {"api_key": _key(*_SUBJECT), **{name: _key(variable) for name, variable in _PLAIN.items()}}


def _key(*names: str) -> str | None:
    for name in names:
        key = sendable(os.environ.get(name, ""))
        if key is None:
            raise UsageError(f"{name} holds characters that no HTTP header can carry.", hint=f"export {name}=…")
        if key:
            return key
    return None
