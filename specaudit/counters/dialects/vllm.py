"""vLLM V1, and the schema that other engines took over from it (names as of vLLM 0.33)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from specaudit.counters.interface import NoSpeculationCounters, Reading
from specaudit.counters.lookup import Lookup, flat, replicas
from specaudit.counters.page import Sample

_DRAFTS = "spec_decode_num_drafts_total"
_DRAFT_TOKENS = "spec_decode_num_draft_tokens_total"
_ACCEPTED = "spec_decode_num_accepted_tokens_total"
_ACCEPTED_PER_POSITION = "spec_decode_num_accepted_tokens_per_pos_total"
_SPECULATION = (_DRAFTS, _DRAFT_TOKENS, _ACCEPTED, _ACCEPTED_PER_POSITION)


@dataclass(frozen=True, kw_only=True)
class VllmSchema:
    """A dialect with vLLM's speculation series under a prefix of its own.

    Attributes:
        name: The engine's name.
        description: The engine, and what its counters are worth.
        prefix: What every series of the engine starts with.
        without_speculation: What it means when the speculation series are absent, the end of a sentence.
        generation_tokens: The counter of emitted tokens.
        requests_finished: The counter of finished sequences, None if there is none.
        running: The gauge of requests being served.
        waiting: The gauge of queued requests.
        configuration: Series that describe the configuration.
        digits: Significant digits that counters are printed with, None for all.
    """

    name: str
    description: str
    prefix: str
    without_speculation: str
    generation_tokens: str = "generation_tokens_total"
    requests_finished: str | None = "request_success_total"
    running: str = "num_requests_running"
    waiting: str = "num_requests_waiting"
    configuration: tuple[str, ...] = ("cache_config_info",)
    digits: int | None = None

    def recognises(self, samples: Sequence[Sample]) -> bool:
        """Whether any series has the engine's prefix."""
        return any(flat(sample.name).startswith(flat(self.prefix)) for sample in samples)

    def read(self, samples: Sequence[Sample]) -> tuple[Reading, ...]:
        """Read the counters of each engine on the page.

        Raises:
            NoSpeculationCounters: The page has no speculation counters.
            PageError: Some of the series needed are missing, or the draft positions are not 0, 1, 2, ….
        """
        if not Lookup(samples, self.prefix).series(_SPECULATION):
            raise NoSpeculationCounters(
                f"the page is {self.name}'s but has no {self.prefix}spec_decode_* counters: {self.without_speculation}"
            )
        parts = replicas(samples, "engine")
        return tuple(self._reading(replica, Lookup(part, self.prefix)) for replica, part in sorted(parts.items()))

    def _reading(self, replica: str, page: Lookup) -> Reading:
        per_position = page.by_position(_ACCEPTED_PER_POSITION, "position")
        counters = (*_SPECULATION, self.generation_tokens)
        return Reading(
            replica=replica,
            drafts=page.needed(_DRAFTS),
            draft_tokens=page.needed(_DRAFT_TOKENS),
            accepted=page.needed(_ACCEPTED),
            accepted_per_position=per_position,
            draft_limit=len(per_position),
            generation_tokens=page.needed(self.generation_tokens),
            requests_finished=page.needed(self.requests_finished) if self.requests_finished else None,
            requests_running=page.needed(self.running),
            waiting=page.needed(self.waiting),
            asleep=any(
                (sample.labels.get("sleep_state") == "awake") != (sample.value == 1)
                for sample in page.samples("engine_sleep_state")
            ),
            marker=page.marker(counters),
            uptime=page.uptime(),
            configuration=page.values(self.configuration),
            series=page.series(_SPECULATION),
            step=self._step([sample for name in counters for sample in page.samples(name)]),
        )

    def _step(self, counters: Sequence[Sample]) -> float:
        """What the largest counter is rounded to by printing it with few digits."""
        largest = max(sample.value for sample in counters)
        if self.digits is None or not 10**self.digits <= largest < float("inf"):
            return 1.0
        return float(10 ** (floor(log10(largest)) + 1 - self.digits))


VLLM = VllmSchema(
    name="vllm",
    description="vLLM V1: counts past stops and caps; a step in which nothing was drafted is not counted",
    prefix="vllm:",
    without_speculation="vLLM exports them, at 0, as soon as speculation is configured, so this server decodes plainly",
)
