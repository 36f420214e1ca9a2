"""Pages recorded from running servers, and their readings."""

from pathlib import Path

from specaudit.counters.interface import Reading
from specaudit.counters.page import parse
from specaudit.counters.registry import find

FIXTURES = Path(__file__).parent / "fixtures"


def page(name: str) -> str:
    return (FIXTURES / f"{name}.prom").read_text(encoding="utf-8")


def reading(name: str) -> Reading:
    samples = parse(page(name))
    dialect = find(samples)
    assert dialect is not None
    return dialect.read(samples)
