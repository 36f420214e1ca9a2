"""Output formats by name. A format is one file, registered by a line here: a function from a Report to its text."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specaudit.claims.judgement import Judgement
    from specaudit.model.report import Report

FORMATS = {
    "html": "specaudit.render.html:render_html",
    "json": "specaudit.render.json:render_json",
    "junit": "specaudit.render.junit:render_junit",
    "github": "specaudit.render.github:render_github",
    "markdown": "specaudit.render.markdown:render_markdown",
    "sarif": "specaudit.render.sarif:render_sarif",
    "intoto": "specaudit.render.intoto:render_intoto",
    "vendor-html": "specaudit.render.vendor:render_vendor_html",
    "vendor-markdown": "specaudit.render.vendor:render_vendor_markdown",
}
"""`module:function` of every format; imported when it is used, and no sooner."""


CLAIMED = ("vendor-html", "vendor-markdown")
"""Formats that tell of a claim, too, if one is given."""


def render(name: str, report: Report, *, judgement: Judgement | None = None) -> str:
    """Return the report in a format, ending with a line feed; the same report gives the same text.

    Args:
        name: Of the format.
        report: What is told.
        judgement: A judged claim; used by the formats in CLAIMED.
    """
    module, function = FORMATS[name].split(":")
    renderer: Callable[..., str] = getattr(import_module(module), function)
    return renderer(report, judgement) if name in CLAIMED else renderer(report)
