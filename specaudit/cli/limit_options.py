"""The options that limit what an audit may cost and how fast it may ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from specaudit.model.limits import Limits

C = TypeVar("C", bound=Callable[..., Any])

_ABOVE_ZERO = click.FloatRange(min=0, min_open=True)
_PRICE = click.FloatRange(min=0)
_COUNT = click.IntRange(min=1)

_OPTIONS = (
    click.option("--rpm", metavar="N", type=_ABOVE_ZERO, help="Send no more requests a minute."),
    click.option("--tpm", metavar="N", type=_ABOVE_ZERO, help="Prompt and generated tokens a minute, at most."),
    click.option("--price-in", metavar="X", type=_PRICE, help="Price of a million prompt tokens."),
    click.option("--price-out", metavar="X", type=_PRICE, help="Price of a million generated tokens."),
    click.option("--max-cost", metavar="X", type=_ABOVE_ZERO, help="Stop before the audit costs more."),
    click.option("--token-budget", metavar="N", type=_COUNT, help="Stop before more tokens are used, both kinds."),
    click.option("--max-requests", metavar="N", type=_COUNT, help="Stop before more requests are made."),
)

NAMES = ("rpm", "tpm", "price_in", "price_out", "max_cost", "token_budget", "max_requests")


def limit_options(command: C) -> C:
    """Give a command the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def limits_of(options: Mapping[str, Any]) -> Limits:
    """Return the limits that options set."""
    from specaudit.model.limits import Limits

    return Limits(**{name: options[name] for name in NAMES})
