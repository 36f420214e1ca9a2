"""Proxies and certificates: the client itself goes through them."""

import asyncio

import pytest
from yarl import URL

from specaudit.engines.http import HttpClient
from specaudit.engines.interface import Access, EngineFailure
from specaudit.engines.routes import credentials, proxy_to, trusted
from specaudit.model.errors import UsageError
from tests.engines.serving import FIXTURES, closed_address, raw, running

EMPTY = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"

CERTIFICATE = FIXTURES / "loopback.pem"
"""Signed by itself, for 127.0.0.1, with its key."""


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def models(address, **access):
    """What a client gets from the list of models at an address."""

    async def use():
        client = HttpClient(address, Access(timeout=5, **access))
        try:
            return await client.get_json("models")
        finally:
            await client.close()

    return asyncio.run(use())


class TestProxies:
    def asked_through(self, monkeypatch, url, *, answer=EMPTY, user="", **access):
        """The head of the request that a proxy gets for an address, and what the client makes of the proxy's answer."""
        heads = []

        async def behave(reader, writer):
            heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(answer)
            await writer.drain()

        async def use():
            async with raw(behave) as address:
                scheme = url.partition(":")[0].upper()
                monkeypatch.setenv(f"{scheme}_PROXY", address.removesuffix("/v1").replace("//", f"//{user}"))
                client = HttpClient(url, Access(timeout=5, **access))
                try:
                    return await client.get_json("models")
                except EngineFailure as error:
                    return error.failure
                finally:
                    await client.close()

        got = asyncio.run(use())
        return heads[0], got

    def test_a_proxy_is_asked_for_the_whole_address(self, monkeypatch):
        head, got = self.asked_through(monkeypatch, "http://far-away.invalid/v1")
        assert got == {}
        assert head.startswith("GET http://far-away.invalid/v1/models HTTP/1.1\r\n")
        assert "proxy-authorization" not in head.lower()

    def test_its_password_is_sent(self, monkeypatch):
        head, _ = self.asked_through(monkeypatch, "http://far-away.invalid/v1", user="me:secret@")
        assert "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in head

    def test_a_tunnel_is_asked_for_with_the_password(self, monkeypatch):
        refusal = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n"
        access = {"answer": refusal, "user": "me:secret@", "api_key": "sk-0123456789"}
        head, got = self.asked_through(monkeypatch, "https://far-away.invalid/v1", **access)
        assert got.message == "The proxy on the way to https://far-away.invalid/v1/models does not let through."
        assert head.startswith("CONNECT far-away.invalid:443 HTTP/1.1\r\n")
        assert "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in head
        assert "sk-0123456789" not in head

    def test_an_address_may_be_spared(self, monkeypatch):
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("NO_PROXY", "here.example,127.0.0.1")
        assert proxy_to(URL("http://here.example/v1")) is None
        assert proxy_to(URL("http://127.0.0.1:8000/v1")) is None
        assert proxy_to(URL("https://there.example/v1")) is None
        assert str(proxy_to(URL("http://there.example/v1")).url) == "http://127.0.0.1:9"

    def test_one_that_is_not_there_is_a_sentence(self, monkeypatch):
        monkeypatch.setenv("HTTP_PROXY", closed_address().removesuffix("/v1"))
        with pytest.raises(EngineFailure) as caught:
            models("http://far-away.invalid/v1")
        failure = caught.value.failure
        assert failure.message == "The proxy on the way to http://far-away.invalid/v1/models does not let through."
        assert (failure.reason, failure.lost) == ("connect", False)

    def test_a_name_without_scheme_will_do(self, monkeypatch):
        monkeypatch.setenv("HTTPS_PROXY", "me:secret@proxy.example:3128")
        proxy = proxy_to(URL("https://there.example/v1"))
        assert str(proxy.url) == "http://proxy.example:3128"
        assert credentials(proxy) == ("me", "secret", "bWU6c2VjcmV0")
        assert not any(credentials(None))

    def test_what_is_no_proxy_is_said_without_its_password(self, monkeypatch):
        monkeypatch.setenv("HTTP_PROXY", "ftp://me:secret@proxy.example")
        with pytest.raises(UsageError) as caught:
            proxy_to(URL("http://there.example/v1"))
        assert caught.value.message == "HTTP_PROXY names no proxy that can be used: ftp://proxy.example."


async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": b'{"data": []}'})


@pytest.fixture(scope="module")
def address():
    """Of a server with a certificate that nobody knows."""
    with running(app, ssl_certfile=CERTIFICATE) as base:
        yield base.replace("http:", "https:")


class TestCertificates:
    def test_one_that_is_not_trusted_is_a_sentence(self, address):
        with pytest.raises(EngineFailure) as caught:
            models(address)
        assert caught.value.failure.message == f"The certificate of {address}/models is not trusted."

    def test_one_from_the_file_is_trusted(self, address):
        assert models(address, ca_file=CERTIFICATE) == {"data": []}

    def test_a_file_that_holds_none_is_a_sentence(self, tmp_path):
        empty = tmp_path / "ca.pem"
        empty.write_text("nothing")
        with pytest.raises(UsageError, match="it holds no certificate in PEM"):
            trusted(empty)
        with pytest.raises(UsageError, match="No such file or directory"):
            trusted(tmp_path / "missing.pem")

    def test_one_from_the_environment_is_trusted(self, address, monkeypatch):
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        assert models(address) == {"data": []}

    def test_an_option_goes_before_the_environment(self, address, monkeypatch):
        monkeypatch.setenv("SSL_CERT_FILE", "/missing.pem")
        assert models(address, ca_file=CERTIFICATE) == {"data": []}

    def test_one_from_the_environment_that_is_missing_is_a_sentence(self, monkeypatch):
        monkeypatch.setenv("SSL_CERT_FILE", "/missing.pem")
        with pytest.raises(UsageError, match=r"/missing\.pem cannot be read: No such file or directory") as caught:
            trusted(None)
        assert caught.value.hint == "export SSL_CERT_FILE=PATH"
