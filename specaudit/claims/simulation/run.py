"""One policy under one load: requests come, the decoder's own scheduler moves them, and the model tells how long."""

from dataclasses import dataclass

import numpy as np

from specaudit.claims.simulation.policies import Policy, ragged_seconds
from specaudit.claims.simulation.workload import Workload, world_of
from specaudit.claims.speed_up import Speculation
from specaudit.claims.tokens import Floats
from specaudit.decoding.scheduler import Scheduling


@dataclass(frozen=True, kw_only=True)
class Served:
    """What became of the requests of a workload under one policy.

    Attributes:
        policy: its name.
        first: seconds at which each request had its first token `[N]`.
        last: seconds at which each had its last one `[N]`.
        seconds: time from the first arrival to the last token.
        steps: steps of the decoder.
        crowded: tokens a second over the steps with as many requests as there ever were at once.
        batch: mean number of requests in a step, each step weighted by its time.
        accepted: accepted drafts over all.
        drafted: drafts over all.
        preemptions: how often a request had to give way.
    """

    policy: str
    first: Floats
    last: Floats
    seconds: float
    steps: int
    crowded: float
    batch: float
    accepted: int
    drafted: int
    preemptions: int

    def per_token(self, load: Workload) -> Floats:
        """Return the seconds a token of each request, from arrival to the last one `[N]`."""
        return (self.last - load.arrivals) / load.tokens

    def throughput(self, load: Workload) -> float:
        """Return tokens a second over all requests."""
        return float(load.tokens.sum()) / self.seconds


def serve(
    load: Workload,
    speculation: Speculation,
    policy: Policy,
    *,
    prompt: int,
    limits: Scheduling,
    prefill: bool = True,
) -> Served:
    """Serve a workload.

    A prompt is one token to the decoder and `prompt` tokens to the clock, in the cache as in the step that reads it,
    again after a preemption.

    Args:
        load: the requests.
        speculation: what a step costs.
        policy: chooses draft lengths.
        prompt: tokens of every prompt.
        limits: those of the decoder's scheduler; its `kv_tokens` count one token for a prompt.
        prefill: whether prompts are read here; where they are not, only preempted requests read theirs again.
    """
    count = len(load.arrivals)
    loop = policy.make(world_of(load.kinds)).start(count, limits)
    emitted = np.zeros(count, dtype=np.int64)
    first, last = np.full(count, np.nan), np.full(count, np.nan)
    clock, arrived, steps, accepted, drafted, weight = float(load.arrivals[0]), 0, 0, 0, 0, 0.0
    begun = clock
    by_batch: dict[int, tuple[int, float]] = {}
    while arrived < count or loop.running or loop.waiting:
        if not loop.running and not loop.waiting:
            clock = max(clock, float(load.arrivals[arrived]))
        come = int(np.searchsorted(load.arrivals, clock, side="right"))
        if come > arrived:
            prompts = 2 * load.kind[arrived:come, None]
            loop.add(prompts, load.seeds[arrived:come], max_tokens=load.tokens[arrived:come])
            arrived = come
        executed = loop.step()
        steps += 1
        if executed is None:
            continue
        who, drafts = executed.arrival, executed.drafts.count
        replayed = (emitted[who] > 0) & (executed.computed - drafts > 1)
        again = replayed | (prefill & (emitted[who] == 0))
        tokens = executed.computed + np.where(again, prompt - 1, 0)
        took = ragged_seconds(speculation, drafts, (prompt + emitted[who]).astype(np.float64), tokens)
        clock += took
        weight += took * len(who)
        first[who[emitted[who] == 0]] = clock
        emitted[who] += executed.trimmed.emitted
        last[who] = clock
        before = by_batch.get(len(who), (0, 0.0))
        by_batch[len(who)] = before[0] + int(executed.trimmed.emitted.sum()), before[1] + took
        accepted += int(np.minimum(executed.verified.n_accepted, executed.trimmed.emitted).sum())
        drafted += int(drafts.sum())
    return Served(
        policy=policy.name,
        first=first,
        last=last,
        seconds=clock - begun,
        steps=steps,
        crowded=by_batch[max(by_batch)][0] / by_batch[max(by_batch)][1],
        batch=weight / (clock - begun),
        accepted=accepted,
        drafted=drafted,
        preemptions=loop.preemptions,
    )
