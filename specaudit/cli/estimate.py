"""Showing what an audit will ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from specaudit.audit.audit import Audit


def show_estimate(audit: Audit, *, json: bool, **assumed: Any) -> None:
    """Print what an audit will ask; what is `assumed` goes by the names of `specaudit.audit.estimate`."""
    from specaudit.audit.estimate import estimate

    found = estimate(audit, **assumed)
    if json:
        from specaudit.render.json import render_json

        click.echo(render_json(found), nl=False)
    else:
        from rich.console import Console

        from specaudit.render.estimate import render_estimate

        click.echo(render_estimate(found, width=Console().width), nl=False)
