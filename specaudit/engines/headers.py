"""What an HTTP header can carry."""


def sendable(value: str) -> str | None:
    """Return a key, or a header's value, without the line feed that it may have from a file.

    None where it holds what no header carries: all is printable ASCII (RFC 9110, 5.5).
    """
    value = value.strip()
    return value if value.isascii() and value.isprintable() else None
