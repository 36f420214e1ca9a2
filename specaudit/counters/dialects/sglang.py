"""SGLang (0.5.23): steps and tokens are counted when a request finishes; acceptance itself is shown by gauges only.

The gauges hold the last logging window and go stale when the server is idle, and the rate's denominator is wrong for
trees and adaptive lengths. They are not read. Between quiet ends the counters give the length as the user sees it:
tokens emitted after each sequence's first, per verification call.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from specaudit.counters.interface import NoSpeculationCounters, Reading
from specaudit.counters.lookup import Lookup, flat
from specaudit.counters.page import Sample

_VERIFY_CALLS = "spec_verify_calls_total"
_GENERATION = "generation_tokens_total"
_GAUGES = ("spec_accept_length", "spec_accept_rate")
_SHAPE = ("spec_num_steps", "spec_num_draft_tokens")


@dataclass(frozen=True, kw_only=True)
class Sglang:
    """The dialect of SGLang."""

    name: str = "sglang"
    description: str = "SGLang: the user's length from verification calls; gauges, which go stale, are not read"
    prefix: str = "sglang:"

    def recognises(self, samples: Sequence[Sample]) -> bool:
        """Whether any series has SGLang's prefix."""
        return any(flat(sample.name).startswith(flat(self.prefix)) for sample in samples)

    def read(self, samples: Sequence[Sample]) -> tuple[Reading, ...]:
        """Read the counters, which the server itself adds up over its data-parallel ranks.

        Raises:
            NoSpeculationCounters: The page has nothing about speculation.
            PageError: Some of the series needed are missing.
        """
        page = Lookup(samples, self.prefix)
        calls = page.total(_VERIFY_CALLS)
        if calls is None and not page.series(_GAUGES):
            raise NoSpeculationCounters(
                "the page is sglang's but has no sglang:spec_* series: this server decodes plainly, or was started "
                "without --enable-metrics for speculation"
            )
        reading = Reading(
            drafts=calls,
            draft_tokens=None,
            accepted=None,
            accepted_per_position=(),
            draft_limit=_chain_length(page),
            generation_tokens=page.needed(_GENERATION),
            requests_finished=page.total("num_requests_total"),
            requests_running=page.needed("num_running_reqs"),
            waiting=page.needed("num_queue_reqs"),
            marker=page.marker((_VERIFY_CALLS, _GENERATION)),
            uptime=page.uptime(),
            configuration=page.values(_SHAPE),
            series=page.series((_VERIFY_CALLS, _GENERATION)),
            unfit=() if calls is not None else _GAUGES_ONLY,
        )
        return (reading,)


_GAUGES_ONLY = (
    "the page has gauges of acceptance only: they hold the last logging window, go stale when the server is idle, and "
    "cannot be subtracted",
)


def _chain_length(page: Lookup) -> int:
    """K: SGLang counts the token before the drafts among them."""
    nodes = max((sample.value for sample in page.samples("spec_num_draft_tokens")), default=0)
    return max(0, int(nodes) - 1) if isfinite(nodes) else 0


SGLANG = Sglang()
