"""`specaudit serve`."""

from typing import Any

import click


@click.command("serve")
@click.option(
    "--engine", metavar="NAME", default="reference", show_default=True, help="reference, mutant:NAME or control:NAME."
)
@click.option(
    "--draft-tokens", metavar="K", type=click.IntRange(0, 64), default=3, show_default=True, help="0 decodes plainly."
)
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one."
)
@click.option("--world", metavar="NAME", help="What is decoded.  [default: the engine's home]")
@click.option("--model-name", metavar="NAME", help="Name to serve under.  [default: the world's]")
@click.option(
    "--step-ms",
    metavar="MS",
    type=click.FloatRange(0, 60_000),
    default=0.0,
    help="Milliseconds that a step takes, beside its arithmetic.",
)
@click.option("--chat-only", is_flag=True, help="No /v1/completions.")
@click.option("--stream-only", is_flag=True, help="Refuse what is not to be streamed.")
@click.option("--no-logprobs", is_flag=True, help="Refuse logprobs.")
@click.option("--no-token-ids", is_flag=True, help="Tell no token ids, and take none as a prompt.")
@click.option("--rate-limit", metavar="N", type=click.IntRange(1), help="Requests a minute; more get 429.")
@click.option(
    "--cache",
    metavar="KEY",
    type=click.Choice(["body", "prompt"]),
    is_flag=False,
    flag_value="body",
    help="Answer from a cache what has the same body but for its seed; with =prompt, the same prompt.",
)
@click.option(
    "--fixed-temperature",
    metavar="T",
    type=click.FloatRange(0, 100),
    help="The one temperature; others are refused.",
)
@click.option("--ignore-temperature", is_flag=True, help="Ignore other temperatures, do not refuse them.")
@click.option("--reasoning", is_flag=True, help="Chat answers reason before they answer.")
@click.option("--template-date", metavar="DATE", help="Date that the chat template prints.")
@click.option("--refuse", metavar="FIELDS", default="", help="Refuse requests with these fields (comma-separated).")
def command(
    *,
    engine: str,
    draft_tokens: int,
    host: str,
    port: int,
    world: str | None,
    model_name: str | None,
    step_ms: float,
    no_logprobs: bool,
    no_token_ids: bool,
    refuse: str,
    **switches: Any,
) -> None:
    """Serve the reference decoder or a mutant as an OpenAI-compatible server with Prometheus counters.

    /v1/models, /v1/completions, /v1/chat/completions, /health and /metrics (vLLM's names). Needs the extra `serve`.
    By default it behaves as vLLM does; each switch makes it behave like a gateway that hides or forbids something.
    """
    from specaudit.model.errors import UsageError

    try:
        from specaudit.serve.server import serve
        from specaudit.serve.switches import Switches
    except ModuleNotFoundError as error:
        raise UsageError(
            f"Serving needs the package {error.name!r}, which is not installed.",
            hint="pip install 'specdec-audit[serve]', or in a checkout: pip install '.[serve]'",
        ) from error
    if switches["ignore_temperature"] and switches["fixed_temperature"] is None:
        raise UsageError(
            "--ignore-temperature needs a temperature to keep to.",
            hint="specaudit serve --fixed-temperature 0.8 --ignore-temperature",
        )
    serve(
        engine,
        world=world,
        draft_tokens=draft_tokens,
        host=host,
        port=port,
        step_seconds=step_ms / 1000,
        model_name=model_name,
        switches=Switches(
            logprobs=not no_logprobs,
            token_ids=not no_token_ids,
            refuse=tuple(field.strip() for field in refuse.split(",") if field.strip()),
            **switches,
        ),
    )
