"""SVG markup: every text that is put into it is escaped, and nothing in it is obeyed."""

from collections.abc import Sequence
from html import escape

from markupsafe import Markup

WIDTH = 420.0
"""Units across a drawing; a page of 360 pixels shows them at three quarters of a pixel each."""

_LETTER = 6.7
"""Width of a letter of a label, on average."""

_LONGEST = 60
"""Letters of any text that are written."""


class Canvas:
    """A drawing that grows by shapes; y runs downwards. Kinds are classes of the page's style sheet.

    Args:
        height: Units.
        title: What is drawn; read to whoever cannot see it, with what is described.
        description: What there is to see, in sentences.
    """

    def __init__(self, height: float, title: str, description: str) -> None:
        label = escape(f"{title}. {description}")
        self._parts = [f'<svg viewBox="0 0 {_number(WIDTH)} {_number(height)}" role="img" aria-label="{label}">']

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """Draw a line."""
        ends = f'x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}"'
        self._parts.append(f'<line class="{kind}" {ends}/>')

    def rect(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        """Draw a rectangle."""
        size = f'width="{_number(max(0.0, width))}" height="{_number(max(0.0, height))}"'
        self._parts.append(f'<rect class="{kind}" x="{_number(x)}" y="{_number(y)}" {size}/>')

    def circle(self, x: float, y: float, radius: float, kind: str) -> None:
        """Draw a circle."""
        self._parts.append(f'<circle class="{kind}" cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}"/>')

    def polyline(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        """Draw a line through points."""
        places = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
        self._parts.append(f'<polyline class="{kind}" points="{places}"/>')

    def text(self, x: float, y: float, text: str, *, kind: str = "", anchor: str = "start") -> None:
        """Write one line; a long text is cut."""
        place = f'x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}"'
        self._parts.append(f'<text class="{kind}" {place}>{escape(shortened(text, _LONGEST))}</text>')

    def upright(self, x: float, y: float, text: str) -> None:
        """Write one line that runs upwards, centred at a place."""
        turned = f'text-anchor="middle" transform="translate({_number(x)} {_number(y)}) rotate(-90)"'
        self._parts.append(f'<text class="axis-title" {turned}>{escape(shortened(text, _LONGEST))}</text>')

    def markup(self) -> Markup:
        """Return the drawing."""
        return Markup("".join([*self._parts, "</svg>"]))


def margin(labels: Sequence[str], most: int) -> float:
    """Return the room that labels of so many characters at most take at the left, each at its axis."""
    return 18 + _LETTER * min(most, max(map(len, labels), default=0))


def shortened(text: str, most: int) -> str:
    """Return a label of so many characters at most."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
