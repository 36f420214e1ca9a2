"""How many weights a transformer has, which of them a token uses, and what a token leaves in the cache."""

from typing import Annotated

import msgspec

from specaudit.model.errors import UsageError
from specaudit.model.record import Record

Count = Annotated[int, msgspec.Meta(ge=1)]


class Experts(Record, frozen=True, kw_only=True):
    """A mixture of experts in the place of the feed-forward layer."""

    routed: Count
    """Experts a layer that the router chooses among."""
    active: Count
    """Of those, experts that a token is sent to."""
    shared: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Experts that every token is sent to."""
    intermediate: Count
    """Width of an expert."""
    dense_layers: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Layers that have an ordinary feed-forward layer instead."""


class Latent(Record, frozen=True, kw_only=True):
    """Multi-head latent attention: the cache keeps a compressed vector instead of keys and values."""

    query: Count
    """Rank of the queries' compression."""
    kv: Count
    """Rank of the keys' and values' compression."""
    rope: Count
    """Width of a key's part that carries the position, shared by all heads."""
    nope: Count
    """Width of a head's key without it."""
    value: Count
    """Width of a head's value."""


class Architecture(Record, frozen=True, kw_only=True):
    """A row of the model table. Counts are derived from the shape, and checked against what was stated."""

    name: str
    aliases: tuple[str, ...] = ()
    layers: Count
    hidden: Count
    heads: Count
    kv_heads: Count
    head_dim: Count | None = None
    """Width of a head; by default hidden / heads."""
    intermediate: Count
    """Width of the feed-forward layer."""
    vocabulary: Count
    tied: bool = False
    """Whether the LM head is the input embedding."""
    experts: Experts | None = None
    latent: Latent | None = None
    stated: float | None = None
    """Parameters as published, in billions."""
    stated_active: float | None = None
    """Of those, parameters that a token uses, as published, in billions."""
    source: str
    remarks: str = ""

    @property
    def head_width(self) -> int:
        """Width of a head."""
        return self.head_dim or self.hidden // self.heads

    @property
    def embedding(self) -> float:
        """Weights of the input embedding; the LM head has as many."""
        return float(self.vocabulary * self.hidden)

    @property
    def attention(self) -> float:
        """Weights of a layer's attention."""
        if self.latent is None:
            queries, keys = self.heads * self.head_width, self.kv_heads * self.head_width
            return float(self.hidden * (2 * queries + 2 * keys))
        rank = self.latent
        queries = self.hidden * rank.query + rank.query * self.heads * (rank.nope + rank.rope)
        keys = self.hidden * (rank.kv + rank.rope) + rank.kv * self.heads * (rank.nope + rank.value)
        return float(queries + keys + self.heads * rank.value * self.hidden)

    @property
    def feed_forward(self) -> float:
        """Weights of an ordinary feed-forward layer: gate, up, down."""
        return 3.0 * self.hidden * self.intermediate

    @property
    def expert(self) -> float:
        """Weights of one expert; 0 without any."""
        return 0.0 if self.experts is None else 3.0 * self.hidden * self.experts.intermediate

    @property
    def moe_layers(self) -> int:
        """Layers with experts."""
        return 0 if self.experts is None else self.layers - self.experts.dense_layers

    @property
    def layer(self) -> float:
        """Weights of a layer that a token uses, norms left out: of one with experts, where there are such."""
        if self.experts is None:
            return self.attention + self.feed_forward
        used = self.experts.active + self.experts.shared
        return self.attention + used * self.expert + self.hidden * self.experts.routed

    @property
    def routed(self) -> float:
        """Weights of all routed experts in all layers."""
        return 0.0 if self.experts is None else self.moe_layers * self.experts.routed * self.expert

    @property
    def parameters(self) -> float:
        """All weights."""
        return self.active + (0.0 if self.experts is None else self.routed - self.routed_active)

    @property
    def routed_active(self) -> float:
        """Weights of the routed experts that one token is sent to, in all layers."""
        return 0.0 if self.experts is None else self.moe_layers * self.experts.active * self.expert

    @property
    def active(self) -> float:
        """Weights that a token uses; the input embedding counts whole, as in published figures."""
        dense = (self.layers - self.moe_layers) * (self.attention + self.feed_forward)
        norms = (2 * self.layers + 1) * self.hidden
        ends = self.embedding * (1 if self.tied else 2)
        return dense + self.moe_layers * self.layer + norms + ends

    @property
    def cached(self) -> int:
        """Values that a token leaves in the cache, over all layers."""
        if self.latent is not None:
            return self.layers * (self.latent.kv + self.latent.rope)
        return self.layers * 2 * self.kv_heads * self.head_width

    @property
    def attended(self) -> int:
        """Multiplications and additions by which a token looks at one token of the cache, over all layers.

        With latent attention they are done in the compressed space.
        """
        if self.latent is not None:
            return 2 * self.layers * self.heads * (2 * self.latent.kv + self.latent.rope)
        return 4 * self.layers * self.heads * self.head_width


_AGREES = 0.02


def check_architecture(model: Architecture) -> None:
    """Refuse a row whose shape contradicts what was published.

    Raises:
        UsageError: counts differ by more than 2 %, or more experts are active than there are.
    """
    experts = model.experts
    if experts is not None and (experts.active > experts.routed or experts.dense_layers >= model.layers):
        raise UsageError(
            f"{model.name}: {experts.active} of {experts.routed} experts cannot be active, or "
            f"{experts.dense_layers} of {model.layers} layers be dense.",
            hint="Look up num_experts_per_tok and n_routed_experts in the model's config.json",
        )
    for name, stated, derived in (
        ("stated", model.stated, model.parameters),
        ("stated_active", model.stated_active, model.active),
    ):
        if stated is not None and abs(derived / (stated * 1e9) - 1) > _AGREES:
            raise UsageError(
                f"{model.name}: {name} = {stated:g} billion parameters, and its shape has {derived / 1e9:.2f} billion.",
                hint="Compare layers, widths and vocabulary with the model's config.json",
            )
