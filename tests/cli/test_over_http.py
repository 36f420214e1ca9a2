"""`specaudit run` against real servers: `specaudit serve` in processes of their own, and one that misbehaves."""

import http.server
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.audit.record import FILE_NAME, read_evidence
from specaudit.model.entries import StopEntry
from tests.audit.small import SMALL
from tests.cli.conftest import Specaudit
from tests.cli.steady import Ran, steady

KEY = "sk-0123456789-never-to-be-seen"


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    process: subprocess.Popen[str]
    endpoint: str

    @property
    def metrics(self) -> str:
        return self.endpoint.removesuffix("/v1") + "/metrics"


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "specaudit", "serve", "--port", "0", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def ready(process: subprocess.Popen[str]) -> Server:
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"at (http://127\.0\.0\.1:\d+/v1)$", line.strip())
    assert found, line
    return Server(process, found[1])


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    """A plain one, a speculating one and a mutant, started together."""
    processes = {
        "plain": start("--draft-tokens", "0"),
        "speculating": start(),
        "mutant": start("--engine", "mutant:resid-from-target"),
    }
    try:
        yield {name: ready(process) for name, process in processes.items()}
    finally:
        for process in processes.values():
            process.terminate()
            process.communicate(timeout=10)


def run(specaudit: Specaudit, *arguments: str, suite: Path = SMALL) -> Ran:
    return specaudit("run", "--suite", suite, "--out", "out", *arguments)


def against(subject: Server, reference: Server | None = None, *, metrics: bool = False) -> list[str]:
    return [
        *("--endpoint", subject.endpoint),
        *(("--reference", reference.endpoint) if reference else ()),
        *(("--metrics", subject.metrics) if metrics else ()),
    ]


def test_a_healthy_server_conforms(
    specaudit: Specaudit, servers: dict[str, Server], snapshot: SnapshotAssertion
) -> None:
    ran = run(specaudit, *against(servers["speculating"], servers["plain"], metrics=True))
    assert ran.code == 0
    assert steady(ran, figures=False) == snapshot
    assert specaudit("analyze", "out").out == ran.out


def test_a_mutant_violates(specaudit: Specaudit, servers: dict[str, Server]) -> None:
    ran = run(specaudit, *against(servers["mutant"], servers["plain"], metrics=True), "--json")
    assert ran.code == 1
    law = next(finding for finding in json.loads(ran.out)["findings"] if finding["check"] == "LAW1")
    assert law["verdict"] == "violates"
    assert law["effect"]["name"] == "total variation"
    assert law["witness"]["what"].startswith("word ")


def test_without_a_reference_nothing_can_be_tested(
    specaudit: Specaudit, servers: dict[str, Server], snapshot: SnapshotAssertion
) -> None:
    ran = run(specaudit, *against(servers["speculating"], metrics=True), "--select", "GRD,LAW", "-q")
    assert ran.code == 3
    assert steady(ran) == snapshot


def test_without_a_metrics_page_nothing_is_shown_of_the_verifier(
    specaudit: Specaudit, servers: dict[str, Server], snapshot: SnapshotAssertion
) -> None:
    ran = run(specaudit, *against(servers["speculating"], servers["plain"]), "-q")
    assert ran.code == 4
    assert steady(ran, figures=False) == snapshot


def test_a_metrics_page_without_speculation_counters(
    specaudit: Specaudit, servers: dict[str, Server], snapshot: SnapshotAssertion
) -> None:
    ran = run(
        specaudit,
        *against(servers["speculating"], servers["plain"]),
        *("--metrics", servers["plain"].metrics, "--select", "CTR", "-q"),
    )
    assert ran.code == 3
    assert steady(ran) == snapshot


def test_a_metrics_page_that_is_not_there(
    specaudit: Specaudit, servers: dict[str, Server], snapshot: SnapshotAssertion
) -> None:
    endpoint = servers["speculating"].endpoint
    ran = run(specaudit, "--endpoint", endpoint, "--metrics", f"{endpoint}/metrics", "-q")
    assert ran.code == 3
    assert steady(ran) == snapshot


def test_a_wrong_model_is_told_with_those_that_are_served(
    specaudit: Specaudit, servers: dict[str, Server], snapshot: SnapshotAssertion
) -> None:
    ran = run(specaudit, *against(servers["speculating"]), "--model", "markov5", "-q")
    assert ran.code == 3
    assert "it serves: markov4." in ran.out
    assert steady(ran) == snapshot


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_key_is_seen_nowhere(
    specaudit: Specaudit, servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    ran = run(specaudit, *against(servers["speculating"], servers["plain"]), "--select", "GRD1", "-v")
    assert ran.code == 4
    assert KEY not in ran.out + ran.err
    assert KEY.encode() not in everything_in(Path("out"))


class Misbehaving(http.server.BaseHTTPRequestHandler):
    """Answers every GET with what the test wants, the request's own key in it."""

    status, kind, body = 401, "application/json", '{"error": {"message": "Incorrect API key: %s"}}'

    def do_GET(self) -> None:
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        body = self.body.replace("%s", key).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", self.kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def misbehaving(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The endpoint of a server that answers with `Misbehaving`."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Misbehaving) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "kind", "body", "said"),
    [
        (401, "application/json", '{"error": {"message": "Incorrect API key: %s"}}', "401: Incorrect API key: [key]"),
        (401, "text/plain", "%s is not a key", "answered 401: [key] is not a key"),
        (200, "text/html", "<!doctype html><html><title>%s</title></html>", "answered with a web page, not with JSON"),
        (200, "application/json", "[]", "not an object"),
        (200, "application/json", '{"data": []}', "lists no model"),
        (404, "text/html", "<html><h1>Not Found</h1></html>", "answered 404"),
        (500, "application/json", '{"detail": "\\u001b[31m boom \\u009b2J"}', "boom"),
    ],
    ids=["401", "401-text", "html", "list", "no-model", "404", "500-escapes"],
)
def test_a_server_that_misbehaves_is_told_in_a_sentence(
    specaudit: Specaudit,
    misbehaving: str,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    kind: str,
    body: str,
    said: str,
) -> None:
    for name, value in (("status", status), ("kind", kind), ("body", body)):
        monkeypatch.setattr(Misbehaving, name, value)
    ran = run(specaudit, "--endpoint", misbehaving, "-q")
    assert ran.code == 3
    headline, reason = ran.out.splitlines()[:2]
    assert headline == "COULD NOT TEST  suite small: collecting stopped."
    assert said in reason
    assert "Try: " in reason
    assert all(character.isprintable() or character == "\n" for character in ran.out)
    assert KEY not in ran.out + ran.err
    assert KEY.encode() not in everything_in(Path("out"))
    assert isinstance(read_evidence(Path("out")).entries[-1], StopEntry)


def test_a_model_name_cannot_speak_to_the_terminal(
    specaudit: Specaudit, misbehaving: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("status", 200), ("body", '{"data": [{"id": "a\\u001b[2J\\u009b1m[red]"}]}')):
        monkeypatch.setattr(Misbehaving, name, value)
    ran = run(specaudit, "--endpoint", misbehaving, "--model", "m", "--json")
    assert ran.code == 3
    assert "\x1b" not in ran.out + ran.err
    assert "\x9b" not in ran.out + ran.err
    assert "1m[red]" in json.loads(ran.out)["stopped"]


def test_a_server_that_dies_in_mid_run_leaves_evidence_and_a_reason(
    specaudit: Specaudit, servers: dict[str, Server], tmp_path: Path
) -> None:
    subject = ready(start())
    suite = tmp_path / "long.toml"
    suite.write_text(SMALL.read_text().replace("prompts = 12", "prompts = 400"))
    evidence = tmp_path / "out" / FILE_NAME

    def kill_in_time() -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and (not evidence.exists() or evidence.read_bytes().count(b"\n") < 40):
            time.sleep(0.01)
        subject.process.kill()

    killer = threading.Thread(target=kill_in_time)
    killer.start()
    ran = run(specaudit, *against(subject, servers["plain"]), "-q", suite=suite)
    killer.join()
    subject.process.communicate(timeout=10)
    assert ran.code == 3
    assert re.search(
        r"The subject stopped answering at request \d+ of stage GRD1, at \S+: ", ran.out.replace("\n", " ")
    )
    assert len(read_evidence(Path("out")).attempts()) >= 30
