"""The HTTP client: one server, one connection pool, failures told in plain sentences, keys taken out where they enter.

Requests go straight to httpx's transport over aiohttp: httpx's own is several times slower under concurrency, and its
client takes half as long again for redirects, cookies and hooks, which are not wanted here.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import httpx
import msgspec
from httpx_aiohttp import AiohttpTransport

from specaudit.engines.addresses import public_address
from specaudit.engines.arrivals import Arrivals
from specaudit.engines.headers import sendable
from specaudit.engines.interface import Access, EngineFailure, Page
from specaudit.engines.redaction import Redaction, secret_parts
from specaudit.engines.refusals import is_web_page, words
from specaudit.engines.routes import credentials, proxy_to, trusted
from specaudit.engines.sse import payloads
from specaudit.engines.unanswered import broken_off, garbled, seconds
from specaudit.model.entries import Failure
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.version import VERSION

BUSY = (429, 503)
"""Refused before anything was generated: asking again chooses no draw."""

_SHOWN = 300
"""Characters of a server's message that are kept."""

_DONE = "[DONE]"
"""What OpenAI's streams end with."""

_CACHE_HEADERS = ("x-cache", "cf-aig-cache-status", "helicone-cache", "x-portkey-cache-status", "x-cache-status")
"""Headers in which gateways tell whether an answer is from their cache."""

_ALWAYS = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": f"specaudit/{VERSION}"}

_IDLE_SECONDS = 2.0
"""An unused connection is closed by us before common servers (5 s) close it under a request."""


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What a server answered to a POST."""

    objects: tuple[dict[str, Any], ...]
    """The JSON object, those of a list, or those of a stream, in their order."""
    streamed: bool
    listed: bool = False
    cache: str | None
    """What a cache says of itself in the headers, e.g. `x-cache: HIT`."""
    first: float | None = None
    """Seconds from sending to the first event of a stream that says something."""


class HttpClient:
    """Asks one server and turns everything that can go wrong into an EngineFailure.

    A proxy is used where HTTP_PROXY or HTTPS_PROXY names one and NO_PROXY does not spare the address.

    Args:
        address: an http(s) address; its user name and password are sent as Basic authorization instead of the
            key, and its query goes with every request.
        access: key, further headers, patience, number of connections, trusted certificates.

    Raises:
        CouldNotTest: the address is not one of HTTP.
        UsageError: the key or a header is nothing that a header can carry, or the certificates cannot be read.
    """

    def __init__(self, address: str, access: Access) -> None:
        self.where = public_address(address)
        """The address as it may be recorded."""
        url = _http_url(address, self.where)
        self._base, _, self._query = str(url.copy_with(userinfo=b"", fragment=None)).partition("?")
        key = _sendable(access.api_key or "")
        basic = base64.b64encode(f"{url.username}:{url.password}".encode()).decode() if url.userinfo else ""
        headers = {name: _sendable(value) for name, value in access.headers.items()}
        proxy = proxy_to(url)
        sent = [part for value in headers.values() for part in secret_parts(value)]
        secrets = (key, basic, url.username, url.password, *_query_values(url), *sent, *credentials(proxy))
        self._redaction = Redaction(secrets)
        authorization = f"Basic {basic}" if basic else f"Bearer {key}"
        self._transport = AiohttpTransport(
            verify=trusted(access.ca_file),
            proxy=proxy,
            limits=httpx.Limits(max_connections=access.connections, keepalive_expiry=_IDLE_SECONDS),
        )
        self._headers = _ALWAYS | ({"Authorization": authorization} if basic or key else {}) | headers
        self._extensions = {"timeout": httpx.Timeout(access.timeout, connect=10.0).as_dict()}
        self._urls: dict[str, httpx.URL] = {}
        """Of the paths that were asked for: reading a URL takes longer than sending to it."""

    async def get_json(self, path: str) -> dict[str, Any]:
        """GET a JSON object from below the address, or with a leading `/` from below the root of the server.

        Raises:
            EngineFailure: no answer, an error status, or something that is not a JSON object.
        """
        return self._json(path, _text(await self._send("GET", path)))

    async def post(self, path: str, body: Mapping[str, Any]) -> Answered:
        """POST a JSON object and return the JSON object, the list of them, or the stream of them, that is answered.

        Raises:
            EngineFailure: no answer, an error status, an error within a stream, or something that is not JSON.
        """
        arrivals = Arrivals()
        answer = await self._send("POST", path, body, arrivals)
        cache = _cache_header(answer.headers)
        cache = None if cache is None else self._redaction.data(cache)[:_SHOWN]
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            decoded = self._decoded(path, _text(answer))
            if isinstance(decoded, list) and decoded and all(isinstance(item, dict) for item in decoded):
                return Answered(objects=tuple(decoded), streamed=False, listed=True, cache=cache)
            return Answered(objects=(self._object(path, decoded),), streamed=False, cache=cache)
        objects = tuple(self._json(path, event) for event in payloads(_text(answer)) if event != _DONE)
        for event in objects:
            if event.get("error") is not None:
                said = self._told(msgspec.json.encode(event).decode(), "")
                raise EngineFailure(garbled(f"{_below(self.where, path)} broke off its stream: {said}"))
        return Answered(objects=objects, streamed=True, cache=cache, first=arrivals.first())

    async def get_page(self) -> Page:
        """GET the text page at the address.

        Raises:
            EngineFailure: no answer or an error status.
        """
        answer = await self._send("GET", "")
        headers = {name: value for name, value in answer.headers.items() if name != "set-cookie"}
        return Page(
            text=self._redaction.data(_text(answer)),
            content_type=self._redaction.data(headers.get("content-type", "")),
            headers=self._redaction.data(headers),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, arrivals: Arrivals | None = None
    ) -> httpx.Response:
        content = None if body is None else msgspec.json.encode(body)
        headers = self._headers if content is None else self._headers | {"Content-Type": "application/json"}
        if body is not None and body.get("stream") is True:
            headers = headers | {"Connection": "close"}  # llama.cpp closes it behind a stream without a word
        where = _below(self.where, path)
        try:
            request = httpx.Request(
                method, self._url(path), headers=headers, content=content, extensions=self._extensions
            )
            answer = await self._transport.handle_async_request(request)
            if arrivals is not None and isinstance(answer.stream, httpx.AsyncByteStream):
                answer.stream = arrivals.watched(answer.stream)
            try:
                await answer.aread()
            finally:
                await answer.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError, UnicodeError) as error:
            raise EngineFailure(broken_off(error, where)) from error
        if answer.status_code >= 300:
            raise EngineFailure(self._refusal(answer, where))
        return answer

    def _url(self, path: str) -> httpx.URL:
        if path not in self._urls:
            query = f"{'&' if '?' in path else '?'}{self._query}" if self._query else ""
            self._urls[path] = httpx.URL(_below(self._base, path) + query)
        return self._urls[path]

    def _refusal(self, answer: httpx.Response, where: str) -> Failure:
        status = answer.status_code
        if status < 400:
            target = self._redaction.message(public_address(answer.headers.get("location", "")))
            said = f"it redirects to {target!r}, which is not followed"
        else:
            said = self._told(_text(answer), answer.reason_phrase)
        return Failure(
            reason="status",
            message=f"{where} answered {status}: {said}{'' if said[-1] in '.!?' else '.'}",
            status=status,
            retry_after=seconds(answer.headers.get("retry-after", "")),
            lost=status >= 500 and status not in BUSY,
        )

    def _told(self, text: str, reason: str) -> str:
        return one_line(self._redaction.message(words(text, reason)))[:_SHOWN] or "no reason given"

    def _json(self, path: str, text: str) -> dict[str, Any]:
        return self._object(path, self._decoded(path, text))

    def _object(self, path: str, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            where = _below(self.where, path)
            raise EngineFailure(garbled(f"{where} answered with JSON that is not an object."))
        return data

    def _decoded(self, path: str, text: str) -> Any:
        """The JSON of a text, without keys."""
        where = _below(self.where, path)
        try:
            data = msgspec.json.decode(text)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            what = "a web page" if is_web_page(text) else "something that is not JSON"
            raise EngineFailure(garbled(f"{where} answered with {what}, not with JSON.")) from error
        return self._redaction.data(data)


def one_line(text: str) -> str:
    """Return a text on one line, without characters that would steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _http_url(address: str, where: str) -> httpx.URL:
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, UnicodeError):
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host:
        raise CouldNotTest(f"{where!r} is not an http(s) address.", hint="specaudit run --endpoint http://HOST:PORT/v1")
    return url


def _sendable(value: str) -> str:
    if (found := sendable(value)) is None:
        raise UsageError(
            "The key or a header holds a character that cannot be sent; both are printable ASCII.",
            hint="export OPENAI_API_KEY=…",
        )
    return found


def _cache_header(headers: httpx.Headers) -> str | None:
    return next((f"{name}: {headers[name]}" for name in _CACHE_HEADERS if name in headers), None)


def _query_values(url: httpx.URL) -> list[str]:
    """The values in an address's query, as they are meant and as they are written."""
    written = [field.partition("=")[2] for field in url.query.decode().split("&")]
    return [*written, *(value for _, value in url.params.multi_items())]


def _below(base: str, path: str) -> str:
    """The address of a path: below the given one, or below the root of the server where the path begins with `/`."""
    if path.startswith("/"):
        return base.rstrip("/").removesuffix("/v1") + path
    return f"{base.rstrip('/')}/{path}" if path else base


def _text(answer: httpx.Response) -> str:
    """The answer as UTF-8, which JSON and metrics pages are written in whatever their headers say."""
    return answer.content.decode("utf-8", errors="replace")
