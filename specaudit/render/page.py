"""Pages of HTML that need nothing else: templates that escape what they are given, and a policy that asks for nothing.

Texts from elsewhere are made printable before and escaped here. Should one be obeyed after all, the page's own content
security policy lets no script run but the page's, and no request be sent.
"""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from specaudit.model.exhibit import Exhibit
from specaudit.render import exhibits
from specaudit.render.charts.registry import draw
from specaudit.render.charts.scale import titled
from specaudit.render.sentences import details, drafting

LONGEST = 1000
"""Characters of one text from elsewhere that are shown."""


def page(template: str, **values: Any) -> str:
    """Return a template's page; the same values give the same bytes."""
    text: str = _environment().get_template(template).render(**values)
    return text.rstrip() + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("specaudit.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = _asset("style.css"), _asset("filter.js")
    environment.globals |= {
        "style": Markup(style),
        "script": Markup(script),
        "policy": f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        "details": details,
        "drafting": drafting,
        "exhibits_of": exhibits.of_finding,
        "draw": draw,
        "heads": _heads,
        "rows": _rows,
    }
    environment.filters |= {"figure": _figure}
    return environment


def _asset(name: str) -> str:
    return files("specaudit.render").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _heads(exhibit: Exhibit) -> list[str]:
    return [titled(column.name, column.unit) for column in exhibit.columns]


def _rows(exhibit: Exhibit) -> list[tuple[str | float | None, ...]]:
    return list(zip(*(column.values for column in exhibit.columns), strict=True))


def _figure(value: str | float | None) -> str:
    """A cell of a table."""
    if isinstance(value, str):
        return value
    if value is None:
        return "–"
    return f"{int(value):,}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.4g}"
