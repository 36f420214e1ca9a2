"""Pages recorded from running servers or written after their sources, and their readings; see fixtures/README.md."""

import json
from pathlib import Path
from typing import Any

from specaudit.counters.interface import Reading
from specaudit.counters.read import read_page

FIXTURES = Path(__file__).parent / "fixtures"


def page(name: str) -> str:
    return (FIXTURES / f"{name}.prom").read_text(encoding="utf-8")


def reading(name: str) -> Reading:
    (only,) = read_page(page(name))
    return only


def answer(name: str) -> Any:
    return json.loads((FIXTURES / "answers" / f"{name}.json").read_text(encoding="utf-8"))
