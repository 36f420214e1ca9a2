"""`specaudit serve`."""

import click


@click.command("serve")
@click.option("--engine", metavar="NAME", default="reference", show_default=True, help="reference or mutant:NAME.")
@click.option(
    "--draft-tokens", metavar="K", type=click.IntRange(0, 64), default=3, show_default=True, help="0 decodes plainly."
)
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one."
)
@click.option("--model-name", metavar="NAME", default="markov4", show_default=True, help="Name to serve under.")
def command(*, engine: str, draft_tokens: int, host: str, port: int, model_name: str) -> None:
    """Serve the reference decoder or a mutant as an OpenAI-compatible server with Prometheus counters.

    /v1/models, /v1/completions, /health and /metrics (vLLM's names). Needs the extra `serve`.
    """
    try:
        from specaudit.serve.server import serve
    except ModuleNotFoundError as error:
        from specaudit.model.errors import UsageError

        raise UsageError(
            f"Serving needs the package {error.name!r}, which is not installed.",
            hint="pip install 'specdec-audit[serve]', or in a checkout: pip install '.[serve]'",
        ) from error
    serve(engine, draft_tokens=draft_tokens, host=host, port=port, model_name=model_name)
