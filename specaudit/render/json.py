"""The report as versioned JSON, for machines."""

import msgspec

from specaudit.model.record import to_json
from specaudit.model.report import Report
from specaudit.render.printable import printable_json


def render_json(report: Report) -> str:
    """Return the report as indented JSON; the same report gives the same bytes."""
    return printable_json(msgspec.json.format(to_json(report), indent=2).decode()) + "\n"
