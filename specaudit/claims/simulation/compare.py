"""Policies side by side under the same load: how fast, for whom, and who is slower than without speculation."""

from collections.abc import Sequence

import numpy as np

from specaudit.claims.simulation.policies import Policy, fixed
from specaudit.claims.simulation.run import Served, serve
from specaudit.claims.simulation.workload import Workload
from specaudit.claims.speed_up import Speculation
from specaudit.decoding.scheduler import Scheduling
from specaudit.model.record import FORM_VERSION, Record


class OfKind(Record, frozen=True, kw_only=True):
    """How a kind of request fared under a policy, each request beside itself under plain decoding."""

    kind: str
    requests: int
    speed_up: float
    """Geometric mean over its requests of the time under plain decoding over that under the policy."""
    slowed: float
    """Share of its requests that took longer than under plain decoding."""
    tail: float
    """Share that it has of the slowest requests of all."""


class OfPolicy(Record, frozen=True, kw_only=True):
    """How a policy did under a load."""

    policy: str
    throughput: float
    """Tokens a second."""
    crowded: float
    """The same over the steps with as many requests as there ever were at once."""
    batch: float
    """Mean requests in a step."""
    acceptance: float | None
    """Accepted drafts per draft; None where nothing was drafted."""
    median: float
    """Median over requests of seconds per token, from arrival to the last one."""
    p99: float
    """The time that 99 % of the requests stay below."""
    speed_up: float
    """Geometric mean over all requests."""
    slowed: float
    """Share of the requests that took longer than under plain decoding."""
    preemptions: int
    kinds: tuple[OfKind, ...]


class OfLoad(Record, frozen=True, kw_only=True):
    """All policies under one load."""

    load: str
    """E.g. `8 requests/s`, or `64 at once`."""
    closed: bool
    """Whether all requests were there from the start, so that a batch is always full."""
    policies: tuple[OfPolicy, ...]


class Comparison(Record, frozen=True, kw_only=True):
    """Policies under several loads."""

    version: int = FORM_VERSION
    requests: int
    tail: float
    """The share of requests that is called the slowest."""
    loads: tuple[OfLoad, ...]


TAIL = 0.02


def compare(
    loads: Sequence[tuple[str, Workload, Scheduling]],
    speculation: Speculation,
    policies: Sequence[Policy],
    *,
    prompt: int,
    prefill: bool,
) -> Comparison:
    """Serve every workload under every policy, and under plain decoding first.

    Args:
        loads: workloads with what they are called and the limits they are served with.
        speculation: what a step costs.
        policies: ways to choose draft lengths.
        prompt: tokens of every prompt.
        prefill: whether prompts are read here.
    """
    found = []
    for name, load, limits in loads:
        plain, *others = (
            serve(load, speculation, policy, prompt=prompt, limits=limits, prefill=prefill)
            for policy in (fixed(0), *policies)
        )
        served = tuple(_of_policy(load, one, plain) for one in (plain, *others))
        found.append(OfLoad(load=name, closed=not load.arrivals.any(), policies=served))
    return Comparison(requests=len(loads[0][1].tokens), tail=TAIL, loads=tuple(found))


def _of_policy(load: Workload, served: Served, plain: Served) -> OfPolicy:
    times, before = served.per_token(load), plain.per_token(load)
    ratio = np.log(before / times)
    slow = times > before * (1 + 1e-9)
    slowest = np.argsort(times)[-max(1, round(TAIL * len(times))) :]
    return OfPolicy(
        policy=served.policy,
        throughput=served.throughput(load),
        crowded=served.crowded,
        batch=served.batch,
        acceptance=served.accepted / served.drafted if served.drafted else None,
        median=float(np.median(times)),
        p99=float(np.quantile(times, 0.99)),
        speed_up=float(np.exp(ratio.mean())),
        slowed=float(slow.mean()),
        preemptions=served.preemptions,
        kinds=tuple(
            OfKind(
                kind=kind.name,
                requests=int(mine.sum()),
                speed_up=float(np.exp(ratio[mine].mean())) if mine.any() else 1.0,
                slowed=float(slow[mine].mean()) if mine.any() else 0.0,
                tail=float((load.kind[slowest] == number).mean()),
            )
            for number, kind in enumerate(load.kinds)
            for mine in [load.kind == number]
        ),
    )
