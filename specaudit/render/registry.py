"""Output formats by name. A format is one file, registered by a line here: a function from a Report to its text."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specaudit.model.report import Report

FORMATS = {
    "html": "specaudit.render.html:render_html",
    "json": "specaudit.render.json:render_json",
    "junit": "specaudit.render.junit:render_junit",
    "github": "specaudit.render.github:render_github",
    "markdown": "specaudit.render.markdown:render_markdown",
}
"""`module:function` of every format; imported when it is used, and no sooner."""


def render(name: str, report: Report) -> str:
    """Return the report in a format, ending with a line feed; the same report gives the same text."""
    module, function = FORMATS[name].split(":")
    renderer: Callable[[Report], str] = getattr(import_module(module), function)
    return renderer(report)
