"""The routes: `/v1/models`, `/v1/completions`, `/health` and `/metrics`."""

import itertools
import time

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from specaudit.engines.interface import EngineFailure
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.record import to_json
from specaudit.serve.forms import CompletionForm, answer, error

_FIRST_UNSEEDED = 1 << 62
"""Where the seeds of requests without one begin: far from any that a client would choose."""


def make_app(engine: ReferenceEngine) -> Starlette:
    """Return the application that serves one engine."""
    service = Service(engine)
    return Starlette(
        routes=[
            Route("/v1/models", service.models),
            Route("/v1/completions", service.completions, methods=["POST"]),
            Route("/health", service.health),
            Route("/metrics", service.metrics),
        ]
    )


class Service:
    """Answers HTTP requests from one engine."""

    def __init__(self, engine: ReferenceEngine) -> None:
        self._engine = engine
        self._created = int(time.time())
        self._numbers = itertools.count(1)
        self._unseeded = _FIRST_UNSEEDED

    async def models(self, request: HttpRequest) -> Response:
        """List the one model, with its vocabulary size: an auditor may want token-id prompts."""
        model = {
            "id": self._engine.model_name,
            "object": "model",
            "created": self._created,
            "owned_by": "specaudit",
            "vocab_size": self._engine.vocabulary_size,
        }
        return _json({"object": "list", "data": [model]})

    async def completions(self, request: HttpRequest) -> Response:
        """Complete one or several prompts."""
        try:
            form = msgspec.json.decode(await request.body(), type=CompletionForm)
            if form.model != self._engine.model_name:
                return self._not_served(form.model)
            if form.stream:
                return _bad_request("This server does not stream; leave out stream or set it to false.")
            asked = form.requests(unseeded=self._unseeded)
            for one in asked:  # all before any: what is refused must not have been counted
                self._engine.admit(one)
            self._unseeded += len(asked) * form.n
            responses = [await self._engine.complete(one) for one in asked]
        except (msgspec.DecodeError, ValueError, RecursionError, EngineFailure) as wrong:
            return _bad_request(str(wrong))
        identity = f"cmpl-{next(self._numbers)}"
        return _json(answer(form, responses, identity=identity, created=int(time.time())))

    async def health(self, request: HttpRequest) -> Response:
        """Say that the server is up."""
        return Response(status_code=200)

    async def metrics(self, request: HttpRequest) -> Response:
        """Show the counters."""
        page = await self._engine.scrape()
        return Response(page.text, headers={"content-type": page.content_type})

    def _not_served(self, model: str) -> Response:
        message = f"The model `{model}` does not exist. Valid aliases: {self._engine.model_name}."
        return _json(error(message, "NotFoundError", 404, param="model"), 404)


def _bad_request(message: str) -> Response:
    return _json(error(message, "BadRequestError", 400), 400)


def _json(value: object, status: int = 200) -> Response:
    return Response(to_json(value), status_code=status, media_type="application/json")
