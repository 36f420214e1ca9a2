"""How servers are asked: the options that `specaudit run` and `doctor` share."""

from pathlib import Path

import click

from specaudit.cli.headers import secret_header

model_option = click.option("--model", metavar="NAME", help="Model to ask for.  [default: the first that is served]")

header_option = click.option(
    "--header",
    "headers",
    metavar="NAME=ENVVAR",
    type=secret_header,
    multiple=True,
    help="Send a header with the value of an environment variable to the endpoint (repeatable).",
)

ca_file_option = click.option(
    "--ca-file", metavar="PATH", type=click.Path(path_type=Path), help="Certificates to trust (PEM).  [default: usual]"
)

tokenizer_option = click.option(
    "--tokenizer", metavar="PATH", help="tokenizer.json, or JSON of token texts and ids, for servers that tell none."
)

timeout_option = click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(0.1, 86_400),
    default=120.0,
    show_default=True,
    help="Silence after which an answer is given up.",
)
