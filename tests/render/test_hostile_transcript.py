"""What an engine answers is shown and obeyed nowhere: from its tokens, through a check, to every format."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from specaudit.audit.analyse import analyse
from specaudit.model.evidence import Evidence
from specaudit.model.plan import PlannedRequest, Stage
from specaudit.model.report import Report
from specaudit.model.request import GREEDY, Request
from specaudit.render.registry import FORMATS, render
from specaudit.render.terminal import render_terminal
from tests.model.builders import answer, attempt, evidence, plan

TOKENS = {
    "script": "<script>window.hacked=1</script><img src=x onerror=alert(1)>",
    "direction": "\u202egnp.exe\u2066\u200f\u061c",
    "escapes": "\x1b[2J\x1b]0;title\x07\x1b]8;;http://evil.example\x1b\\link\x9b31m",
    "nought": "a\x00b\x00",
    "megabyte": "A" * 1_000_000,
    "workflow": "\n::error title=t::m\n##[add-mask]m %0A",
    "markdown": "](http://evil.example) <b>@octocat</b> | `code` $x$ http://evil.example",
    "xml": "]]></failure><failure/>&lt;\ufffe",
    "template": "{{ 7*7 }}{% include 'x' %}",
}


def judged(token: str) -> Report:
    """A greedy completion that differs from the plain one by a token of that text."""
    head = plan("GRD1", {"prompts": 1})
    request = Request(prompt=token, sampling=GREEDY, seed=0, max_tokens=2)
    asked = tuple(PlannedRequest(arm=role, prompt_index=0, request=request) for role in ("subject", "reference"))
    stage = Stage(name="GRD1", blocks=(asked,))
    answers = [attempt("GRD1", 0, answer((token, "b"))), attempt("GRD1", 1, answer(("a", "b")))]
    found: Evidence = evidence(stage, answers, header=head)
    return analyse(found)


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("form", FORMATS)
def test_it_is_inert_in_every_format(form: str, name: str) -> None:
    text = render(form, judged(TOKENS[name]))
    assert all(character.isprintable() or character in "\n\t" for character in text)
    text.encode()
    if form.endswith("html"):
        assert text.count("<script>") == 1
        assert "<img" not in text
        assert len(text) < 100_000
    if form in ("github", "markdown", "vendor-markdown"):
        assert not re.search(r"^(::error title=t|##\[)", text, re.MULTILINE)
    if form in ("markdown", "vendor-markdown"):
        assert "<b>" not in text
        assert "<script>" not in text.replace("\\<", "")
    if form == "junit":
        assert len(list(ElementTree.fromstring(text.encode()).iter("failure"))) <= 1


@pytest.mark.parametrize("name", TOKENS)
def test_it_is_inert_at_a_terminal(name: str) -> None:
    text = render_terminal(judged(TOKENS[name]), folder="out", color=False)
    assert all(character.isprintable() or character == "\n" for character in text)


def test_it_is_told_at_all() -> None:
    assert "window.hacked=1" in render("html", judged(TOKENS["script"]))
    assert "\\u202egnp.exe" in render("html", judged(TOKENS["direction"]))
