"""`specaudit run` against `specaudit serve` with each switch: what is healthy is spared, what is not is caught."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.audit.record import read_evidence
from tests.cli.conftest import Specaudit
from tests.cli.servers import serving
from tests.cli.steady import Ran, steady

SUITE = Path(__file__).with_name("gateways.toml")
MUTANT = "mutant:resid-from-target"
LAW = ("--select", "LAW1")
UNTOLD = ("--no-logprobs", "--no-token-ids")
"""No single tokens are told."""

VOCABULARY = {letter: token for token, letter in enumerate("abcd")}


def run(specaudit: Specaudit, subject: str, reference: str, *options: str) -> Ran:
    """Audit a subject with its counters."""
    metrics = subject.removesuffix("/v1") + "/metrics"
    arms = ("--endpoint", subject, "--reference", reference, "--metrics", metrics)
    return specaudit("run", "--suite", SUITE, "-q", *arms, *options)


@pytest.fixture
def vocabulary(tmp_path: Path) -> None:
    """A table of the decoder's tokens in the working directory."""
    (tmp_path / "vocabulary.json").write_text(json.dumps(VOCABULARY))


@pytest.mark.usefixtures("vocabulary")
@pytest.mark.parametrize(
    ("switches", "options", "healthy", "mutant"),
    [
        pytest.param(("--chat-only",), ("--api", "chat"), 0, 1, id="chat-only"),
        pytest.param(("--stream-only",), ("--stream",), 0, 1, id="stream-only"),
        pytest.param(("--no-logprobs",), (), 0, 1, id="no-logprobs"),
        pytest.param(("--no-token-ids",), (), 0, 1, id="no-token-ids"),
        pytest.param(UNTOLD, (), 4, 1, id="no-tokens"),
        pytest.param(UNTOLD, ("--tokenizer", "vocabulary.json"), 0, 1, id="no-tokens-but-a-tokenizer"),
        pytest.param(("--rate-limit", "1200"), (), 0, 1, id="rate-limit"),
        pytest.param(("--cache",), (), 0, 1, id="cache"),
        pytest.param(("--cache", "prompt"), (), 4, 4, id="cache-that-nothing-gets-past"),
        pytest.param(("--fixed-temperature", "1"), LAW, 0, 1, id="fixed-temperature-1"),
        pytest.param(("--fixed-temperature", "0.8"), LAW, 0, 1, id="fixed-temperature"),
        pytest.param(("--fixed-temperature", "0.8", "--ignore-temperature"), (), 3, 1, id="ignored-temperature"),
        pytest.param(("--reasoning",), ("--api", "chat"), 0, 1, id="reasoning"),
        pytest.param(
            ("--reasoning",),
            ("--api", "chat", "--segment", "reasoning", "--tokenizer", "vocabulary.json"),
            0,
            1,
            id="reasoning-by-itself",
        ),
        pytest.param(
            ("--reasoning", *UNTOLD),
            ("--api", "chat", "--segment", "answer", "--tokenizer", "vocabulary.json", *LAW),
            0,
            1,
            id="answer-by-itself",
        ),
        pytest.param(("--template-date", "1 Dec 2026"), ("--api", "chat"), 0, 1, id="template-date"),
        pytest.param(("--refuse", "top_k,return_token_ids,user"), (), 0, 1, id="refused-fields"),
    ],
)
def test_behind_a_gateway(
    specaudit: Specaudit,
    snapshot: SnapshotAssertion,
    switches: tuple[str, ...],
    options: tuple[str, ...],
    healthy: int,
    mutant: int,
) -> None:
    plain, speculating, faulty = ("--draft-tokens", "0"), (), ("--engine", MUTANT)
    with serving(*((*own, *switches) for own in (plain, speculating, faulty))) as (reference, subject, other):
        ran = run(specaudit, subject, reference, *options)
        caught = run(specaudit, other, reference, *options)
    assert ran.code == healthy, ran.out
    assert caught.code == mutant, caught.out
    assert steady(ran, figures=False) == snapshot


@pytest.mark.usefixtures("vocabulary")
@pytest.mark.parametrize("engine", ["reference", MUTANT])
def test_a_reference_that_tells_more_is_read_like_the_subject(specaudit: Specaudit, engine: str) -> None:
    with serving(("--draft-tokens", "0"), ("--engine", engine, *UNTOLD)) as (reference, subject):
        ran = run(specaudit, subject, reference, "--tokenizer", "vocabulary.json", "--out", "out")
    assert ran.code == (1 if engine == MUTANT else 0), ran.out
    told = read_evidence(Path("out")).capabilities
    assert [found.tokens for found in told.values()] == ["retokenized", "retokenized"]


def test_seeds_that_are_refused_are_lived_with(specaudit: Specaudit) -> None:
    """No two runs are alike, so there is no snapshot."""
    with serving(("--draft-tokens", "0", "--refuse", "seed"), ("--refuse", "seed")) as (reference, subject):
        ran = run(specaudit, subject, reference, *LAW)
    assert ran.code == 0, ran.out
    assert "seeds are refused, so no answer can be asked for again" in " ".join(ran.out.split())


def test_templates_that_print_different_dates_are_told(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    """Templates of which none can be pinned, on two days."""
    unpinned = ("--refuse", "chat_template_kwargs", "--template-date")
    with serving(("--draft-tokens", "0", *unpinned, "30 Nov 2026"), (*unpinned, "1 Dec 2026")) as (reference, subject):
        ran = run(specaudit, subject, reference, "--api", "chat")
    assert ran.code == 3
    assert steady(ran) == snapshot


@pytest.mark.parametrize(
    ("switch", "option"), [("--chat-only", "--api chat"), ("--stream-only", "--stream")], ids=["chat", "stream"]
)
def test_the_option_that_helps_is_named(
    specaudit: Specaudit, snapshot: SnapshotAssertion, switch: str, option: str
) -> None:
    with serving((switch,)) as (subject,):
        ran = specaudit("run", "--suite", SUITE, "-q", "--endpoint", subject, "--model", "markov4")
    assert ran.code == 3
    assert ran.out.splitlines()[1].endswith(option)
    assert steady(ran) == snapshot


SECRET = "gateway-secret-0123456789"


class Doorkeeper(http.server.BaseHTTPRequestHandler):
    """Shows to everybody who comes with a header what the header said, and lets nobody in."""

    def do_GET(self) -> None:
        body = json.dumps({"error": {"message": f"{self.headers['X-Team']} may not enter"}}).encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def doorkeeper() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Doorkeeper) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def test_the_value_of_a_header_is_sent_and_seen_nowhere(
    specaudit: Specaudit, doorkeeper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM", SECRET)
    ran = specaudit("run", "--suite", SUITE, "--endpoint", doorkeeper, "--header", "X-Team=TEAM", "--out", "out")
    assert ran.code == 3
    assert "answered 403: [key] may not enter" in ran.out
    assert SECRET not in ran.out + ran.err
    assert read_evidence(Path("out")).stop is not None
    assert all(SECRET.encode() not in path.read_bytes() for path in Path("out").rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("X-Team", "named as NAME=ENVVAR"),
        ("X Team=TEAM", "named as NAME=ENVVAR"),
        ("X-Team=NO_SUCH", "variable from which the value of X-Team is taken is not set"),
        ("Authorization=Bearer geheim", "variable from which the value of Authorization is taken is not set"),
        ("X-Key: geheim", "named as NAME=ENVVAR"),
        ("content-length=HOME", "content-length tells how a request is sent and cannot be chosen"),
        ("X-Team=ODD", "ODD holds characters that no HTTP header can carry"),
    ],
)
def test_what_is_no_header_is_a_usage_error(
    specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch, header: str, said: str
) -> None:
    monkeypatch.setenv("ODD", "sch\u00f6n-geheim")
    ran = specaudit("run", "--endpoint", "http://127.0.0.1:9/v1", "--header", header)
    assert ran.code == 2
    assert said in " ".join(ran.err.split())
    assert "geheim" not in ran.err


@pytest.mark.parametrize(
    "options", [("--api", "chat"), ("--stream",), ("--tokenizer", "x.json"), ("--segment", "answer")]
)
def test_how_servers_are_asked_goes_with_a_server(specaudit: Specaudit, options: tuple[str, ...]) -> None:
    ran = specaudit("run", *options, "--engine", "reference")
    assert ran.code == 2
    assert f"{options[0]} goes with --endpoint" in ran.err
