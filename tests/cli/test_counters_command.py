import asyncio
import gzip
import json
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.counters.snapshots import Snapshot, snapshots_in
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.record import to_json
from specaudit.model.request import Request, Sampling
from specaudit.serve.app import make_app
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady
from tests.counters.pages import vllm_page
from tests.counters.recorded import FIXTURES
from tests.counters.simulated import Server
from tests.engines.serving import running

COUNTERS = "counters"
BEFORE, AFTER, RESTART = (FIXTURES / "vllm" / f"draft_{name}.prom" for name in ("before", "after", "restart"))
START = datetime(2026, 11, 29, 18, tzinfo=UTC)


def page_of(server: Server, **more: object) -> str:
    reading = server.read()
    return vllm_page(
        drafts=reading.drafts,
        draft_tokens=reading.draft_tokens,
        accepted=reading.accepted,
        positions=reading.accepted_per_position,
        generation=reading.generation_tokens,
        sequences=reading.requests_finished,
        **more,
    )


def recording(path: Path, pages: Sequence[str | None], source: str = "http://server/metrics") -> Path:
    """Keep pages as a watch does; None stands for one that did not come."""
    with path.open("ab") as file:
        for i, page in enumerate(pages):
            taken = (START + timedelta(seconds=5 * i)).isoformat()
            if page is None:
                file.write(to_json(Snapshot(source=source, taken=taken, failure="Nothing answers")) + b"\n")
            else:
                (one,) = snapshots_in(page.encode(), source)
                file.write(to_json(Snapshot(source=source, taken=taken, page=page, sha256=one.sha256)) + b"\n")
    return path


@pytest.fixture
def eventful(tmp_path: Path) -> Path:
    """Thirty windows: a restart, a gap, a busy server, an idle one."""
    server, pages, created = Server(seed=4), [], 1.7e9
    for i in range(32):
        pages.append(None if i == 20 else page_of(server, created=created, running=3 if i == 12 else 0))
        if i == 7:
            server.restart()
            created += 1e6
        if i != 25:
            server.serve(6, 64)
    return recording(tmp_path / "eventful.jsonl", pages)


def test_a_window_between_saved_pages(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    ran = specaudit(COUNTERS, BEFORE, AFTER, "--verbose")
    assert ran.code == 0
    assert steady(ran) == snapshot


def test_a_restart(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    ran = specaudit(COUNTERS, AFTER, RESTART)
    assert ran.code == 4
    assert steady(ran) == snapshot


def test_an_eventful_recording(specaudit: Specaudit, snapshot: SnapshotAssertion, eventful: Path) -> None:
    ran = specaudit(COUNTERS, eventful)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert steady(ran) == snapshot


def test_counters_that_are_wrong(specaudit: Specaudit, snapshot: SnapshotAssertion, tmp_path: Path) -> None:
    counts = {"drafts": 1000, "draft_tokens": 3000, "accepted": 1800, "positions": (450, 300, 150)}
    pages = [vllm_page(), vllm_page(**counts, generation=2900, sequences=100)]
    ran = specaudit(COUNTERS, recording(tmp_path / "ranks.jsonl", pages))
    assert ran.code == 1
    assert steady(ran) == snapshot


def test_several_servers_and_engines(specaudit: Specaudit, snapshot: SnapshotAssertion, tmp_path: Path) -> None:
    servers = [Server(seed=1), Server(seed=2, alpha=0.5), Server(seed=3, alpha=0.9)]
    pages: list[list[str]] = [[], []]
    for _ in range(4):
        both = [page_of(servers[0]), page_of(servers[1], engine="1").split("\n", 1)[1]]
        pages[0].append("".join(both))
        pages[1].append(page_of(servers[2]))
        for server in servers:
            server.serve(4, 64)
    file = recording(tmp_path / "fleet.jsonl", pages[0], source="http://a/metrics")
    ran = specaudit(COUNTERS, recording(file, pages[1], source="http://b/metrics"))
    assert ran.code == 0
    assert steady(ran) == snapshot


def test_one_page(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    ran = specaudit(COUNTERS, AFTER)
    assert ran.code == 4
    assert steady(ran) == snapshot


def test_without_a_marker(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    ran = specaudit(COUNTERS, FIXTURES / "sglang" / "before.prom", FIXTURES / "sglang" / "after.prom")
    assert ran.code == 4
    assert steady(ran) == snapshot


def test_json(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    ran = specaudit(COUNTERS, BEFORE, AFTER, RESTART, "--json")
    summary = json.loads(ran.out)
    assert ran.code == 0
    assert [window["status"] for window in summary["windows"]] == ["valid", "void"]
    assert [defect["name"] for defect in summary["defects"]] == ["counted-past-the-end", "reset"]
    assert steady(ran) == snapshot


def test_intervals_come_with_twenty_windows(specaudit: Specaudit, eventful: Path) -> None:
    summary = json.loads(specaudit(COUNTERS, eventful, "--json", "--confidence", 0.999).out)
    assert summary["confidence"] == 0.999
    length = next(figure for figure in summary["overall"]["figures"] if figure["name"] == "verifier length")
    assert length["low"] < 3.3616 < length["high"]
    assert summary["overall"]["windows"] == summary["statuses"]["valid"] == 26
    few = json.loads(specaudit(COUNTERS, eventful, "--json", "--min-drafts", 10**6).out)
    assert few["outcome"] == "nothing-valid"


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_tables(specaudit: Specaudit, tmp_path: Path, eventful: Path, form: str) -> None:
    file = tmp_path / f"windows.{form}"
    ran = specaudit(COUNTERS, eventful, f"--{form}", file, "--json")
    table = pd.read_csv(file) if form == "csv" else pd.read_parquet(file)
    windows = json.loads(ran.out)["windows"]
    assert list(table["status"]) == [window["status"] for window in windows]
    assert list(table["drafts"].dropna()) == [window["drafts"] for window in windows if window["drafts"] is not None]
    assert [f"accepted_{i}" for i in (1, 2, 3, 4)] == list(table.columns[-4:])
    if form == "parquet":
        assert str(table["end"].dt.tz) == "UTC"
        assert table["end"].iloc[0] == pd.Timestamp("2026-11-29T18:00:05Z")


def test_the_same_pages_in_other_wrappings(specaudit: Specaudit, tmp_path: Path) -> None:
    plain = specaudit(COUNTERS, BEFORE, AFTER).out
    packed = [tmp_path / f"{path.name}.gz" for path in (BEFORE, AFTER)]
    for path, original in zip(packed, (BEFORE, AFTER), strict=True):
        path.write_bytes(gzip.compress(original.read_bytes()))
    assert specaudit(COUNTERS, *packed).out == plain
    folder = tmp_path / "scrapes"
    folder.mkdir()
    for number, original in enumerate((BEFORE, AFTER)):
        (folder / f"{number}.prom").write_bytes(original.read_bytes())
    assert specaudit(COUNTERS, folder).out == plain
    assert specaudit(COUNTERS, BEFORE, AFTER, "--dialect", "vllm").out == plain


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("<html><body>Sign in</body></html>", 3, "the page is HTML, not Prometheus metrics"),
        ('{"object": "list"}', 3, "the page is JSON, not Prometheus metrics"),
        (AFTER.read_text()[:30_000], 3, "cut off"),
        (AFTER.read_text() * 2, 3, "twice: are two servers' pages joined in one?"),
        ("", 3, "the page is empty"),
        ("node_load1 0.2\n", 3, "no engine known here"),
        ((FIXTURES / "vllm" / "plain_after.prom").read_text(), 3, "this server decodes plainly"),
    ],
    ids=["html", "json", "truncated", "duplicates", "empty", "stranger", "plain"],
)
def test_what_is_no_page(specaudit: Specaudit, tmp_path: Path, text: str, code: int, words: str) -> None:
    file = tmp_path / "page.prom"
    file.write_text(text)
    ran = specaudit(COUNTERS, file)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("specaudit: No page could be read: ")
    assert words in ran.err
    beside = specaudit(COUNTERS, BEFORE, file, AFTER)
    assert beside.code == 0
    assert words in " ".join(beside.out.split())


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ((" 43724.0", " NaN"), 4, "the counter of drafts is nan"),
        ((" 43724.0", " 4.3724e+300"), 4, "which is no count of things that happened"),
        ((" 43724.0", " -5.0"), 4, "the counter of drafts is -5.0"),
        (('model_name="target"', 'model_name="a\\"\\\\\\n,{}\x1b[31m"'), 4, "the set of speculation counters changed"),
    ],
    ids=["nan", "huge", "negative", "escapes"],
)
def test_odd_values(specaudit: Specaudit, tmp_path: Path, change: tuple[str, str], code: int, words: str) -> None:
    file = tmp_path / "after.prom"
    file.write_text(AFTER.read_text().replace(*change))
    ran = specaudit(COUNTERS, BEFORE, file)
    assert ran.code == code
    assert words in " ".join(ran.out.split())
    assert "\x1b" not in ran.out


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (BEFORE, "--watch", "http://127.0.0.1:9/metrics"),
        (BEFORE, "--record", "x.jsonl"),
        ("nowhere.prom",),
        (BEFORE, "--dialect", "ollama"),
        ("--watch", "http://127.0.0.1:9/metrics", "--every", "soon"),
        ("--watch", "ftp://server/metrics"),
        ("--watch", "http://127.0.0.1:9/metrics"),
        (BEFORE, AFTER, "--csv", "no/such/folder.csv"),
    ],
    ids=lambda arguments: " ".join(Path(word).name if isinstance(word, Path) else word for word in arguments),
)
def test_what_cannot_be_done(specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: tuple[object, ...]) -> None:
    assert steady(specaudit(COUNTERS, *arguments)) == snapshot


def test_a_watch_makes_windows_and_keeps_the_pages(specaudit: Specaudit, tmp_path: Path) -> None:
    engine = ReferenceEngine(SpeculativeDecoder(MARKOV4, draft_tokens=3))
    stop = threading.Event()

    def traffic() -> None:
        for seed in range(100):
            request = Request(prompt=(0, 1), sampling=Sampling(), seed=8 * seed, n=8, max_tokens=20)
            asyncio.run(engine.complete(request))
            if stop.wait(0.03):
                return

    busy = threading.Thread(target=traffic)
    with running(make_app(engine)) as base:
        busy.start()
        ran = specaudit(
            *(COUNTERS, "--watch", f"{base}/metrics", "--every", "150ms", "--for", "1s", "--json"),
            *("--record", "kept.jsonl"),
        )
        stop.set()
        busy.join()
    summary = json.loads(ran.out)
    assert ran.code in (0, 4), ran.err
    assert len(summary["windows"]) >= 3
    assert len(ran.err.splitlines()) == len(summary["windows"])
    kept = snapshots_in(Path("kept.jsonl").read_bytes())
    assert len(kept) == len(summary["windows"]) + 1
    assert kept[0].headers["content-type"].startswith("text/plain")
    assert "date" in kept[0].headers
    again = json.loads(specaudit(COUNTERS, "kept.jsonl", "--json").out)
    assert again == summary


def test_addresses_that_look_alike_are_told_apart(specaudit: Specaudit) -> None:
    engine = ReferenceEngine(SpeculativeDecoder(MARKOV4, draft_tokens=3))
    with running(make_app(engine)) as base:
        urls = [word for query in ("a=1", "a=2") for word in ("--watch", f"{base}/metrics?{query}")]
        ran = specaudit(COUNTERS, *urls, "--every", "50ms", "--for", "120ms", "--json")
    sources = {window["source"] for window in json.loads(ran.out)["windows"]}
    assert sources == {f"{base}/metrics", f"{base}/metrics (2)"}


def test_an_interrupted_watch_says_what_it_has(
    specaudit: Specaudit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from specaudit.cli import counters_watch

    engine, read = ReferenceEngine(SpeculativeDecoder(MARKOV4, draft_tokens=3)), counters_watch._read
    taken: list[Snapshot] = []

    async def until_two(source: str, address: object) -> Snapshot:
        if len(taken) == 2:
            raise KeyboardInterrupt
        taken.append(await read(source, address))
        return taken[-1]

    monkeypatch.setattr(counters_watch, "_read", until_two)
    with running(make_app(engine)) as base:
        ran = specaudit(COUNTERS, "--watch", f"{base}/metrics", "--every", "10ms")
    assert ran.code == 130
    assert ran.out.startswith("NOTHING VALID  1 window: 1 void")


def test_a_server_that_goes_away_leaves_a_gap(specaudit: Specaudit) -> None:
    engine = ReferenceEngine(SpeculativeDecoder(MARKOV4, draft_tokens=3))
    done = threading.Event()
    gone = threading.Event()

    def serve() -> None:
        with running(make_app(engine)) as base:
            address.append(base)
            done.set()
            time.sleep(0.5)
        gone.set()

    address: list[str] = []
    server = threading.Thread(target=serve)
    server.start()
    done.wait(5)
    ran = specaudit(COUNTERS, "--watch", f"{address[0]}/metrics", "--every", "100ms", "--for", "1500ms", "--json")
    server.join()
    statuses = json.loads(ran.out)["statuses"]
    assert statuses["unread"] > 0
    assert statuses["void"] > 0
