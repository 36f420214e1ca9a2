"""vLLM's first engine, V0 (releases before 0.9): counters that tell of speculation, and not of acceptance.

What it counts as accepted are the drafts that pass their own test, those behind a rejection included; steps are not
counted; the gauges are averages of no stated span, refreshed five seconds apart at the earliest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from specaudit.counters.interface import Reading
from specaudit.counters.lookup import Lookup
from specaudit.counters.page import Sample

_EMITTED = "spec_decode_num_emitted_tokens_total"
_COUNTERS = ("spec_decode_num_accepted_tokens_total", "spec_decode_num_draft_tokens_total", _EMITTED)
_GAUGES = ("spec_decode_draft_acceptance_rate", "spec_decode_efficiency")


@dataclass(frozen=True, kw_only=True)
class VllmV0:
    """The dialect of vLLM V0."""

    name: str = "vllm-v0"
    description: str = "vLLM V0: counts as accepted what matches behind a rejection, and no steps; not measurable"
    prefix: str = "vllm:"

    def recognises(self, samples: Sequence[Sample]) -> bool:
        """Whether the page has a series that only V0 exported."""
        page = Lookup(samples, self.prefix)
        return any(page.samples(name) for name in (_EMITTED, *_GAUGES))

    def read(self, samples: Sequence[Sample]) -> tuple[Reading, ...]:
        """Read what the page has.

        Raises:
            PageError: Some of the series needed are missing.
        """
        page = Lookup(samples, self.prefix)
        generation = "generation_tokens_total"
        reading = Reading(
            drafts=None,
            draft_tokens=page.total("spec_decode_num_draft_tokens_total"),
            accepted=None,
            accepted_per_position=(),
            draft_limit=0,
            generation_tokens=page.needed(generation),
            requests_finished=page.total("request_success_total"),
            requests_running=page.needed("num_requests_running"),
            waiting=page.needed("num_requests_waiting"),
            marker=page.marker((*_COUNTERS, generation)),
            uptime=page.uptime(),
            configuration=page.values(("cache_config_info",)),
            series=page.series(_COUNTERS),
            unfit=(
                "vLLM V0 counts as accepted the drafts that match behind a rejection, and does not count steps: its "
                "counters and gauges tell no acceptance; use the V1 engine",
            ),
        )
        return (reading,)


VLLM_V0 = VllmV0()
