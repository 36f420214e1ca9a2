"""Run the application under uvicorn until it is told to stop."""

import signal
import socket
import sys
from contextlib import suppress

import uvicorn

from specaudit.engines.embedded import home_of
from specaudit.engines.interface import Access
from specaudit.engines.reference import ReferenceEngine
from specaudit.engines.registry import build
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.plan import Arm
from specaudit.serve.app import make_app
from specaudit.serve.switches import AS_VLLM, Switches

_PATIENCE_SECONDS = 2
"""How long open connections are waited for before the server ends."""


def serve(
    engine_name: str,
    *,
    world: str | None,
    draft_tokens: int,
    host: str,
    port: int,
    model_name: str | None,
    step_seconds: float = 0.0,
    switches: Switches = AS_VLLM,
) -> None:
    """Serve an engine until SIGINT or SIGTERM, either of which ends it well: the process exits with 0.

    The world is the engine's home, and the model is named after it, unless others are given.

    Raises:
        UsageError: the engine is not one that runs in process.
        CouldNotTest: the port is taken.
    """
    engine = build(
        Arm(role="subject", engine=engine_name, world=world or home_of(engine_name), draft_tokens=draft_tokens),
        Access(),
    )
    if not isinstance(engine, ReferenceEngine):
        raise UsageError(
            f"{engine_name!r} cannot be served: it is no decoder of this process.", hint="specaudit list engines"
        )
    served = ReferenceEngine(engine.decoder, model_name=model_name, step_seconds=step_seconds)
    app = make_app(served, switches)
    listening = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    decoding = f"{draft_tokens} drafts per step" if draft_tokens else "plain decoding"
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=_PATIENCE_SECONDS, lifespan="off"
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        print(
            f"serving {served.model_name} ({engine_name}, {decoding}) at http://{shown}:{listening.getsockname()[1]}/v1",
            file=sys.stderr,
            flush=True,
        )
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """Bind before serving, so that a port of 0 is known and a taken one is said in a sentence."""
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        why = str(error.strerror).partition(" (")[0]  # create_server adds the address in its own way
        raise CouldNotTest(
            f"Cannot listen at {host}:{port}: {why}.", hint="specaudit serve --port 0 takes a free one"
        ) from error
    # Accepted connections inherit it; asyncio leaves it off on sockets it did not make, and answers then wait 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
