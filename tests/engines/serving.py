"""Real servers for tests: uvicorn in a thread, and raw sockets that break HTTP on purpose."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from specaudit.engines.interface import Access, EngineFailure, Probe
from specaudit.engines.manner import Manner
from specaudit.engines.pace import Pacer
from specaudit.engines.server import ServerEngine
from specaudit.model.completion import Response as Answer
from specaudit.model.entries import Failure
from specaudit.model.errors import CouldNotTest
from specaudit.model.limits import UNLIMITED
from specaudit.model.plan import Api
from specaudit.model.request import Request, Sampling
from specaudit.prompts.tokenizers import Tokenizer
from tests.audit.clocks import Clock

FIXTURES = Path(__file__).parent / "fixtures"

Body = dict[str, Any]
Reply = Response | Callable[[Body], Response]


def recorded(name: str) -> Any:
    """An answer recorded from a running server."""
    return json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))


@contextmanager
def running(app: Any, **options: Any) -> Iterator[str]:
    """Serve an application on a free port; gives its address, without a path."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    config = uvicorn.Config(app, log_level="critical", access_log=False, timeout_graceful_shutdown=1, **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=10)
    assert not thread.is_alive()


@dataclass
class Odd:
    """One server of odd behaviour, and what it was asked."""

    address: str
    models: Reply
    completions: Reply
    bodies: list[Body] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)


class OddServers:
    """Many odd servers behind one socket, told apart by the first part of the path."""

    def __init__(self) -> None:
        self.address = ""
        self._servers: list[Odd] = []
        self.app = Starlette(routes=[Route("/{number:int}/v1/{what:path}", self._reply, methods=["GET", "POST"])])

    def __call__(self, *, models: Reply | None = None, completions: Reply | None = None) -> Odd:
        """Start one that lists the model `toy` and completes honestly, but for what is given."""
        odd = Odd(
            address=f"{self.address}/{len(self._servers)}/v1",
            models=models or JSONResponse({"data": [{"id": "toy"}]}),
            completions=completions or (lambda body: JSONResponse(completion(body))),
        )
        self._servers.append(odd)
        return odd

    async def _reply(self, request: HttpRequest) -> Response:
        odd = self._servers[request.path_params["number"]]
        odd.headers.append(dict(request.headers))
        odd.queries.append(request.url.query)
        content = await request.body()
        body = json.loads(content) if content else {}
        if request.path_params["what"].endswith("completions"):
            odd.bodies.append(body)
            reply = odd.completions
        else:
            reply = odd.models
        return reply if isinstance(reply, Response) else reply(body)


FIRST = 12
"""Tokens that an honest answer always begins with."""


def completion(body: Body, *, logprobs: bool = True) -> Body:
    """An honest answer: tokens 1, 2, …, later ones by chance, and as many most likely tokens as were asked for."""
    cap = body["max_tokens"] if "max_tokens" in body else body["max_completion_tokens"]
    chance = body.get("seed", 0) % 97 if body.get("temperature", 1) else 0
    tokens = [token if token <= FIRST else token + chance for token in range(1, cap + 1)]
    choice: Body = {"text": "ab", "finish_reason": "length", "token_ids": tokens, "logprobs": None}
    if logprobs and body.get("logprobs") is not None:
        top = {f"token_id:{token}": -1.0 - token for token in range(1, body["logprobs"] + 1)}
        choice["logprobs"] = {
            "tokens": [f"token_id:{token}" for token in tokens],
            "token_logprobs": [-1.0 - token for token in tokens],
            "top_logprobs": [top] * len(tokens),
        }
    return {"choices": [{"index": index, **choice} for index in range(body.get("n", 1))], "usage": {}}


def text(content: str, status: int = 200, **headers: str) -> Response:
    """A reply of any text that claims to be JSON."""
    return Response(content, status_code=status, headers={"content-type": "application/json", **headers})


@asynccontextmanager
async def raw(
    behave: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[str]:
    """A server below HTTP; gives its address."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await behave(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def read_request(reader: asyncio.StreamReader) -> None:
    """Read one request to its end."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = [line.partition(":")[2] for line in head.split("\r\n") if line.startswith("content-length:")]
    if length:
        await reader.readexactly(int(length[0]))


def closed_address() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


def a_request(**changes: Any) -> Request:
    return Request(**{"prompt": "The", "sampling": Sampling(), "seed": 7, "max_tokens": 2, **changes})


def body_of(manner: Manner, **changes: Any) -> Body:
    """What is sent for a request."""
    return manner.body(manner.fields(a_request(**changes)))


async def probing(
    address: str,
    *,
    key: str | None = None,
    model: str | None = None,
    api: Api = "completions",
    tokenizer: Tokenizer | None = None,
    timeout: float = 5.0,
) -> Probe:
    clock = Clock()  # nobody waits for a busy server
    pacer = Pacer(UNLIMITED, clock=clock, sleep=clock.sleep)
    access = Access(api_key=key, timeout=timeout, pacer=pacer)
    engine = ServerEngine(address, manner=Manner(model=model, api=api), access=access, tokenizer=tokenizer)
    try:
        return await engine.probe()
    finally:
        await engine.close()


async def completing(address: str, request: Request, *, key: str | None = None, timeout: float = 5.0) -> Answer:
    engine = ServerEngine(address, manner=Manner(model="toy"), access=Access(api_key=key, timeout=timeout))
    try:
        return await engine.complete(request)
    finally:
        await engine.close()


def probe(address: str, **options: Any) -> Probe:
    return asyncio.run(probing(address, **options))


def complete(address: str, request: Request | None = None, **options: Any) -> Answer:
    return asyncio.run(completing(address, request or a_request(), **options))


def not_tested(address: str, **options: Any) -> CouldNotTest:
    """The error that ends the probe of a server."""
    with pytest.raises(CouldNotTest) as caught:
        probe(address, **options)
    assert caught.value.message == " ".join(caught.value.message.split())
    return caught.value


def failure(address: str, request: Request | None = None, **options: Any) -> Failure:
    """The failure that a request meets."""
    with pytest.raises(EngineFailure) as caught:
        complete(address, request, **options)
    assert caught.value.failure.message == " ".join(caught.value.failure.message.split())
    return caught.value.failure
