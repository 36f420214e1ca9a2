"""The page is whole, asks for nothing, obeys nothing that it shows, and stays small."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import msgspec
import pytest

from specaudit.model.report import Report
from specaudit.render.html import render_html
from tests.render.pages import MARKUP, every_chart, large, recorded, unusual
from tests.render.reports import NOBODY, OPTIONAL, REPORTS, VIOLATING, hostile, report


class Elements(HTMLParser):
    """Tags with their attributes, the text outside of style and script, and what these two hold."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.code: dict[str, list[str]] = {"script": [], "style": []}
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.code:
            self.code[self.open[-1]].append(data)
        else:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.mark.parametrize("name", REPORTS)
def test_the_verdict_comes_first_and_every_part_is_there(name: str) -> None:
    page = Elements(render_html(REPORTS[name]))
    heads = re.findall(r"<h2 id=\"(\w+)\"", render_html(REPORTS[name]))
    assert heads == ["verdicts", "scope", "findings", "untested", "errors", "provenance"]
    assert {link["href"] for link in page.all("a")} >= {f"#{head}" for head in heads}
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {str(link["href"])[1:] for link in page.all("a")} <= set(ids)


def test_a_finding_tells_what_it_rests_on() -> None:
    text = Elements(render_html(report(1, VIOLATING, OPTIONAL))).text
    for told in (
        VIOLATING.summary,
        "from 0.1206 to 0.2488",
        "0.05 is tolerated",
        "Witness: word '1 2 1' at depth 2",
        "Smallest deviation that would have been seen: 0.0467",
        "Reproduce it with new samples",
        VIOLATING.next_step,
        "window 3 is void: a counter fell",
        OPTIONAL.summary,
        "cd" * 32,
    ):
        assert told in text


def test_what_was_not_tested_is_told_with_its_reason() -> None:
    _, _, after = render_html(REPORTS["violates"]).partition('id="untested"')
    untested, _, _ = after.partition('id="errors"')
    assert OPTIONAL.summary in untested
    assert "<b>LAW2</b>: support" in untested
    assert "<b>LAW1</b>" not in untested
    assert "recognises an audit" in untested


def test_errors_are_told() -> None:
    scope = msgspec.structs.replace(recorded().scope, failures={"the subject: timeout, answer lost": 7})
    text = Elements(render_html(report(1, VIOLATING, lost=7, scope=scope))).text
    assert "7 requests were never answered" in text
    assert "7 attempts failed, the subject: timeout, answer lost" in text
    assert "Nothing answers at" in Elements(render_html(report(3, OPTIONAL, **NOBODY))).text


def test_every_chart_has_its_data_in_a_table() -> None:
    page = render_html(every_chart())
    assert page.count("<svg ") == page.count("<figure>") == page.count("<summary>Data: ") == 12
    figure = next(part for part in page.split("<figure>") if "Acceptance by position" in part)
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", figure)
    assert cells[:5] == ["1", "0.71", "0.69", "0.73", "0.8"]
    assert "<td>–<" in next(part for part in page.split("<figure>") if "First divergences" in part)


@pytest.mark.parametrize(
    "shown",
    [unusual(), hostile(MARKUP), hostile(MARKUP.upper()), every_chart()],
    ids=["exhibits", "texts", "loud", "usual"],
)
def test_no_text_becomes_markup(shown: Report) -> None:
    page = render_html(shown)
    elements = Elements(page)
    assert len(elements.all("script")) == len(elements.all("style")) == len(elements.all("title")) == 1
    assert not elements.all("img")
    assert not elements.all("textarea")
    for tag, attributes in elements.tags:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
        assert str(attributes.get("href", "#")).startswith(("#", "data:,"))
        assert "src" not in attributes


def test_its_policy_lets_nothing_run_but_its_own_script_and_asks_for_nothing() -> None:
    elements = Elements(render_html(recorded()))
    (policy,) = [
        meta["content"] for meta in elements.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in str(policy).split(";"))
    assert rules["default-src"] == "'none'"
    for name in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256("".join(elements.code[name]).encode()).digest()).decode()
        assert rules[f"{name}-src"] == f"'sha256-{digest}'"


def test_a_usual_page_is_small() -> None:
    assert len(render_html(recorded()).encode()) < 200_000
    assert len(render_html(every_chart()).encode()) < 200_000


def test_ten_thousand_findings_are_told_can_be_filtered_and_jumped_to() -> None:
    page = render_html(large(10_000))
    assert page.count("<article ") == 10_000
    assert page.count('<a href="#f') == 10_000 + 1  # and the jump to all of them
    assert page.count('type="search"') == 1
    assert '<main id="main" class="many">' in page


def test_few_findings_need_no_filter() -> None:
    assert 'type="search"' not in render_html(report(1, VIOLATING))


def test_a_report_of_a_first_version_has_no_scope_and_is_shown() -> None:
    assert "Scope and assumptions" in render_html(report(1, VIOLATING))
