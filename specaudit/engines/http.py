"""The HTTP client: one server, one connection pool, failures told in plain sentences, keys taken out where they enter.

httpx runs over aiohttp's transport: its own is several times slower under concurrency.
"""

import base64
from collections.abc import Mapping
from typing import Any

import aiohttp
import httpx
import msgspec
from httpx_aiohttp import AiohttpTransport

from specaudit.engines.addresses import public_address
from specaudit.engines.interface import Access, EngineFailure, Page
from specaudit.engines.redaction import Redaction
from specaudit.model.entries import Failure
from specaudit.model.errors import CouldNotTest, UsageError

BUSY = (429, 503)
"""Refused before anything was generated: asking again chooses no draw."""

_SHOWN = 300
"""Characters of a server's message that are kept."""

_IDLE_SECONDS = 2.0
"""An unused connection is closed by us before common servers (5 s) close it under a request."""


class HttpClient:
    """Asks one server and turns everything that can go wrong into an EngineFailure.

    Args:
        address: an http(s) address; its user name and password are sent as Basic authorization instead of the
            key, and its query goes with every request.
        access: key, patience and number of connections.

    Raises:
        CouldNotTest: the address is not one of HTTP.
        UsageError: the key is nothing that a header can carry.
    """

    def __init__(self, address: str, access: Access) -> None:
        self.where = public_address(address)
        """The address as it may be recorded."""
        url = _http_url(address, self.where)
        self._base, _, self._query = str(url.copy_with(userinfo=b"", fragment=None)).partition("?")
        key = _sendable(access.api_key or "")
        basic = base64.b64encode(f"{url.username}:{url.password}".encode()).decode() if url.userinfo else ""
        self._redaction = Redaction((key, basic, url.username, url.password, *_query_values(url)))
        authorization = f"Basic {basic}" if basic else f"Bearer {key}"
        self._client = httpx.AsyncClient(
            transport=AiohttpTransport(
                limits=httpx.Limits(max_connections=access.connections, keepalive_expiry=_IDLE_SECONDS)
            ),
            headers={"Authorization": authorization} if basic or key else {},
            timeout=httpx.Timeout(access.timeout, connect=10.0),
        )

    async def get_json(self, path: str) -> dict[str, Any]:
        """GET a JSON object from below the address.

        Raises:
            EngineFailure: no answer, an error status, or something that is not a JSON object.
        """
        return self._json(path, await self._send("GET", path))

    async def post_json(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """POST a JSON object below the address and return the JSON object that is answered.

        Raises:
            EngineFailure: no answer, an error status, or something that is not a JSON object.
        """
        return self._json(path, await self._send("POST", path, body))

    async def get_page(self) -> Page:
        """GET the text page at the address.

        Raises:
            EngineFailure: no answer or an error status.
        """
        answer = await self._send("GET", "")
        content_type = answer.headers.get("content-type", "")
        return Page(text=self._redaction.data(_text(answer)), content_type=self._redaction.data(content_type))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if content is None else {"Content-Type": "application/json"}
        url = _below(self._base, path) + (f"?{self._query}" if self._query else "")
        where = _below(self.where, path)
        try:
            answer = await self._client.request(method, url, content=content, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError, UnicodeError) as error:
            raise EngineFailure(_broken_off(error, where)) from error
        if answer.status_code >= 300:
            raise EngineFailure(self._refusal(answer, where))
        return answer

    def _refusal(self, answer: httpx.Response, where: str) -> Failure:
        status = answer.status_code
        if status < 400:
            target = self._redaction.message(public_address(answer.headers.get("location", "")))
            said = f"it redirects to {target!r}, which is not followed"
        else:
            said = one_line(self._redaction.message(_words(answer)))[:_SHOWN] or "no reason given"
        return Failure(
            reason="status",
            message=f"{where} answered {status}: {said}{'' if said[-1] in '.!?' else '.'}",
            status=status,
            lost=status >= 500 and status not in BUSY,
        )

    def _json(self, path: str, answer: httpx.Response) -> dict[str, Any]:
        where, text = _below(self.where, path), _text(answer)
        try:
            data = msgspec.json.decode(text)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            what = "a web page" if _is_web_page(text) else "something that is not JSON"
            raise EngineFailure(_garbled(f"{where} answered with {what}, not with JSON.")) from error
        if not isinstance(data, dict):
            raise EngineFailure(_garbled(f"{where} answered with JSON that is not an object."))
        redacted: dict[str, Any] = self._redaction.data(data)
        return redacted


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


def _sendable(key: str) -> str:
    """Return a key without the line feed that it may have from a file."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(
            "The key holds a character that cannot be sent; keys are printable ASCII.", hint="export OPENAI_API_KEY=…"
        )
    return key


def _query_values(url: httpx.URL) -> list[str]:
    """The values in an address's query, as they are meant and as they are written."""
    written = [field.partition("=")[2] for field in url.query.decode().split("&")]
    return [*written, *(value for _, value in url.params.multi_items())]


def _below(base: str, path: str) -> str:
    return f"{base.rstrip('/')}/{path}" if path else base


def _broken_off(error: Exception, where: str) -> Failure:
    """Say why there is no answer, and whether the server may have worked on one.

    The transport files every broken connection under httpx.ConnectTimeout, whether or not the request had gone
    out; only aiohttp's own exception, the cause, tells.
    """
    cause = error.__cause__ if isinstance(error, httpx.TransportError) and error.__cause__ else error
    match cause:
        case aiohttp.ClientConnectorCertificateError():
            return Failure(reason="connect", message=f"The certificate of {where} is not trusted.", lost=False)
        case aiohttp.ClientConnectorSSLError():
            return Failure(reason="connect", message=f"{where} does not speak TLS; is it http://?", lost=False)
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
            return Failure(reason="connect", message=f"Nothing answers at {where}.", lost=False)
        case aiohttp.InvalidURL() | httpx.InvalidURL() | httpx.UnsupportedProtocol() | UnicodeError():
            return Failure(reason="connect", message=f"{where!r} is not an http(s) address.", lost=False)
        case aiohttp.ServerTimeoutError():
            return Failure(reason="timeout", message=f"{where} did not finish its answer in time.", lost=True)
        case httpx.DecodingError():
            return _garbled(f"{where} answered with something that cannot be decompressed.")
        case aiohttp.ClientResponseError():
            return _garbled(f"{where} answered with something that is not HTTP.")
        case _:
            return _garbled(f"{where} closed the connection before its answer was whole.")


def _garbled(message: str) -> Failure:
    """What was generated, if anything, cannot be read."""
    return Failure(reason="protocol", message=message, lost=True)


def _text(answer: httpx.Response) -> str:
    """The answer as UTF-8, which JSON and metrics pages are written in whatever their headers say."""
    return answer.content.decode("utf-8", errors="replace")


def _is_web_page(text: str) -> bool:
    return "<html" in text[:2000].lower()


def _words(answer: httpx.Response) -> str:
    """Return the server's own words, from the error forms in use."""
    text = _text(answer)
    if _is_web_page(text):
        return text.partition("<title>")[2].partition("<")[0] or "a web page"
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return text or answer.reason_phrase
    error = data.get("error", data.get("detail", data.get("message", text))) if isinstance(data, dict) else text
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)
