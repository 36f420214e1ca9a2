"""The vendor's report has every part, in both forms, and quotes the claim that it verifies."""

import re

import msgspec
import pytest

from specaudit.checks import registry as checks
from specaudit.render.docstrings import paragraphs
from specaudit.render.registry import render
from tests.render.pages import every_chart, judged, large, recorded
from tests.render.reports import REPORTS

PARTS = ["Claim", "Environment", "Method", "Findings", "Limits", "Reproduction", "Provenance", "The vendor's answer"]


@pytest.mark.parametrize("name", REPORTS)
def test_every_part_is_there_in_both_forms(name: str) -> None:
    shown = msgspec.structs.replace(REPORTS[name], scope=recorded().scope)
    assert re.findall(r"^## (.*)$", render("vendor-markdown", shown), re.MULTILINE) == PARTS
    heads = re.findall(r"<h2 [^>]*>(.*?)</h2>", render("vendor-html", shown))
    assert [head.replace("&#39;", "'") for head in heads] == PARTS


@pytest.mark.parametrize("form", ["vendor-html", "vendor-markdown"])
def test_it_says_what_is_verified_how_and_how_to_do_it_again(form: str) -> None:
    shown = every_chart()
    text = render(form, shown).replace("\\", "")
    assert "No claim was given." in text
    assert "at temperature 0 the subject emits token for token what the plain target emits" in text
    assert shown.scope is not None
    assert shown.scope.again in text
    assert "specaudit verify DIR" in text
    assert "To be filled in by the vendor" in text


@pytest.mark.parametrize("form", ["vendor-html", "vendor-markdown"])
def test_a_claim_is_quoted_and_ruled_on(form: str) -> None:
    one = judged()
    text = render(form, every_chart(), judgement=one).replace("\\", "")
    assert one.claim.wording[:40] in text
    assert f"It is {one.ruling.value}." in text
    assert "No claim was given." not in text


def test_charts_are_drawn_on_the_page() -> None:
    assert render("vendor-html", every_chart()).count("<svg ") == 12


def test_of_very_many_findings_the_first_are_told_in_full() -> None:
    text = render("vendor-markdown", large(1000))
    assert text.count("| LAW1.") == 250 + 250  # violations and those undecided, all in the table
    assert len(text) < 400_000


@pytest.mark.parametrize("check_id", checks.locations())
def test_every_check_says_what_it_demands_by_its_parts(check_id: str) -> None:
    found = paragraphs(check_id)
    assert {"Requirement", "Assumptions", "Source", "Kills"} <= set(found)
    assert "Statistic" in found or "Method" in found
    assert all("\n" not in text for text in found.values())


def test_a_check_that_is_not_installed_says_nothing() -> None:
    assert paragraphs("XXX9") == {}
