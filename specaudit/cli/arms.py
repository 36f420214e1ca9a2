"""`--arm ROLE=URL`: plain servers beside the subject."""

from typing import Any, get_args

import click

OPTIONS = {"reference": "reference", "full-precision": "full_precision"}
"""Roles that may be given an address, and what an audit calls it."""


def plain_arm(value: str) -> tuple[str, str]:
    """Read `ROLE=URL` from the command line.

    Raises:
        click.BadParameter: it is not of that form, or there is no such role.
    """
    from specaudit.model.nearest import nearest
    from specaudit.model.plan import Role

    role, _, url = value.partition("=")
    if role in OPTIONS and url:
        return OPTIONS[role], url
    if role in OPTIONS:
        raise click.BadParameter(f"An arm is given as ROLE=URL, such as {role}=http://127.0.0.1:8002/v1.")
    if role in get_args(Role):
        own = {"subject": "--endpoint names it"}.get(role, "checks ask for it by themselves")
        raise click.BadParameter(f"{role!r} needs no --arm: {own}.")
    # What was typed is not repeated: it may be an address with a password.
    known = ", ".join(OPTIONS)
    told = nearest(role, OPTIONS) if "/" not in role else ""
    raise click.BadParameter(f"There is no such arm.{told} There are: {known}, each given as ROLE=URL.")


def arms_of(context: click.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Return the addresses that `--arm` gives, by what an audit calls them, and take the option itself out.

    Raises:
        click.UsageError: a role is given twice.
    """
    found: dict[str, Any] = {}
    for name, url in options.pop("arms", ()):
        if name in found or options.get(name) is not None:
            raise click.UsageError(f"The arm {name.replace('_', '-')} is given twice.", context)
        found[name] = url
    return {"full_precision": None} | found
