"""Server-sent events, as far as servers of tokens use them."""

from codecs import getincrementaldecoder
from io import IncrementalNewlineDecoder


class Events:
    """Takes a stream of events apart as its bytes come, each of which is looked at once.

    Comments, which keep connections open, and fields other than `data` are passed over, and so is a byte order mark.

    Source: HTML Living Standard, 9.2.6 (interpreting an event stream).
    """

    def __init__(self) -> None:
        decoder = getincrementaldecoder("utf-8-sig")(errors="replace")
        self._decoder = IncrementalNewlineDecoder(decoder, translate=True)
        self._line: list[str] = []
        """The pieces of a line that has not ended."""
        self._data: list[str] = []
        """The lines of an event that has not ended."""

    def take(self, piece: bytes, *, last: bool = False) -> list[str]:
        """Return the data of each event that ends in the next piece of the stream.

        Args:
            piece: what came.
            last: nothing comes after it; this ends an event, too, where no empty line does.
        """
        begun, *lines = (self._decoder.decode(piece, last) + "\n\n" * last).split("\n")
        self._line.append(begun)
        found = []
        for line in lines:
            found += self._event("".join(self._line))
            self._line = [line]
        return found

    def _event(self, line: str) -> list[str]:
        """Read a whole line; the event that it ends, if any."""
        if not line and self._data:
            data, self._data = self._data, []
            return ["\n".join(data)]
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
        return []


def payloads(body: bytes) -> list[str]:
    """Return the data of each event of a whole stream."""
    return Events().take(body, last=True)
