"""Text Generation Inference (3): a histogram with one observation per step, though it is documented as per request.

`tgi_request_skipped_tokens` observes what a step emitted beyond one token, after trimming; the step that ends prefill
is among them. So its count less the sequences is the number of decoding steps, drafted or not, its sum what was
accepted and emitted, and its buckets (bounds 0, 1, …, K) tell the positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from specaudit.counters.interface import NoSpeculationCounters, Reading
from specaudit.counters.lookup import Lookup
from specaudit.counters.page import PageError, Sample

_SKIPPED = "request_skipped_tokens"
_SERIES = tuple(f"{_SKIPPED}_{part}" for part in ("bucket", "count", "sum"))


@dataclass(frozen=True, kw_only=True)
class Tgi:
    """The dialect of TGI."""

    name: str = "tgi"
    description: str = "TGI: its histogram is of steps, drafted or not, and of what was emitted after trimming"
    prefix: str = "tgi_"

    def recognises(self, samples: Sequence[Sample]) -> bool:
        """Whether any series has TGI's prefix."""
        return any(sample.name.startswith(self.prefix) for sample in samples)

    def read(self, samples: Sequence[Sample]) -> tuple[Reading, ...]:
        """Read the histogram.

        Raises:
            NoSpeculationCounters: The page has nothing about speculation, or shows that nothing is drafted.
            PageError: Some of the series needed are missing, or a bound is no number of tokens.
        """
        page = Lookup(samples, self.prefix)
        observed = page.total(f"{_SKIPPED}_count")
        if observed is None:
            raise NoSpeculationCounters(
                "the page is tgi's but has no tgi_request_skipped_tokens: nothing was generated yet, or TGI is older"
            )
        at_most = _at_most(page)
        if at_most and len(at_most) == 1:
            raise NoSpeculationCounters(
                "the page is tgi's and has no bucket beyond 0: it was started without --speculate"
            )
        sequences = page.needed("request_generated_tokens_count")
        reading = Reading(
            drafts=observed - sequences,
            draft_tokens=None,
            accepted=page.needed(f"{_SKIPPED}_sum"),
            accepted_per_position=tuple(observed - count for count in at_most[:-1]),
            draft_limit=max(0, len(at_most) - 1),
            generation_tokens=page.needed("request_generated_tokens_sum"),
            requests_finished=sequences,
            requests_running=page.total("batch_current_size"),
            waiting=page.total("queue_size"),
            marker=page.marker(()),
            uptime=page.uptime(),
            series=page.series(_SERIES),
        )
        return (reading,)


def _at_most(page: Lookup) -> list[float]:
    """How many steps skipped at most 0, 1, …, K tokens; empty where the page shows quantiles instead of buckets."""
    buckets: dict[int, float] = {}
    for sample in page.samples(f"{_SKIPPED}_bucket"):
        bound = sample.labels.get("le", "")
        if bound == "+Inf":
            continue
        try:
            buckets[int(float(bound))] = sample.value
        except (ValueError, OverflowError) as error:
            raise PageError(f"the page has a bucket {bound!r} of skipped tokens, which is no number") from error
    if sorted(buckets) != list(range(len(buckets))):
        raise PageError(f"the buckets of skipped tokens are {sorted(buckets)}, not 0, 1, 2, … without a gap")
    return [buckets[bound] for bound in sorted(buckets)]


TGI = Tgi()
