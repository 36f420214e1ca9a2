"""The report as versioned JSON, for machines."""

import msgspec

from specaudit.model.record import Record, to_json
from specaudit.render.printable import printable_json


def render_json(report: Record) -> str:
    """Return the record as indented JSON; the same record gives the same bytes."""
    return printable_json(msgspec.json.format(to_json(report), indent=2).decode()) + "\n"
