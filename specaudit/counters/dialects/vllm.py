"""vLLM V1, and the schema that other engines took over from it (names as of vLLM 0.33).

The Python client writes the colon of `vllm:` as an underscore in the samples of an OpenMetrics page, though not in its
`TYPE` lines; both spellings are read.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from specaudit.counters.interface import NoSpeculationCounters, Reading
from specaudit.counters.page import PageError, Sample, Series

_DRAFTS = "spec_decode_num_drafts_total"
_DRAFT_TOKENS = "spec_decode_num_draft_tokens_total"
_ACCEPTED = "spec_decode_num_accepted_tokens_total"
_ACCEPTED_PER_POSITION = "spec_decode_num_accepted_tokens_per_pos_total"
_SPECULATION = (_DRAFTS, _DRAFT_TOKENS, _ACCEPTED, _ACCEPTED_PER_POSITION)

_Page = dict[str, list[Sample]]  # samples by name, with the colon written as an underscore


@dataclass(frozen=True, kw_only=True)
class VllmSchema:
    """A dialect with vLLM's speculation series under a prefix of its own.

    Attributes:
        name: The engine's name.
        prefix: What every series of the engine starts with.
        without_speculation: What it means when the speculation series are absent, the end of a sentence.
        generation_tokens: The counter of emitted tokens.
        requests_finished: The counter of finished sequences, None if there is none.
        running: The gauge of requests being served.
        waiting: The gauge of queued requests.
        digits: Significant digits that counters are printed with, None for all.
    """

    name: str
    prefix: str
    without_speculation: str
    generation_tokens: str = "generation_tokens_total"
    requests_finished: str | None = "request_success_total"
    running: str = "num_requests_running"
    waiting: str = "num_requests_waiting"
    digits: int | None = None

    def recognises(self, samples: Sequence[Sample]) -> bool:
        """Whether any series has the engine's prefix."""
        return any(sample.name.startswith((self.prefix, _flat(self.prefix))) for sample in samples)

    def read(self, samples: Sequence[Sample]) -> Reading:
        """Read the counters, summed over the engines on the page.

        Raises:
            NoSpeculationCounters: The page has no speculation counters.
            PageError: Some of the series needed are missing, or the draft positions are not 0, 1, 2, ….
        """
        page: _Page = defaultdict(list)
        for sample in samples:
            page[_flat(sample.name)].append(sample)
        speculation = [sample for name in _SPECULATION for sample in self._samples(page, name)]
        if not speculation:
            raise NoSpeculationCounters(
                f"the page is {self.name}'s but has no {self.prefix}spec_decode_* counters: {self.without_speculation}"
            )
        return Reading(
            drafts=self._total(page, _DRAFTS),
            draft_tokens=self._total(page, _DRAFT_TOKENS),
            accepted=self._total(page, _ACCEPTED),
            accepted_per_position=_per_position(self._samples(page, _ACCEPTED_PER_POSITION)),
            generation_tokens=self._total(page, self.generation_tokens),
            requests_finished=self._total(page, self.requests_finished) if self.requests_finished else None,
            requests_running=self._total(page, self.running),
            waiting=self._total(page, self.waiting),
            asleep=any(
                (sample.labels.get("sleep_state") == "awake") != (sample.value == 1)
                for sample in self._samples(page, "engine_sleep_state")
            ),
            marker=self._marker(page),
            series=frozenset(sample.series for sample in speculation),
            replicas=len(self._samples(page, _DRAFTS)),
            step=self._step(page),
        )

    def _samples(self, page: _Page, name: str) -> list[Sample]:
        return page[_flat(self.prefix + name)]

    def _total(self, page: _Page, name: str) -> float:
        samples = self._samples(page, name)
        if not samples:
            raise PageError(f"the {self.name} page lacks {self.prefix}{name}: it is cut off, or of another version")
        return sum(sample.value for sample in samples)

    def _step(self, page: _Page) -> float:
        """What the largest counter is rounded to by printing it with few digits."""
        counters = (*_SPECULATION, self.generation_tokens)
        largest = max(sample.value for name in counters for sample in self._samples(page, name))
        if self.digits is None or not largest >= 10**self.digits:
            return 1.0
        return float(10 ** (floor(log10(largest)) + 1 - self.digits))

    def _marker(self, page: _Page) -> tuple[tuple[Series, float], ...]:
        markers = list(page["process_start_time_seconds"])
        for name in (*_SPECULATION, self.generation_tokens):
            markers += self._samples(page, name.removesuffix("_total") + "_created")
        return tuple(sorted((sample.series, sample.value) for sample in markers))


def _flat(name: str) -> str:
    return name.replace(":", "_", 1)


def _per_position(samples: Sequence[Sample]) -> tuple[float, ...]:
    counts: dict[str, float] = defaultdict(float)
    for sample in samples:
        counts[sample.labels.get("position", "")] += sample.value
    positions = [str(position) for position in range(len(counts))]
    if counts.keys() != set(positions):
        raise PageError(f"the draft positions on the page are {sorted(counts)}, not 0, 1, 2, … without a gap")
    return tuple(counts[position] for position in positions)


VLLM = VllmSchema(
    name="vllm",
    prefix="vllm:",
    without_speculation="vLLM exports them, at 0, as soon as speculation is configured, so this server decodes plainly",
)
