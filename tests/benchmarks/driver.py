"""Completions a second through the whole driver, evidence writing included. Run it: python -m tests.benchmarks.driver.

The subject is llama.cpp on loopback with a tiny model. The baseline in the same run is a bare aiohttp client that posts
the very same bodies at the same concurrency and reads the answers as bytes. The two take turns, short ones and many,
so that whatever else the machine does meets both: a turn of either was seen to take twice as long as another on an idle
machine, and over 40 pairs of turns the share came out a fortieth too high or too low. Exit code 1 where the driver is
more than 15 % slower.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from itertools import count
from math import log
from pathlib import Path
from statistics import stdev
from tempfile import TemporaryDirectory

import aiohttp
import msgspec

from specaudit.audit.collect import Collector
from specaudit.audit.events import silent
from specaudit.audit.record import Recorder
from specaudit.engines.interface import Access
from specaudit.engines.llamacpp import build
from specaudit.engines.server import ServerEngine
from specaudit.model.entries import PlanEntry, StageEntry
from specaudit.model.plan import Arm, Plan, PlannedRequest, Stage
from specaudit.model.record import digest
from specaudit.model.request import Request, Sampling
from specaudit.model.suite import Suite
from tests.engines.llamacpp.fleet import Fleet

REQUESTS, ROUNDS, CONCURRENCY = 40, 400, 8
TOKENS, PROMPT = 16, (1, 5, 6, 7)
ALLOWED = 0.85
"""Of the bare client's completions a second."""


def requests(first_seed: int) -> tuple[Request, ...]:
    """Completions as LAW1 asks for them."""
    sampling = Sampling(top_k=4)
    return tuple(
        Request(prompt=PROMPT, sampling=sampling, seed=first_seed + i, max_tokens=TOKENS) for i in range(REQUESTS)
    )


async def driven(engine: ServerEngine, asked: Sequence[Request], folder: Path) -> float:
    """Seconds that the driver takes to ask, record and write."""
    arm = Arm(role="subject", engine="llamacpp", endpoint="http://127.0.0.1")
    plan = Plan(
        tool="benchmark",
        created="",
        suite=Suite(name="driver", title="", checks={}),
        checks=(),
        required=(),
        arms=(arm,),
        alpha=1e-3,
        seed=0,
        concurrency=CONCURRENCY,
    )
    block = tuple(PlannedRequest(arm="subject", prompt_index=0, request=request) for request in asked)
    stage = Stage(name="driver", blocks=(block,))
    with Recorder(folder) as recorder:
        recorder.append(PlanEntry(plan=plan, digest=digest(plan)))
        recorder.append(StageEntry(stage=stage, digest=digest(stage)))
        collector = Collector(recorder, {"subject": engine}, {}, concurrency=CONCURRENCY, listener=silent)
        start = time.perf_counter()
        await collector.collect(stage)
        return time.perf_counter() - start


async def bare(session: aiohttp.ClientSession, url: str, bodies: Sequence[bytes]) -> float:
    """Seconds that posting the bodies takes."""
    waiting = iter(bodies)

    async def work() -> None:
        for body in waiting:
            async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as answer:
                assert answer.status == 200
                await answer.read()

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
    return time.perf_counter() - start


async def measured(address: str, folder: Path) -> tuple[list[float], list[float]]:
    """Seconds of the driver and of the bare client, round by round."""
    engine = build(Arm(role="subject", engine="llamacpp", endpoint=f"{address}/v1"), Access(connections=CONCURRENCY))
    await engine.probe()
    manner = engine.asker.manner
    seeds = count(1, REQUESTS)
    seconds: tuple[list[float], list[float]] = ([], [])
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONCURRENCY)) as session:
        for number in range(ROUNDS):
            asked = requests(next(seeds))
            bodies = [msgspec.json.encode(manner.body(manner.fields(request))) for request in asked]
            turns = (
                (0, lambda asked=asked, number=number: driven(engine, asked, folder / str(number))),
                (1, lambda bodies=bodies: bare(session, f"{address}/completion", bodies)),
            )
            for which, turn in turns if number % 2 else turns[::-1]:
                seconds[which].append(await turn())
    await engine.close()
    return seconds


def main() -> int:
    """Measure, print both, and say whether the driver keeps up."""
    with TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder) / "models")
        try:
            ours, theirs = asyncio.run(measured(fleet["plain"], Path(folder) / "evidence"))
        finally:
            fleet.stop()
    asked, share = REQUESTS * ROUNDS, sum(theirs) / sum(ours)
    spread = stdev(log(theirs_took / took) for took, theirs_took in zip(ours, theirs, strict=True)) / ROUNDS**0.5
    print(f"{asked:,} completions of {TOKENS} tokens each, {CONCURRENCY} in flight, in turns of {REQUESTS}")
    print(f"driver, evidence written: {asked / sum(ours):,.0f} completions/s")
    print(f"bare aiohttp client:      {asked / sum(theirs):,.0f} completions/s")
    print(f"the driver reaches {share:.1%} of it (standard error {spread:.1%}); {ALLOWED:.0%} is asked for")
    return 0 if share >= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())
