"""Counters at length. Run it: python -m tests.benchmarks.counters [parse] [watch] [fleet].

parse: a page of 5 MB (many engines) becomes readings; the baseline in the same run is prometheus-client's parser over
the whole page. watch: 24 hours of pages at every five seconds, all kept as windows and summed up; what the process
holds at its peak. fleet: 10,000 simulated servers; what became of their windows, and how often their intervals cover.
"""

import resource
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from specaudit.counters.history import History, Interval
from specaudit.counters.read import read_page
from specaudit.counters.snapshots import Snapshot
from specaudit.counters.summary import summarise
from specaudit.render.counters import render_counters
from tests.counters.fleet import tally
from tests.counters.pages import vllm_page
from tests.counters.simulated import Server

RECORDED = Path(__file__).parent.parent / "counters" / "fixtures" / "vllm" / "draft_after.prom"
ENGINES = 145
RUNS = 5
SERVERS = 10_000
DAY, EVERY = 24 * 3600, 5


def page_of_many_engines(text: str, engines: int) -> str:
    """Repeat every sample that is an engine's for so many engines."""
    lines = []
    for line in text.splitlines():
        own = 'engine="0"' in line
        lines += [line.replace('engine="0"', f'engine="{i}"') for i in range(engines)] if own else [line]
    return "\n".join(lines) + "\n"


def fastest(work: Callable[[], object]) -> float:
    """The fewest seconds of processor in some runs."""
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def parse() -> str:
    """Read a large page, and let the client's parser go over all of it."""
    text = page_of_many_engines(RECORDED.read_text(encoding="utf-8"), ENGINES)
    assert len(read_page(text)) == ENGINES
    ours = fastest(lambda: read_page(text))
    baseline = fastest(lambda: [family.samples for family in text_string_to_metric_families(text)])
    return (
        f"parse: {len(text) / 1e6:.1f} MB, {ENGINES} engines in {ours:.2f} s of processor (below 1); prometheus-client "
        f"over the whole page {baseline:.2f} s: ratio {baseline / ours:.1f}"
    )


def watch() -> str:
    """Take a day's pages of a server that is restarted now and then."""
    server, history = Server(seed=0, draft_tokens=3), History()
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    intervals: list[Interval] = []
    start = time.process_time()
    for number in range(DAY // EVERY):
        if number % 4:
            server.serve(4, 64)
        if number % 5000 == 4999:
            server.restart()
        taken = (begun + timedelta(seconds=EVERY * number)).isoformat()
        intervals += history.add(Snapshot(source="http://server/metrics", taken=taken, page=page_of(server)))
    shown = render_counters(summarise(intervals, confidence=0.99))
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert shown.startswith("MEASURED")
    return (
        f"watch: {DAY // EVERY:,} pages, {len(intervals):,} windows, the whole process held {peak:.0f} MB at its peak "
        f"(below 200); {seconds:.0f} s of processor, {1000 * seconds / (DAY // EVERY):.1f} ms a page"
    )


def page_of(server: Server) -> str:
    """The page of a simulated server."""
    reading = server.read()
    return vllm_page(
        drafts=reading.drafts,
        draft_tokens=reading.draft_tokens,
        accepted=reading.accepted,
        positions=reading.accepted_per_position,
        generation=reading.generation_tokens,
        sequences=reading.requests_finished,
        created=1.7e9 + server.lives,
    )


def fleet() -> str:
    """Simulate the servers and count."""
    start = time.process_time()
    found = tally(range(SERVERS))
    seconds = time.process_time() - start
    return (
        f"fleet: {SERVERS:,} servers, {found.windows:,} windows, {found.valid:,} valid, of which "
        f"{found.valid_with_a_reset} hold a reset, {found.valid_with_foreign_tokens} foreign tokens where the client "
        f"knows its own, and {found.valid_without_a_mark} no mark (all 0); {found.clean_and_kept / found.clean:.2%} of "
        f"{found.clean:,} clean windows kept (at least 95 %); {found.contradictions} called wrong (0); "
        f"{found.intervals:,} intervals at .99, {found.covering / found.intervals:.2%} cover (at least 97 %); "
        f"{seconds:.0f} s of processor"
    )


def main() -> None:
    """Print what was asked for, or all."""
    wanted = sys.argv[1:] or ["parse", "watch", "fleet"]
    for name, measure in (("parse", parse), ("watch", watch), ("fleet", fleet)):
        if name in wanted:
            print(measure(), flush=True)


if __name__ == "__main__":
    main()
