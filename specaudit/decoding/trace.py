"""One request, step by step: what was drafted, how it was judged, and what became of it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from specaudit.decoding.block import Executed
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.parameters import SamplingParameters, StopRules
from specaudit.decoding.reading import nodes

Verdict = Literal["accepted", "rejected", "unseen"]
Kind = Literal["undrafted", "replacement", "bonus", "none"]


@dataclass(frozen=True, kw_only=True)
class TracedDraft:
    """One draft.

    Attributes:
        token: what was proposed.
        behind: the draft that it stands behind, by its place in the step; −1 is the last emitted token.
        q: the probability that it was drawn with.
        p: the target's probability of it there.
        coin: the uniform that judges it; None at temperature 0, where the target's likeliest token does.
        verdict: whether the target accepted it; `unseen` where one in front of it was rejected, or an elder sibling
            accepted.
    """

    token: int
    behind: int
    q: float
    p: float
    coin: float | None
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class TracedStep:
    """One step.

    Attributes:
        drafts: what was drafted, in order; of a tree level by level.
        kind: what the last token is: the replacement of a rejected draft, the bonus behind accepted ones, the token of
            a step without drafts; `none` where a stop before it, or the verifier, leaves it out.
        emitted: tokens that left the engine.
        computed: tokens that the target read, the prompt's and the drafts' included.
        kept: tokens of those that stay in its memory.
        rolled_back: the rest.
    """

    drafts: tuple[TracedDraft, ...]
    kind: Kind
    emitted: tuple[int, ...]
    computed: int
    kept: int
    rolled_back: int


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One request.

    Attributes:
        prompt: its tokens.
        steps: how it was decoded.
        tokens: what was emitted.
        finish: why it ended: EOS, another stop token, a stop string, or its cap.
    """

    prompt: tuple[int, ...]
    steps: tuple[TracedStep, ...]
    tokens: tuple[int, ...]
    finish: Literal["eos", "stop token", "stop string", "length"]


def trace(
    decoder: SpeculativeDecoder,
    prompt: tuple[int, ...],
    seed: int,
    *,
    max_tokens: int,
    parameters: SamplingParameters,
    stop: StopRules,
) -> Trace:
    """Decode one request alone, and watch it.

    Raises:
        ValueError: it asks for what the decoder does not have.
    """
    loop = decoder.start(1)
    prompts = np.array([prompt], dtype=np.int64)
    request = loop.add(prompts, np.array([seed]), max_tokens=max_tokens, parameters=parameters, stop=stop)
    steps = []
    while not loop.finished(request):
        if (executed := loop.step()) is not None:
            steps.append(_traced(decoder, executed))
    generation = loop.collect(request)
    tokens = tuple(generation.tokens[0, : generation.lengths[0]].tolist())
    return Trace(
        prompt=prompt,
        steps=tuple(steps),
        tokens=tokens,
        finish=_finish(decoder, tokens, stop) if generation.stopped[0] else "length",
    )


def _finish(
    decoder: SpeculativeDecoder, tokens: tuple[int, ...], stop: StopRules
) -> Literal["eos", "stop token", "stop string"]:
    if tokens[-1] == decoder.world.eos and not stop.ignore_eos:
        return "eos"
    return "stop token" if tokens[-1] in stop.token_ids else "stop string"


def _traced(decoder: SpeculativeDecoder, executed: Executed) -> TracedStep:
    """Write down what happened to the only row of a step."""
    drafts, verified, trimmed = executed.drafts, executed.verified, executed.trimmed
    count, emitted = int(drafts.count[0]), int(trimmed.emitted[0])
    accepted = int(verified.n_accepted[0])
    coins = None if executed.block.rules.greedy[0] else decoder.dealt(executed.coins, drafts.tokens.shape[1])[0]
    path = nodes(verified)[0, : accepted + 1].tolist()
    parents = list(range(count)) if decoder.topology is None else list(decoder.topology.parents[:count])
    kind: Kind = "bonus"
    if emitted <= accepted:
        kind = "none"
    elif not count:
        kind = "undrafted"
    elif path[-1] in parents:
        kind = "replacement"
    return TracedStep(
        drafts=tuple(
            TracedDraft(
                token=int(drafts.tokens[0, i]),
                behind=parents[i] - 1,
                q=float(drafts.q[0, i, drafts.tokens[0, i]]),
                p=float(executed.p[0, parents[i], drafts.tokens[0, i]]),
                coin=None if coins is None else float(coins[i]),
                verdict=_verdict(i + 1, parents[i], path),
            )
            for i in range(count)
        ),
        kind=kind,
        emitted=tuple(verified.out[0, :emitted].tolist()),
        computed=int(executed.computed[0]),
        kept=int(executed.kept[0]),
        rolled_back=int(executed.computed[0] - executed.kept[0]),
    )


def _verdict(node: int, parent: int, path: list[int]) -> Verdict:
    """Say what became of a node, given the accepted ones from node 0 on."""
    if node in path:
        return "accepted"
    # Siblings are judged in order, until one is accepted.
    behind = path[path.index(parent) + 1 :] if parent in path else [0]
    return "rejected" if not behind or node < behind[0] else "unseen"
