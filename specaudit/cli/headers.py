"""Headers whose values come from the environment: the command line and settings name them, and hold no secret."""

import os

import click

from specaudit.engines.headers import is_name, sendable, settable


def secret_header(value: str) -> tuple[str, str]:
    """Read `NAME=ENVVAR` from the command line: a header's name, and its value from the environment.

    Raises:
        click.BadParameter: it is not of that form, or the header is not one to choose, or there is no such variable,
            or a header cannot carry its value.
    """
    name, _, variable = value.partition("=")
    if not is_name(name) or not variable:
        # What was typed is not repeated: it may be the secret itself.
        raise click.BadParameter("A header is named as NAME=ENVVAR, such as X-Api-Key=GATEWAY_KEY.")
    if not settable(name):
        raise click.BadParameter(f"{name} tells how a request is sent and cannot be chosen.")
    found = sendable(os.environ.get(variable, ""))
    if found == "":
        raise click.BadParameter(f"The environment variable from which the value of {name} is taken is not set.")
    if found is None:
        raise click.BadParameter(f"{variable} holds characters that no HTTP header can carry.")
    return name, found
