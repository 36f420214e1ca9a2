import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest

from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.serve.server import serve


@contextmanager
def command(*options):
    """`specaudit serve` as a process of its own, once it says that it serves; gives it and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "specaudit", "serve", "--port", "0", *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    try:
        line = process.stderr.readline()
        assert line.startswith("serving "), line + process.stderr.read()
        yield process, line
    finally:
        process.kill()
        process.communicate()


def address_in(line):
    return re.search(r"http://\S+/v1$", line.strip()).group()


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well_and_soon(sig):
    options = ("--engine", "mutant:resid-from-target", "--draft-tokens", "2", "--model-name", "mine")
    with command(*options) as (process, line):
        address = address_in(line)
        assert line == f"serving mine (mutant:resid-from-target, 2 drafts per step) at {address}\n"
        with httpx.Client(trust_env=False) as client:  # its open connection must not hold the server up
            assert client.get(f"{address}/models").json()["data"][0]["id"] == "mine"
            answer = client.post(f"{address}/completions", json={"model": "mine", "prompt": "a", "seed": 1})
            assert answer.json()["usage"]["completion_tokens"] == 16
            started = time.monotonic()
            process.send_signal(sig)
            out, err = process.communicate(timeout=5)
        assert (process.returncode, out, err) == (0, "", "")
        assert time.monotonic() - started < 2


def test_a_request_that_never_ends_does_not_hold_it_up():
    with command("--draft-tokens", "0") as (process, line):
        assert "plain decoding" in line
        host, port = address_in(line).removeprefix("http://").removesuffix("/v1").split(":")
        with socket.create_connection((host, int(port))) as half:
            half.sendall(b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
            time.sleep(0.2)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=8)
        assert process.returncode == 0


def test_a_taken_port_is_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [sys.executable, "-m", "specaudit", "serve", "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=20,
        )
    assert ended.returncode == 3
    assert ended.stdout == ""
    assert ended.stderr == (
        f"specaudit: Cannot listen at 127.0.0.1:{port}: Address already in use.\n"
        "Try: specaudit serve --port 0 takes a free one\n"
    )


def serving(engine_name="reference", host="127.0.0.1"):
    serve(engine_name, draft_tokens=3, host=host, port=0, world=None, model_name="markov4")


@pytest.mark.parametrize("host", ["no-such-host.invalid", "203.0.113.1"])
def test_a_host_that_is_not_ours_is_one_sentence(host):
    with pytest.raises(CouldNotTest, match=rf"^Cannot listen at {host}:0: .+\.$"):
        serving(host=host)


@pytest.mark.parametrize(
    ("engine", "said"),
    [("openai", "needs an address"), ("referense", "no engine named"), ("mutant:none-such", "no mutant is called")],
)
def test_only_decoders_of_this_process_are_served(engine, said):
    with pytest.raises(UsageError, match=said):
        serving(engine)


def test_an_engine_of_another_kind_is_not_served(monkeypatch):
    monkeypatch.setattr("specaudit.serve.server.build", lambda arm, access: object())
    with pytest.raises(UsageError, match="'theirs' cannot be served"):
        serving("theirs")
