"""What drafting costs: each drafter by the weights that a pass reads, its cache, and what starting a pass takes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specaudit.claims.architecture import Architecture
from specaudit.claims.experts import touched
from specaudit.claims.step_time import Deployment
from specaudit.claims.tokens import Floats, Shape


@dataclass(frozen=True, kw_only=True)
class Drafter:
    """A drafter; its weights have the target's precision, and lie on the target's devices.

    Attributes:
        name: what it is.
        weights: weights that a pass reads.
        per_token: weights that a drafted token is multiplied with.
        cached: values that a token leaves in its cache.
        launch: seconds that starting a pass takes.
        routed: the model whose routed experts a pass reads, as many of a layer as its tokens touch; those of one token
            are in `weights`. None where it has none.
        blind: whether one pass drafts all tokens, none of which sees the others; it then reads `weights` for each.
    """

    name: str
    weights: float
    per_token: float
    cached: float = 0.0
    launch: float = 0.0
    routed: Architecture | None = None
    blind: bool = False

    def share(self, target: float) -> float:
        """Return the weights of a pass over those of a step of the target."""
        return self.weights / target

    def resident(self, shape: Shape) -> float:
        """Return the weights that lie in memory: a head for each level of a blind drafter, and all experts."""
        experts = None if self.routed is None else self.routed.experts
        idle = 0.0 if experts is None or self.routed is None else self.routed.expert * (experts.routed - experts.active)
        return self.weights * (len(shape.levels) if self.blind else 1) + idle

    def seconds(self, deployment: Deployment, shape: Shape, batch: ArrayLike, context: ArrayLike) -> Floats:
        """Return the seconds of drafting for one step; arrays as in `Deployment.step`."""
        sequences, seen = np.broadcast_arrays(np.asarray(batch, np.float64), np.asarray(context, np.float64))
        levels = shape.levels
        if not levels:
            return np.zeros(sequences.shape)
        # A blind drafter gives every level a head of its own, and reads all of them in one pass.
        passes = [(len(levels), len(levels))] if self.blind else [(nodes, 1) for nodes in levels]
        cache = self.cached * deployment.cache.bytes * sequences * seen
        total = np.zeros(sequences.shape)
        for tokens, reads in passes:
            read = reads * self.weights + self._further_experts(sequences * tokens)
            memory = (read * deployment.precision.bytes + cache) / deployment.bandwidth
            compute = 2 * self.per_token * sequences * tokens / deployment.flops
            total += np.maximum(memory, compute) + self.launch
        return total

    def _further_experts(self, tokens: Floats) -> Floats:
        """Weights of the routed experts that so many tokens touch beyond those of one."""
        if self.routed is None or self.routed.experts is None:
            return np.zeros_like(tokens)
        experts = self.routed.experts
        return np.asarray(self.routed.expert * (touched(experts, tokens) - experts.active))


def small_model(model: Architecture, *, launch: float = 0.0) -> Drafter:
    """Return a model of its own that drafts one token a pass."""
    return Drafter(
        name=model.name, weights=model.parameters, per_token=model.active, cached=model.cached, launch=launch
    )


def of_share(target: Architecture, share: float, *, launch: float = 0.0) -> Drafter:
    """Return a drafter whose pass reads and multiplies a share of what the target does."""
    return Drafter(
        name=f"{share:.3g} of the target",
        weights=share * target.parameters,
        per_token=share * target.active,
        launch=launch,
    )


def eagle(target: Architecture, *, head: bool = True, launch: float = 0.0) -> Drafter:
    """Return EAGLE: a layer of the target, 2h → h in front of it, and the target's LM head.

    Source: Li et al., "EAGLE: speculative sampling requires rethinking feature uncertainty", ICML 2024.
    """
    weights = _dense_layer(target) + 2 * target.hidden**2 + (target.embedding if head else 0.0)
    return Drafter(
        name="EAGLE head", weights=weights, per_token=weights, cached=target.cached / target.layers, launch=launch
    )


def eagle3(target: Architecture, *, vocabulary: int = 32_000, launch: float = 0.0) -> Drafter:
    """Return EAGLE-3: 3h → h, a layer whose attention reads 2h, and an LM head of a smaller vocabulary.

    Source: Li et al., "EAGLE-3: scaling up inference acceleration of large language models via training-time test",
    2025; 32,000 tokens have the published heads for Llama.
    """
    queries, keys = target.heads * target.head_width, target.kv_heads * target.head_width
    wider = target.hidden * (queries + 2 * keys)
    weights = _dense_layer(target) + wider + 3 * target.hidden**2 + vocabulary * target.hidden
    return Drafter(
        name="EAGLE-3 head", weights=weights, per_token=weights, cached=target.cached / target.layers, launch=launch
    )


def mtp(target: Architecture, *, launch: float = 0.0) -> Drafter:
    """Return multi-token prediction: a layer of the target with its experts, 2h → h, and the target's LM head.

    Source: DeepSeek-AI, "DeepSeek-V3 technical report", 2024, section 2.2.
    """
    weights = target.layer + 2 * target.hidden**2 + target.embedding
    return Drafter(
        name="MTP",
        weights=weights,
        per_token=weights,
        cached=target.cached / target.layers,
        launch=launch,
        routed=target,
    )


def blind_heads(target: Architecture, *, launch: float = 0.0) -> Drafter:
    """Return parallel heads, each an h × h residual layer and an LM head: all drafts in one pass.

    Source: Cai et al., "Medusa: simple LLM inference acceleration framework with multiple decoding heads", ICML 2024.
    """
    weights = target.hidden**2 + target.embedding
    return Drafter(name="blind heads", weights=weights, per_token=weights, launch=launch, blind=True)


def prompt_lookup(*, launch: float = 0.0) -> Drafter:
    """Return a search for the last tokens in what was said before: no weights, one launch."""
    return Drafter(name="prompt lookup", weights=0.0, per_token=0.0, launch=launch, blind=True)


def _dense_layer(target: Architecture) -> float:
    """A layer of the target with an ordinary feed-forward layer."""
    return target.attention + target.feed_forward
