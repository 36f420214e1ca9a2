"""TensorRT-LLM (1.2), the page at `/prometheus/metrics`; the JSON at `/metrics` is drained by reading it.

Steps are not counted: a step with a draft has a token at position 0, so the drafts at position 0 are the steps. The
gauge of the acceptance length is of one iteration and not read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from specaudit.counters.interface import NoSpeculationCounters, Reading
from specaudit.counters.lookup import Lookup
from specaudit.counters.page import Sample

_DRAFTED = "spec_decode_drafted_tokens_total"
_ACCEPTED = "spec_decode_accepted_tokens_total"
_TOTALS = ("spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total")
_GAUGES = ("spec_decode_acceptance_length", "spec_decode_draft_overhead")
_GENERATION = "generation_tokens_total"
_CONFIGURATION = ("model_config_info", "parallel_config_info", "speculative_config_info", "kv_cache_config_info")


@dataclass(frozen=True, kw_only=True)
class TensorRtLlm:
    """The dialect of TensorRT-LLM."""

    name: str = "tensorrt-llm"
    description: str = "TensorRT-LLM: drafts are those at position 0; the gauge of one iteration is not read"
    prefix: str = "trtllm_"

    def recognises(self, samples: Sequence[Sample]) -> bool:
        """Whether any series has TensorRT-LLM's prefix."""
        return any(sample.name.startswith(self.prefix) for sample in samples)

    def read(self, samples: Sequence[Sample]) -> tuple[Reading, ...]:
        """Read the counters; the totals are of iterations, those by position of requests that finished.

        Raises:
            NoSpeculationCounters: The page has nothing about speculation.
            PageError: Some of the series needed are missing, or the draft positions are not 0, 1, 2, ….
        """
        page = Lookup(samples, self.prefix)
        counters = (_DRAFTED, _ACCEPTED, *_TOTALS)
        if not page.series((*counters, *_GAUGES)):
            raise NoSpeculationCounters(
                "the page is tensorrt-llm's but has no trtllm_spec_decode_* series: this server decodes plainly, or "
                "returns no metrics of requests (return_perf_metrics)"
            )
        drafted = page.by_position(_DRAFTED, "token_position")
        accepted = page.by_position(_ACCEPTED, "token_position")
        reading = Reading(
            drafts=drafted[0] if drafted else None,
            draft_tokens=sum(drafted) if drafted else page.total(_TOTALS[0]),
            accepted=sum(accepted) if drafted else page.total(_TOTALS[1]),
            accepted_per_position=accepted,
            draft_limit=len(drafted),
            generation_tokens=page.total(_GENERATION),
            requests_finished=page.total("request_success_total"),
            requests_running=page.total("num_requests_running"),
            waiting=page.total("num_requests_waiting"),
            marker=page.marker((*counters, _GENERATION)),
            uptime=page.uptime(),
            configuration=page.values(_CONFIGURATION),
            series=page.series(counters),
            unfit=() if drafted else (_NO_STEPS,),
        )
        return (reading,)


_NO_STEPS = (
    "the page counts no steps: trtllm_spec_decode_drafted_tokens_total by position is absent, and the gauge of the "
    "acceptance length is of one iteration"
)

TENSORRT_LLM = TensorRtLlm()
