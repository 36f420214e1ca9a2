"""`specaudit explain`."""

import click

_WIDEST = 100
"""Columns that a paragraph is easily read in, however wide the terminal."""


@click.command("explain")
@click.argument("check")
def command(*, check: str) -> None:
    """Say what CHECK demands, its null hypothesis, statistic, assumptions and source."""
    import inspect
    import shutil

    from specaudit.checks import registry

    text = inspect.getdoc(type(registry.get(check.upper()))) or ""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    click.echo(click.wrap_text(text, width, preserve_paragraphs=True))
