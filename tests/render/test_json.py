import json

import msgspec
import pytest

from specaudit.model.record import from_json, to_json
from specaudit.model.report import Report
from specaudit.render.json import render_json
from tests.render.reports import REPORTS


@pytest.mark.parametrize("name", REPORTS)
def test_it_is_the_report_with_its_version(name: str) -> None:
    text = render_json(REPORTS[name])
    assert text.endswith("}\n")
    assert json.loads(text)["version"] == 1
    assert from_json(text, Report) == REPORTS[name]
    assert render_json(from_json(text, Report)) == text


def test_no_control_character_is_left_in_it() -> None:
    named = msgspec.structs.replace(REPORTS["violates"], suite="\x1b[31m \x9b \x7f \u202e \u2028 é")
    text = render_json(named)
    assert r"\u001b[31m \u009b \u007f \u202e \u2028 é" in text
    assert to_json(from_json(text, Report)) == to_json(named)
    assert all(character.isprintable() or character == "\n" for character in text)
