"""Servers of the reference decoder behind gateways that spoil its answers, all behind one socket."""

import itertools
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from specaudit.engines.reference import ReferenceEngine
from specaudit.serve.app import make_app

Told = dict[str, Any]
Spoil = Callable[[int, Told, Told], Told | Response]
"""Makes of the number of a request, its body and the answer what the gateway answers."""

Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def honest(number: int, asked: Told, told: Told) -> Told:
    """Answer as the decoder does."""
    return told


@dataclass
class Gateway:
    """Decoders behind one address, who take turns, and what is done to their answers."""

    applications: tuple[Starlette, ...]
    spoil: Spoil
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a decoder answer, and spoil the completions that it answers with."""
        if not scope["path"].endswith("completions"):
            await self.applications[0](scope, receive, send)
            return
        number, content = next(self.numbers), await HttpRequest(scope, receive).body()
        answered: list[MutableMapping[str, Any]] = []

        async def again() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        async def keep(message: MutableMapping[str, Any]) -> None:
            answered.append(message)

        await self.applications[number % len(self.applications)](scope, again, keep)
        told = json.loads(b"".join(message.get("body", b"") for message in answered[1:]))
        status = answered[0]["status"]
        made = self.spoil(number, json.loads(content), told) if status == 200 else told
        reply = made if isinstance(made, Response) else JSONResponse(made, status)
        await reply(scope, receive, send)


class BadServers:
    """Gateways by name, told apart by the first part of the path."""

    def __init__(self) -> None:
        self.address = ""
        self._gateways: dict[str, Gateway] = {}

    def add(self, spoil: Spoil, *decoders: ReferenceEngine) -> str:
        """Put decoders behind a new address, and return it: of all but its `/v1`."""
        name = str(len(self._gateways))
        self._gateways[name] = Gateway(tuple(map(make_app, decoders)), spoil)
        return f"{self.address}/{name}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find the gateway of a request."""
        name, _, rest = scope["path"].lstrip("/").partition("/")
        await self._gateways[name]({**scope, "path": f"/{rest}"}, receive, send)
