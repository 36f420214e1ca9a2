"""The HTTP client: one server, one connection pool, failures told in plain sentences, keys taken out where they enter.

It is aiohttp's own: httpx around it takes time for redirects, cookies and hooks, which are not wanted here. Neither are
aiohttp's cookies: no request depends on another.
"""

import time
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import msgspec
from yarl import URL

from specaudit.engines.addresses import public_address
from specaudit.engines.arrivals import read_as_it_comes
from specaudit.engines.headers import sendable, settable
from specaudit.engines.interface import Access, EngineFailure, Page
from specaudit.engines.redaction import Redaction, secret_parts
from specaudit.engines.refusals import is_web_page, words
from specaudit.engines.routes import basic_of, credentials, proxy_to, trusted, web_address
from specaudit.engines.sse import payloads
from specaudit.engines.unanswered import broken_off, garbled, seconds
from specaudit.model.entries import Failure
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.version import VERSION

BUSY = (429, 503)
"""Refused before anything was generated: asking again chooses no draw."""

_SHOWN = 300
"""Characters of a server's message that are kept."""

_STREAM = "text/event-stream"

_DONE = "[DONE]"
"""What OpenAI's streams end with."""

_CACHE_HEADERS = ("x-cache", "cf-aig-cache-status", "helicone-cache", "x-portkey-cache-status", "x-cache-status")
"""Headers in which gateways tell whether an answer is from their cache."""

_ALWAYS = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": f"specaudit/{VERSION}"}

_CONNECT_SECONDS = 10.0

_IN_ALL = 15
"""Times the patience without a byte that an answer may take: comments come for ever, and so may early hints."""

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


class _Answer(NamedTuple):
    """An answer of which the body has come."""

    told: aiohttp.ClientResponse
    body: bytes
    streamed: bool
    first: float | None

    @property
    def text(self) -> str:
        """The body as UTF-8, which JSON and metrics pages are written in whatever their headers say."""
        return self.body.removeprefix(BOM_UTF8).decode(errors="replace")

    def header(self, name: str) -> str:
        """The values of a header, nothing where it is not there."""
        return _unescaped(", ".join(self.told.headers.getall(name, ())))


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
        url = web_address(address)
        if url is None:
            raise CouldNotTest(
                f"{self.where!r} is not an http(s) address.", hint="specaudit run --endpoint http://HOST:PORT/v1"
            )
        self._base, _, self._query = str(url.with_user(None).with_fragment(None)).partition("?")
        key, basic = _sendable(access.api_key or ""), basic_of(url)
        if not all(map(settable, access.headers)):
            raise UsageError("A header that was given is no name, or tells how a request is sent.")
        headers = {name: _sendable(value) for name, value in access.headers.items()}
        self._proxy = proxy_to(url)
        sent = [part for value in headers.values() for part in secret_parts(value)]
        own = (key, basic, url.user or "", url.password or "", *_query_values(address, url))
        self._redaction = Redaction((*own, *sent, *credentials(self._proxy)))
        authorization = f"Basic {basic}" if basic else f"Bearer {key}"
        usual = _ALWAYS | ({"Authorization": authorization} if basic or key else {})
        given = set(map(str.lower, headers))
        self._headers = {name: value for name, value in usual.items() if name.lower() not in given} | headers
        self._trusted = trusted(access.ca_file)
        self._connections, self._seconds = access.connections, access.timeout
        self._session: aiohttp.ClientSession | None = None
        """Opened by the first request, since it belongs to the loop that runs then."""
        self._urls: dict[str, URL] = {}
        """Of the paths that were asked for: reading a URL takes longer than sending to it."""

    async def get_json(self, path: str) -> dict[str, Any]:
        """GET a JSON object from below the address, or with a leading `/` from below the root of the server.

        Raises:
            EngineFailure: no answer, an error status, or something that is not a JSON object.
        """
        return self._json(path, (await self._send("GET", path)).text)

    async def post(self, path: str, body: Mapping[str, Any]) -> Answered:
        """POST a JSON object and return the JSON object, the list of them, or the stream of them, that is answered.

        Raises:
            EngineFailure: no answer, an error status, an error within a stream, or something that is not JSON.
        """
        answer = await self._send("POST", path, body)
        said = next((f"{name}: {answer.header(name)}" for name in _CACHE_HEADERS if name in answer.told.headers), None)
        cache = None if said is None else self._redaction.data(said)[:_SHOWN]
        if not answer.streamed:
            decoded = self._decoded(path, answer.text)
            if isinstance(decoded, list) and decoded and all(isinstance(item, dict) for item in decoded):
                return Answered(objects=tuple(decoded), streamed=False, listed=True, cache=cache)
            return Answered(objects=(self._object(path, decoded),), streamed=False, cache=cache)
        events = [event for event in payloads(answer.body) if event.strip() not in ("", _DONE)]
        objects = tuple(self._json(path, event) for event in events)
        for event in objects:
            if event.get("error") is not None:
                said = self._told(msgspec.json.encode(event).decode(), "")
                raise EngineFailure(garbled(f"{_below(self.where, path)} broke off its stream: {said}"))
        return Answered(objects=objects, streamed=True, cache=cache, first=answer.first)

    async def get_page(self) -> Page:
        """GET the text page at the address.

        Raises:
            EngineFailure: no answer or an error status.
        """
        answer = await self._send("GET", "")
        headers = {name: answer.header(name) for name in map(str.lower, answer.told.headers) if name != "set-cookie"}
        return Page(
            text=self._redaction.data(answer.text),
            content_type=self._redaction.data(answer.header("content-type")),
            headers=self._redaction.data(headers),
        )

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> "_Answer":
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if content is None else {"Content-Type": "application/json"}
        if body is not None and body.get("stream") is True:
            headers["Connection"] = "close"  # llama.cpp closes it behind a stream without a word
        proxy, proxy_headers = self._proxy or (None, None)
        where = _below(self.where, path)
        began = time.perf_counter()
        try:
            async with self._opened().request(
                method,
                self._url(path),
                data=content,
                headers=headers,
                allow_redirects=False,
                proxy=proxy,
                proxy_headers=proxy_headers,
            ) as told:
                streamed = _streams(told)
                try:
                    whole, first = await read_as_it_comes(told.content, streamed=streamed, began=began)
                except (aiohttp.ClientError, OSError):
                    if told.status < 300:
                        raise
                    whole, first = b"", None  # a refusal is one, whatever becomes of its words
        except (aiohttp.ClientError, OSError, UnicodeError) as error:
            raise EngineFailure(broken_off(error, where)) from error
        answer = _Answer(told, whole, streamed, first)
        if told.status >= 300:
            raise EngineFailure(self._refusal(answer, where))
        return answer

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._connections, keepalive_timeout=_IDLE_SECONDS, ssl=self._trusted
                ),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(
                    total=_IN_ALL * self._seconds, sock_connect=_CONNECT_SECONDS, sock_read=self._seconds
                ),
            )
        return self._session

    def _url(self, path: str) -> URL:
        if path not in self._urls:
            query = f"{'&' if '?' in path else '?'}{self._query}" if self._query else ""
            self._urls[path] = URL(_below(self._base, path) + query)
        return self._urls[path]

    def _refusal(self, answer: "_Answer", where: str) -> Failure:
        status = answer.told.status
        if status < 400 and (target := answer.header("location")):
            said = f"it redirects to {self._redaction.message(public_address(target))!r}, which is not followed"
        else:
            said = self._told(answer.text, _unescaped(answer.told.reason or ""))
        return Failure(
            reason="status",
            message=f"{where} answered {status}: {said}{'' if said[-1] in '.!?' else '.'}",
            status=status,
            retry_after=seconds(answer.header("retry-after")),
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


def _sendable(value: str) -> str:
    if (found := sendable(value)) is None:
        raise UsageError(
            "The key or a header holds a character that cannot be sent; both are printable ASCII.",
            hint="export OPENAI_API_KEY=…",
        )
    return found


def _query_values(address: str, url: URL) -> list[str]:
    """The values in an address's query as they were typed, as they are sent, and as they are meant."""
    fields = [*urlsplit(address).query.split("&"), *url.raw_query_string.split("&")]
    return [*(field.partition("=")[2] for field in fields), *url.query.values()]


def _streams(told: aiohttp.ClientResponse) -> bool:
    return told.headers.get("Content-Type", "").partition(";")[0].strip().lower() == _STREAM


def _below(base: str, path: str) -> str:
    """The address of a path: below the given one, or below the root of the server where the path begins with `/`."""
    if path.startswith("/"):
        return base.rstrip("/").removesuffix("/v1") + path
    return f"{base.rstrip('/')}/{path}" if path else base


def _unescaped(said: str) -> str:
    """A header's value or a reason without the lone surrogates that stand for bytes which are not UTF-8."""
    return said.encode(errors="surrogateescape").decode(errors="replace")
