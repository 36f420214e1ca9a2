import asyncio
import gzip
import json
import logging
import time
import traceback
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import parse_qs, quote

import pytest
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from specaudit.engines import arrivals
from specaudit.engines.http import HttpClient
from specaudit.engines.interface import Access, EngineFailure
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.record import to_json
from tests.engines.serving import closed_address, complete, failure, raw, read_request, recorded, text

KEY = "sk-Very/secret+key=="


TEAM = "team-0123456789"


async def failing(client):
    """The failure of a request."""
    with pytest.raises(EngineFailure) as caught:
        await client.get_json("models")
    return caught.value.failure


def using(address, ask, *, key=None, timeout=5.0, headers=None):
    """What `ask` gets from a client of the address."""

    async def use():
        client = HttpClient(address, Access(api_key=key, timeout=timeout, headers=headers or {}))
        try:
            return await ask(client)
        finally:
            await client.close()

    return asyncio.run(use())


def got(address, **options):
    return using(address, lambda client: client.get_json("models"), **options)


def failed(address, **options):
    with pytest.raises(EngineFailure) as caught:
        got(address, **options)
    return caught.value.failure


def failed_raw(behave, *, timeout=5.0):
    """The failure of a GET to a server below HTTP."""

    async def use():
        async with raw(behave) as address:
            client = HttpClient(address, Access(timeout=timeout))
            try:
                with pytest.raises(EngineFailure) as caught:
                    await client.get_json("models")
            finally:
                await client.close()
        return caught.value.failure

    return asyncio.run(use())


class TestRequests:
    def test_a_body_goes_out_as_json(self, odd):
        server = odd(completions=lambda body: JSONResponse({"got": body}))
        answer = using(server.address, lambda client: client.post("completions", {"prompt": [1, 2], "n": 1}))
        assert answer.objects == ({"got": {"prompt": [1, 2], "n": 1}},)
        assert not answer.streamed
        assert server.headers[0]["content-type"] == "application/json"
        assert "authorization" not in server.headers[0]

    @pytest.mark.parametrize("key", [KEY, f"{KEY}\n", f"  {KEY}"])
    def test_the_key_is_sent_without_white_space(self, odd, key):
        server = odd()
        got(server.address, key=key)
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"

    def test_an_addresss_own_credentials_go_before_the_key(self, odd):
        server = odd()
        got(server.address.replace("//", "//me:pass%20word@"), key=KEY)
        assert server.headers[0]["authorization"] == "Basic bWU6cGFzcyB3b3Jk"

    def test_an_addresss_query_goes_with_every_request(self, odd):
        server = odd()
        got(f"{server.address}/?api_key=a%2Fb&version=1#part")
        using(f"{server.address}/?api_key=a%2Fb", lambda client: client.get_json("models?form=json"))
        assert parse_qs(server.queries[0]) == {"api_key": ["a/b"], "version": ["1"]}
        assert parse_qs(server.queries[1]) == {"form": ["json"], "api_key": ["a/b"]}

    @pytest.mark.parametrize("ending", ["", "/"])
    def test_a_slash_at_the_end_does_no_harm(self, odd, ending):
        assert got(odd().address + ending) == {"data": [{"id": "toy"}]}

    @pytest.mark.parametrize("name", ["authorization", "AUTHORIZATION", "user-agent", "Accept-encoding"])
    def test_a_header_is_sent_once_in_whatever_case_it_is_named(self, name):
        async def use():
            heads = []

            async def behave(reader, writer):
                heads.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                await writer.drain()

            async with raw(behave) as address:
                client = HttpClient(address, Access(api_key=KEY, timeout=5, headers={name: "mine"}))
                await client.get_json("models")
                await client.close()
            return heads[0].decode().split("\r\n")

        sent = [line for line in asyncio.run(use()) if line.lower().startswith(f"{name.lower()}:")]
        assert sent == [f"{name}: mine"]

    @pytest.mark.parametrize(
        "name",
        ["Content-Length", "transfer-encoding", "Expect", "Upgrade", "Content-Encoding", "X Y", "", "X:Y", "X\r\nY"],
    )
    def test_a_header_that_would_break_a_request_is_refused(self, name):
        with pytest.raises(UsageError, match="A header that was given is no name, or tells how a request is sent"):
            HttpClient("http://127.0.0.1:1/v1", Access(headers={name: "5"}))

    @pytest.mark.parametrize("key", ["schlüssel-geheim", "se\ncret-key", "secret\x00key"])
    def test_a_key_that_no_header_carries_is_refused_unseen(self, key):
        with pytest.raises(UsageError) as caught:
            HttpClient("http://127.0.0.1:1/v1", Access(api_key=key))
        assert "secret" not in caught.value.message
        assert "geheim" not in caught.value.message

    def test_further_headers_go_with_every_request(self, odd):
        server = odd()
        using(server.address, lambda client: client.get_json("models"), headers={"X-Team": f" {TEAM}\n"})
        assert server.headers[0]["x-team"] == TEAM

    def test_a_header_may_be_the_authorization(self, odd):
        server = odd()
        using(server.address, lambda client: client.get_json("models"), key=KEY, headers={"Authorization": "Token x"})
        assert server.headers[0]["authorization"] == "Token x"

    def test_a_header_that_cannot_be_sent_is_refused_unseen(self):
        with pytest.raises(UsageError) as caught:
            HttpClient("http://127.0.0.1:1/v1", Access(headers={"X-Team": "gehe\u00efm"}))
        assert "gehe" not in caught.value.message

    def test_the_values_of_headers_are_kept_nowhere(self, odd):
        echo = JSONResponse({"error": {"message": f"{TEAM} has no access", "team": TEAM}}, 403)
        refused = using(odd(models=echo).address, failing, headers={"X-Team": TEAM})
        assert refused.message.endswith("answered 403: [key] has no access.")
        told = JSONResponse({"data": [TEAM], TEAM: 1})
        assert using(odd(models=told).address, lambda client: client.get_json("models"), headers={"X-Team": TEAM}) == {
            "data": ["[key]"],
            "[key]": 1,
        }

    def test_more_requests_than_connections_wait_for_each_other(self, odd):
        async def many(client):
            return await asyncio.gather(*(client.get_json("models") for _ in range(20)))

        assert len(using(odd().address, many)) == 20


@pytest.mark.parametrize(
    "address",
    [
        "foo",
        "",
        "http://",
        "http:///v1",
        "ftp://x/v1",
        "localhost:8000/v1",
        "http://[::1",
        "http://host:port/v1",
        "//h/v1",
        "http://h/v1 ",
        "http://h/v1\n",
        "http://h/v1\r\nX-Evil: 1",
        "http://h/\x00",
        "http://h/\ud800",
        "http://xn--.invalid/v1",
        "http://[1]/v1",
    ],
)
def test_what_is_no_address_is_said(address):
    with pytest.raises(CouldNotTest, match=r"is not an http\(s\) address\.$") as caught:
        HttpClient(address, Access())
    assert caught.value.hint


@pytest.mark.parametrize("address", ["http://user:hi/dden@h/v1", "user:hidden@h/v1", "ftp://user:hidden@h/v1?k=hidden"])
def test_what_is_no_address_is_said_without_its_secrets(address):
    with pytest.raises(CouldNotTest) as caught:
        HttpClient(address, Access())
    assert "dden" not in repr(caught.value)


@pytest.mark.parametrize("host", ["a..b", "-", "no-such-host.invalid", "exa mple", "x" * 300, "\u2603.invalid"])
def test_a_host_that_is_none_is_a_failure_like_any_other(host):
    try:
        refused = failed(f"http://{host}/v1")
    except CouldNotTest:
        return
    assert refused.reason == "connect"
    assert not refused.lost


class TestStatuses:
    @pytest.mark.parametrize(
        ("status", "lost"),
        [
            *((status, False) for status in (400, 401, 403, 404, 422, 429, 503)),
            *((status, True) for status in (500, 501, 502, 504, 529)),
        ],
    )
    def test_what_may_have_been_generated_is_lost(self, odd, status, lost):
        address = odd(models=text("{}", status)).address
        refused = failed(address)
        assert (refused.reason, refused.status, refused.lost) == ("status", status, lost)
        assert refused.message.startswith(f"{address}/models answered {status}: ")

    @pytest.mark.parametrize(
        ("reply", "said"),
        [
            (
                text(json.dumps(recorded("vllm_error_404")), 404),
                recorded("vllm_error_404")["error"]["message"].rstrip("."),
            ),
            (JSONResponse({"error": "too long", "error_type": "validation"}, 400), "too long"),
            (JSONResponse({"object": "error", "message": "no such thing"}, 400), "no such thing"),
            (JSONResponse({"detail": "Not Found"}, 404), "Not Found"),
            (JSONResponse({"detail": [{"msg": "field required"}]}, 400), "field required"),
            (JSONResponse({"error": {"code": 7}}, 400), '{"error":{"code":7}}'),
            (JSONResponse(["odd"], 400), "odd"),
            (HTMLResponse("<html><head><title>502 Bad\nGateway</title><p>x", 502), "502 Bad Gateway"),
            (HTMLResponse("<!doctype html><HTML>oh", 502), "a web page"),
            (text("just words\r\n on two lines", 400), "just words on two lines"),
            (text("", 404), "Not Found"),
            (text("\x1b[2J\x00\u202ewiped", 400), "[2J wiped"),
            (text("[" * 100_000, 400), "[" * 300),
            (text("<" * 1_000_000, 400), "<" * 300),
        ],
    )
    def test_the_servers_own_words_are_kept_on_one_line(self, odd, reply, said):
        address = odd(models=reply).address
        assert failed(address).message == f"{address}/models answered {reply.status_code}: {said}."

    @pytest.mark.parametrize(
        ("retry_after", "seconds"),
        [
            *(("7", 7.0), ("0", 0.0), ("", None), ("soon", None), ("-1", None), ("inf", None), ("1e400", None)),
            ("Mon, 01 Jan 2024 00:00:00 +99999999999999999999", None),
        ],
    )
    def test_when_to_come_back_is_told_in_seconds(self, odd, retry_after, seconds):
        headers = {"retry-after": retry_after} if retry_after else {}
        assert failed(odd(models=text("", 429, **headers)).address).retry_after == seconds

    @pytest.mark.parametrize(("minutes", "least"), [(1, 50), (-1, 0)])
    def test_or_at_a_time(self, odd, minutes, least):
        when = format_datetime(datetime.now(UTC) + timedelta(minutes=minutes), usegmt=True)
        assert least <= failed(odd(models=text("", 503, **{"retry-after": when})).address).retry_after <= least + 10

    @pytest.mark.parametrize(("status", "lost"), [(401, False), (429, False), (500, True)])
    @pytest.mark.parametrize(
        "body",
        [
            b"content-length: 20\r\n\r\nnot whole",
            b"content-encoding: gzip\r\ncontent-length: 8\r\n\r\nnot gzip",
            b"transfer-encoding: chunked\r\n\r\n5\r\n{'cho\r\n",
        ],
    )
    def test_a_refusal_is_one_whatever_becomes_of_its_words(self, status, lost, body):
        async def behave(reader, writer):
            await read_request(reader)
            writer.write(b"HTTP/1.1 %d Oh\r\nretry-after: 3\r\n%s" % (status, body))
            await writer.drain()

        refused = failed_raw(behave)
        assert refused.message.endswith(f"/models answered {status}: Oh.")
        assert (refused.reason, refused.status, refused.lost, refused.retry_after) == ("status", status, lost, 3.0)

    @pytest.mark.parametrize("said", ["It is so.", "Is it so?", "It is so!"])
    def test_a_sentence_that_has_an_end_gets_no_other(self, odd, said):
        assert failed(odd(models=text(said, 400)).address).message.endswith(f": {said}")

    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    def test_redirects_are_told_and_not_followed(self, odd, status):
        other = odd()
        address = odd(models=RedirectResponse(f"{other.address}/models?token=hidden", status)).address
        refused = failed(address, key=KEY)
        assert refused.message == (
            f"{address}/models answered {status}: it redirects to '{other.address}/models', which is not followed."
        )
        assert not refused.lost
        assert not other.headers

    def test_what_is_no_redirect_is_not_called_one(self, odd):
        address = odd(models=Response(status_code=304)).address
        assert failed(address).message == f"{address}/models answered 304: Not Modified."


class TestKeys:
    @pytest.mark.parametrize(
        "reply",
        [
            JSONResponse({"error": {"message": f"Bearer {KEY} is unknown"}}, 401),
            text(json.dumps({"detail": f"no {KEY}"}).replace("/", r"\/"), 401),
            HTMLResponse(f"<html><title>{KEY}</title>", 401),
            text(f"{'x' * 295}{KEY}", 401),
            text(f"{KEY}", 500),
            RedirectResponse(f"http://{KEY.replace('/', '')}@host/?k={KEY}"),
            RedirectResponse(f"http://host/{KEY}/"),
            RedirectResponse(f"http://host/{quote(KEY, safe='')}/"),
            text(json.dumps({"odd": KEY}).replace("-", r"\u002d").replace("/", r"\/"), 401),
            text(json.dumps({"error": json.dumps({"odd": KEY.replace("+", "&#43;")})}), 401),
            text(f"no key {b64encode(KEY.encode()).decode()}", 401),
        ],
    )
    def test_an_echo_of_the_key_is_not_kept(self, odd, reply):
        with pytest.raises(EngineFailure) as caught:
            got(odd(models=reply).address, key=KEY)
        kept = "".join(traceback.format_exception(caught.value)) + repr(caught.value.failure)
        for part in ("sk-", "Very", "secret"):
            assert part not in kept

    @pytest.mark.parametrize("secret", ["hidden-password", "aGlkZGVu", "query/secret", "query%2Fsecret"])
    def test_an_echo_of_the_addresss_secrets_is_not_kept(self, odd, secret):
        # What a user name and password become in the header is a secret too.
        echo = "me:hidden-password bWU6aGlkZGVuLXBhc3N3b3Jk ?api_key=query%2Fsecret query/secret"
        server = odd(models=text(echo, 403))
        address = server.address.replace("//", "//me:hidden-password@") + "?api_key=query%2Fsecret"
        refused = failed(address)
        assert secret not in repr(refused)
        assert refused.message.startswith(f"{server.address}/models answered 403")

    def test_an_echo_in_an_answer_is_not_kept(self, odd):
        server = odd(completions=JSONResponse({"choices": [{"index": 0, "text": f"your key is {KEY}"}]}))
        assert complete(server.address, key=KEY).completions[0].text == "your key is [key]"

    @pytest.mark.parametrize("key", ["0", "1", "EMPTY", "a", "text"])
    def test_a_short_key_changes_no_answer(self, odd, key):
        echo = {
            "choices": [{"index": 0, "text": "EMPTY a 0 1", "token_ids": [0, 1, 10]}],
            "usage": {"prompt_tokens": 10},
        }
        server = odd(completions=JSONResponse(echo))
        assert complete(server.address, key=key) == complete(server.address)

    def test_an_echo_on_a_page_is_not_kept(self, odd):
        reply = Response(f'x{{key="{KEY}"}} 1', headers={"content-type": f"text/plain; x={KEY}"})
        page = using(f"{odd(models=reply).address}/models", lambda client: client.get_page(), key=KEY)
        assert page.text == 'x{key="[key]"} 1'
        assert page.content_type == "text/plain; x=[key]"

    def test_nothing_shows_the_key(self):
        access = Access(api_key=KEY)
        client = HttpClient(f"http://me:{KEY.replace('/', '')}@h/v1?k={KEY}", access)
        assert "secret" not in repr((access, client, client.where))


class TestAnswers:
    @pytest.mark.parametrize(
        ("content", "what"),
        [
            ("<!DOCTYPE html>\n<HTML><body>hello", "a web page, not with JSON"),
            ("hello", "something that is not JSON"),
            ("", "something that is not JSON"),
            ('{"choices": [{"index": 0', "something that is not JSON"),
            ('{"a": NaN}', "something that is not JSON"),
            ('{"a": -Infinity}', "something that is not JSON"),
            ('{"a": 1e999}', "something that is not JSON"),
            ('{"a": "\\ud800"}', "something that is not JSON"),
            ('{"a": ' + "9" * 5000 + "}", "something that is not JSON"),
            ("[" * 100_000, "something that is not JSON"),
            ('{"a": ' * 5000 + "1" + "}" * 5000, "something that is not JSON"),
            ("[]", "JSON that is not an object"),
            ('"text"', "JSON that is not an object"),
            ("null", "JSON that is not an object"),
        ],
    )
    def test_what_is_no_json_object_is_lost(self, odd, content, what):
        address = odd(completions=text(content)).address
        lost = failure(address)
        assert lost.message.startswith(f"{address}/completions answered with {what}")
        assert (lost.reason, lost.status, lost.lost) == ("protocol", None, True)

    def test_compressed_answers_are_read(self, odd):
        reply = Response(gzip.compress(b'{"data": 1}'), headers={"content-encoding": "gzip"})
        assert got(odd(models=reply).address) == {"data": 1}

    def test_what_cannot_be_decompressed_is_lost(self, odd):
        lost = failed(odd(models=Response(b"not gzip", headers={"content-encoding": "gzip"})).address)
        assert (lost.reason, lost.lost) == ("protocol", True)
        assert lost.message.endswith("answered with something that cannot be decompressed.")

    def test_what_is_compressed_in_an_unknown_way_is_lost(self, odd):
        lost = failed(odd(models=Response(b"\x0b", headers={"content-encoding": "br"})).address)
        assert lost.message.endswith("answered with something that cannot be decompressed.")

    @pytest.mark.parametrize("end", [b"", b"}"])
    def test_what_does_not_end_is_given_up(self, odd, monkeypatch, end):
        monkeypatch.setattr(arrivals, "LARGEST", 1_000_000)
        content = gzip.compress(b"{" + b" " * 1_000_000 + end)
        lost = failed(odd(models=Response(content, headers={"content-encoding": "gzip"})).address)
        assert lost.message.endswith("/models answered with more than any answer holds.")
        assert (lost.reason, lost.lost) == ("protocol", True)

    def test_a_byte_order_mark_is_no_word(self, odd):
        assert got(odd(models=Response(b'\xef\xbb\xbf{"data": 1}')).address) == {"data": 1}

    @pytest.mark.parametrize("charset", ["utf-16", "hex", "no-such-charset"])
    def test_json_is_utf_8_whatever_the_header_says(self, odd, charset):
        reply = Response('{"data": "ü"}'.encode(), headers={"content-type": f"application/json; charset={charset}"})
        assert got(odd(models=reply).address) == {"data": "ü"}

    def test_what_is_not_utf_8_is_marked(self, odd):
        address = odd(models=Response(b"m\xfc 1", headers={"content-type": "text/plain; version=0.0.4"})).address
        page = using(f"{address}/models", lambda client: client.get_page())
        assert page.text == "m\ufffd 1"
        assert page.content_type == "text/plain; version=0.0.4"


class TestPosts:
    def posted(self, odd, reply):
        return using(odd(completions=reply).address, lambda client: client.post("completions", {}))

    @pytest.mark.parametrize(
        ("headers", "cache"),
        [
            ({}, None),
            ({"x-cache": "HIT"}, "x-cache: HIT"),
            ({"cf-aig-cache-status": "MISS"}, "cf-aig-cache-status: MISS"),
        ],
    )
    def test_what_a_cache_says_of_itself_is_kept(self, odd, headers, cache):
        assert self.posted(odd, JSONResponse({}, headers=headers)).cache == cache

    def test_a_stream_comes_as_its_objects(self, odd):
        sent = 'data: {"a": 1}\n\n: ping\n\ndata: {"a": 2}\n\ndata: [DONE]\n\n'
        answer = self.posted(odd, Response(sent, headers={"content-type": "text/event-stream"}))
        assert (answer.objects, answer.streamed) == (({"a": 1}, {"a": 2}), True)

    @pytest.mark.parametrize("kind", ["text/event-stream", "Text/Event-Stream; charset=x", "text/event-stream ;"])
    def test_a_stream_is_one_however_it_is_called(self, odd, kind):
        assert self.posted(odd, Response('data: {"a": 1}\n\n', headers={"content-type": kind})).streamed

    @pytest.mark.parametrize("nothing", ["data:\n\n", "data: \n\n", "data\n\n", "data: [DONE] \n\n", "\ufeff"])
    def test_events_without_a_word_are_passed_over(self, odd, nothing):
        sent = Response(f'{nothing}data: {{"a": 1}}\n\n', headers={"content-type": "text/event-stream"})
        assert self.posted(odd, sent).objects == ({"a": 1},)

    @pytest.mark.parametrize(
        ("event", "says"),
        [
            ('{"choices": [{"text": "a"}]}', True),
            ('{"choices": [{"delta": {"content": "a"}}]}', True),
            ('{"content": "a"}', True),
            ('{"choices": [{"delta": {"role": "assistant"}}]}', False),
            ('{"choices": [], "usage": {}}', False),
            ('{"choices": 7}', False),
            ('{"choices": [7]}', False),
            ("7", False),
        ],
    )
    def test_the_first_word_is_timed(self, odd, event, says):
        answer = Response(f"data: {event}\n\ndata: [DONE]\n\n", headers={"content-type": "text/event-stream"})
        if event == "7":
            with pytest.raises(EngineFailure):
                self.posted(odd, answer)
        else:
            assert (self.posted(odd, answer).first is not None) == says

    def test_a_stream_of_a_hundred_thousand_events_is_read_in_their_number(self):
        async def behave(reader, writer):
            await read_request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            for _ in range(5_000):
                writer.write(b'data: {"choices":[{"index":0,"text":""}]}\n\n' * 20)
                await writer.drain()
                await asyncio.sleep(0)

        async def use():
            async with raw(behave) as address:
                client = HttpClient(address, Access(timeout=5))
                began = time.process_time()
                answer = await client.post("completions", {"stream": True})
                await client.close()
                return len(answer.objects), time.process_time() - began

        number, seconds = asyncio.run(use())
        assert number == 100_000
        assert seconds < 30  # as long as it is, a tenth is usual; what looks at the whole again and again takes minutes


class TestConnections:
    def test_nobody_listens(self):
        address = closed_address()
        refused = failed(address)
        assert refused.message == f"Nothing answers at {address}/models."
        assert (refused.reason, refused.lost) == ("connect", False)

    def test_a_server_without_tls(self, odd):
        address = odd().address.replace("http:", "https:")
        refused = failed(address)
        assert refused.message == f"{address}/models does not speak TLS; is it http://?"
        assert (refused.reason, refused.lost) == ("connect", False)

    @pytest.mark.parametrize(
        "sent",
        [
            b"",
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n",
            b'HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{"choices"',
            b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"cho',
            b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"cho\r\n',
        ],
    )
    def test_a_connection_that_breaks_loses_the_answer(self, sent):
        async def behave(reader, writer):
            await read_request(reader)
            writer.write(sent)
            await writer.drain()

        lost = failed_raw(behave)
        assert lost.message.endswith("closed the connection before its answer was whole.")
        assert (lost.reason, lost.lost) == ("protocol", True)

    def test_a_connection_that_is_reset_loses_the_answer(self):
        async def behave(reader, writer):
            await reader.read(1)
            writer.transport.abort()

        lost = failed_raw(behave)
        assert (lost.reason, lost.lost) == ("protocol", True)

    @pytest.mark.parametrize("sent", [b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 banana\r\n\r\n", b"\x00\xff" * 9000])
    def test_something_other_than_http(self, sent):
        async def behave(reader, writer):
            await read_request(reader)
            writer.write(sent)
            await writer.drain()

        lost = failed_raw(behave)
        assert (lost.reason, lost.lost) == ("protocol", True)

    @pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{"])
    def test_an_answer_that_does_not_come_is_lost(self, sent):
        async def behave(reader, writer):
            await read_request(reader)
            writer.write(sent)
            await reader.read()

        lost = failed_raw(behave, timeout=0.1)
        assert lost.message.endswith("did not finish its answer in time.")
        assert (lost.reason, lost.lost) == ("timeout", True)

    @pytest.mark.parametrize(
        ("begins", "goes_on"),
        [
            (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", b": ping\n\n"),
            (b"HTTP/1.1 200 OK\r\n\r\n{", b" "),
            (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        ],
    )
    def test_an_answer_that_only_goes_on_is_lost(self, begins, goes_on):
        async def behave(reader, writer):
            await read_request(reader)
            writer.write(begins)
            while not writer.is_closing():
                writer.write(goes_on)
                await writer.drain()
                await asyncio.sleep(0.02)

        lost = failed_raw(behave, timeout=0.1)
        assert lost.message.endswith("did not finish its answer in time.")
        assert (lost.reason, lost.lost) == ("timeout", True)

    @pytest.mark.parametrize("status", [200, 418])
    def test_bytes_in_a_head_that_are_no_utf_8_are_marked(self, status):
        body = b"{}" if status == 200 else b""

        async def behave(reader, writer):
            await read_request(reader)
            head = b"HTTP/1.1 %d caf\xe9\r\nx-cache: caf\xe9\r\ncontent-length: %d\r\n\r\n" % (status, len(body))
            writer.write(head + body)
            await writer.drain()

        async def use():
            async with raw(behave) as address:
                client = HttpClient(address, Access(timeout=5))
                try:
                    return (await client.post("completions", {})).cache, (await client.get_page()).headers["x-cache"]
                except EngineFailure as failure:
                    return failure.failure.message.partition("answered ")[2]
                finally:
                    await client.close()

        said = asyncio.run(use())
        assert said == (("x-cache: caf\ufffd", "caf\ufffd") if status == 200 else "418: caf\ufffd.")
        assert json.loads(to_json(said)) in (said, list(said))

    def test_cookies_are_not_sent_back(self, odd):
        server = odd(models=JSONResponse({}, headers={"set-cookie": "replica=2"}))

        async def twice(client):
            await client.get_json("models")
            await client.get_json("models")

        using(server.address.replace("127.0.0.1", "localhost"), twice)  # aiohttp's jar takes none from an IP address
        assert len(server.headers) == 2
        assert not any("cookie" in head for head in server.headers)

    def test_a_broken_connection_is_not_used_again(self):
        async def use():
            served = []

            async def behave(reader, writer):
                served.append(1)
                await read_request(reader)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}" if len(served) > 1 else b"")
                await writer.drain()

            async with raw(behave) as address:
                client = HttpClient(address, Access(timeout=5))
                with pytest.raises(EngineFailure):
                    await client.post("completions", {})
                answer = await client.post("completions", {})
                await client.close()
            return served, answer.objects

        assert asyncio.run(use()) == ([1, 1], ({},))


def test_nothing_is_logged(odd, caplog):
    with caplog.at_level(logging.DEBUG):
        failed(odd(models=text(KEY, 401)).address.replace("//", "//me:hidden-password@"), key=KEY)
    assert "hidden" not in caplog.text
    assert KEY not in caplog.text
