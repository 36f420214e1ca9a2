"""The page of a calibration needs nothing else, and says everything that the matrix holds."""

from html.parser import HTMLParser

import pytest

from specaudit.render.calibration_html import _shade, render_html
from tests.render.calibrations import calibration

VOID = {"meta", "br", "link"}


class Reader(HTMLParser):
    """Collects cells, and checks that what is opened is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            tag, attrs, text = self.cells[-1]
            self.cells[-1] = tag, attrs, text + data


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_is_whole_and_loads_nothing():
    page = render_html(calibration())
    reader = read(page)
    assert page.startswith("<!doctype html>")
    assert not {name for name, _ in reader.attributes} & {"src", "href", "onload", "onclick"}
    assert "http" not in page
    assert "@import" not in page
    assert "url(" not in page
    assert page == render_html(calibration())


def test_every_cell_of_the_matrix_is_there_with_its_finding():
    cells = read(render_html(calibration())).cells
    kills = [(attrs["title"], text) for _, attrs, text in cells if attrs.get("class") == "kill"]
    assert kills[0] == ("Tokens & words differ. 2.2 × Stein.", "432")
    assert [text for _, text in kills] == ["432", "12,345", "100", "99"]
    marks = {attrs["class"]: text for _, attrs, text in cells if attrs.get("class") in ("conforms", "inconclusive")}
    assert marks == {"conforms": "conforms", "inconclusive": "open"}
    (crashed,) = [attrs["title"] for _, attrs, _ in cells if attrs.get("class") == "crashed"]
    assert crashed == "ValueError: <b>\\x1b[31mboom</b>"


def test_headings_span_the_levels_of_a_check():
    cells = read(render_html(calibration())).cells
    spans = {text: attrs["colspan"] for tag, attrs, text in cells if tag == "th" and "colspan" in attrs}
    assert spans == {"LAW1": "2", "CTR1": "1"}


def test_what_is_not_as_it_should_be_stands_out():
    cells = read(render_html(calibration())).cells
    assert [text for _, attrs, text in cells if attrs.get("class") == "bad"] == ["BROKEN", "slower"]
    assert "Not as it should be" in render_html(calibration())
    assert "Not as it should be" not in render_html(calibration(passed=True))


def test_sections_without_rows_are_left_out():
    page = render_html(calibration(methods=(), speeds=()))
    assert "False alarms" not in page
    assert "Tokens to a verdict by betting" not in page


@pytest.mark.parametrize(("tokens", "lightness"), [(0, 24), (100, 24), (10**4, 38), (10**8, 48)])
def test_the_fewer_tokens_the_darker(tokens, lightness):
    assert _shade(tokens) == f"hsl(4 62% {lightness}%)"
