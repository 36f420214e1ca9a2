"""The routes: `/v1/models`, `/v1/completions`, `/v1/chat/completions`, `/health` and `/metrics`."""

import itertools
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from specaudit.engines.interface import EngineFailure
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.record import to_json
from specaudit.serve.answers import Style, answer, error
from specaudit.serve.cache import AnswerCache
from specaudit.serve.forms import ChatForm, CompletionForm, Form
from specaudit.serve.limits import RateLimit
from specaudit.serve.stream import events
from specaudit.serve.switches import AS_VLLM, Refused, Switches

_FIRST_UNSEEDED = 1 << 62
"""Where the seeds of requests without one begin: far from any that a client would choose."""


def make_app(engine: ReferenceEngine, switches: Switches = AS_VLLM) -> Starlette:
    """Return the application that serves one engine."""
    service = Service(engine, switches)
    routes = [
        Route("/v1/models", service.models),
        Route("/v1/chat/completions", service.chat, methods=["POST"]),
        Route("/health", service.health),
        Route("/metrics", service.metrics),
    ]
    if not switches.chat_only:
        routes.append(Route("/v1/completions", service.completions, methods=["POST"]))
    return Starlette(routes=routes)


class Service:
    """Answers HTTP requests from one engine, as the switches say."""

    def __init__(self, engine: ReferenceEngine, switches: Switches) -> None:
        self._engine = engine
        self._switches = switches
        self._created = int(time.time())
        self._numbers = itertools.count(1)
        self._unseeded = _FIRST_UNSEEDED
        self._limit = RateLimit(switches.rate_limit) if switches.rate_limit else None
        self._cache = AnswerCache(switches.cache) if switches.cache else None

    async def models(self, request: HttpRequest) -> Response:
        """List the one model, with its vocabulary size: an auditor may want token-id prompts."""
        model = {
            "id": self._engine.model_name,
            "object": "model",
            "created": self._created,
            "owned_by": "specaudit",
        }
        if self._switches.token_ids:
            model["vocab_size"] = self._engine.vocabulary_size
        return _json({"object": "list", "data": [model]})

    async def completions(self, request: HttpRequest) -> Response:
        """Complete one or several prompts."""
        return await self._generate(request, CompletionForm)

    async def chat(self, request: HttpRequest) -> Response:
        """Answer a conversation."""
        return await self._generate(request, ChatForm)

    async def health(self, request: HttpRequest) -> Response:
        """Say that the server is up."""
        return Response(status_code=200)

    async def metrics(self, request: HttpRequest) -> Response:
        """Show the counters."""
        page = await self._engine.scrape()
        return Response(page.text, headers={"content-type": page.content_type})

    async def _generate(self, request: HttpRequest, kind: type[Form]) -> Response:
        if self._limit is not None and (seconds := self._limit.retry_after()) is not None:
            message = f"Rate limit reached: {self._switches.rate_limit} requests per minute."
            limited = _json(error(message, "RateLimitError", 429), 429)
            limited.headers["retry-after"] = str(seconds)
            return limited
        try:
            content = await request.body()
            form = msgspec.json.decode(content, type=kind)
            body = msgspec.json.decode(content)
            if form.model != self._engine.model_name:
                return self._not_served(form.model)
            self._switches.admit(form, body)
            told, cached = await self._told(form, body)
        except Refused as refused:
            return _json(error(refused.message, "BadRequestError", 400, param=refused.param), 400)
        except (msgspec.DecodeError, ValueError, RecursionError, EngineFailure) as wrong:
            return _json(error(str(wrong), "BadRequestError", 400), 400)
        headers = {} if self._cache is None else {"x-cache": "HIT" if cached else "MISS"}
        if not form.stream:
            return _json(told, headers=headers)
        with_usage = form.stream_options is not None and form.stream_options.include_usage
        sent = events(told, include_usage=with_usage)
        return StreamingResponse(sent, media_type="text/event-stream", headers=headers)

    async def _told(self, form: Form, body: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """Return what is answered, and whether it was answered before."""
        if self._cache is not None and (found := self._cache.find(body)) is not None:
            return found, True
        temperature = self._switches.fixed_temperature
        if temperature is not None:
            form.temperature = temperature
        if isinstance(form, ChatForm):
            asked = form.requests(unseeded=self._unseeded, date=self._switches.template_date)
        else:
            asked = form.requests(unseeded=self._unseeded)
        for one in asked:  # all before any: what is refused must not have been counted
            self._engine.admit(one)
        self._unseeded += len(asked) * form.n
        responses = [await self._engine.complete(one) for one in asked]
        style = Style(
            token_ids=self._switches.token_ids,
            reasoning_ends_with=self._engine.vocabulary_size - 1 if self._switches.reasoning else None,
        )
        told = answer(form, responses, identity=str(next(self._numbers)), created=int(time.time()), style=style)
        if self._cache is not None:
            self._cache.keep(body, told)
        return told, False

    def _not_served(self, model: str) -> Response:
        message = f"The model `{model}` does not exist. Valid aliases: {self._engine.model_name}."
        return _json(error(message, "NotFoundError", 404, param="model"), 404)


def _json(value: object, status: int = 200, *, headers: Mapping[str, str] | None = None) -> Response:
    return Response(to_json(value), status_code=status, media_type="application/json", headers=headers)
