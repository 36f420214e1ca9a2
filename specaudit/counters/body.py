"""From the bytes of a metrics page to its text: gzip, byte order marks, and what is no text at all."""

import zlib

from specaudit.counters.page import PageError

_GZIP = b"\x1f\x8b"
_LARGEST = 256 * 2**20
"""Bytes that a page may unpack to; the largest pages seen have a few million."""


def decode(body: bytes) -> str:
    """Return the text of a page.

    Args:
        body: The page as it came or was saved, packed by gzip or not.

    Raises:
        PageError: It is a broken or overlong gzip, or not UTF-8.
    """
    if body.startswith(_GZIP):
        body = _unpacked(body)
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PageError(f"the page is not UTF-8 text (byte {error.start:,})") from error


def _unpacked(body: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = unpacker.decompress(body, _LARGEST)
    except zlib.error as error:
        raise PageError(f"the page is a broken gzip file ({error})") from error
    if unpacker.unconsumed_tail:
        raise PageError(f"the page unpacks to more than {_LARGEST // 2**20} MB")
    if not unpacker.eof:
        raise PageError("the page is a gzip file that is cut off before its end")
    return text
