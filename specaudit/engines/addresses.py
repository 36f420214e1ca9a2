"""Addresses as they may be recorded."""

import re
from urllib.parse import urlsplit, urlunsplit

UNREADABLE = "(an address that cannot be read)"
"""Stands for an address whose parts cannot be told apart: any of them might be a password."""


def public_address(url: str) -> str:
    """Return an address without user name, password, query and fragment, which may hold secrets."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # `user:p/w@host` and the like show themselves by a port that is no number
    except ValueError:
        return UNREADABLE
    if parts.port is not None and "@" not in parts.netloc and "@" in url:
        return UNREADABLE  # `user:123/w@host`: the port may be the beginning of a password
    if not parts.netloc:  # no scheme, so the user name may stand anywhere before the host
        return re.split("[?#]", url, maxsplit=1)[0].rpartition("@")[2]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def same_origin(one: str, other: str) -> bool:
    """Say whether two addresses have one origin: what is meant for one is never shown to another."""
    return _origin(one) == _origin(other)


def _origin(address: str) -> tuple[str, str | None, int | None] | None:
    """Scheme, host and port, as in a browser's same-origin rule; None where they cannot be told."""
    try:
        parts = urlsplit(address)
        return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
