"""The samples of one page by name, and by replica.

The Python client writes the colon of `vllm:` as an underscore in the samples of an OpenMetrics page, though not in its
`TYPE` lines; a lookup finds both spellings.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from specaudit.counters.page import PageError, Sample, Series

_UPTIME = re.compile(r"(?:\w+[_:])?uptime_seconds")


class Lookup:
    """Finds samples by the names of one engine.

    Args:
        samples: The page, or one replica's part of it.
        prefix: What every series of the engine starts with, colon included.
    """

    def __init__(self, samples: Iterable[Sample], prefix: str) -> None:
        self.prefix = prefix
        self._samples: dict[str, list[Sample]] = defaultdict(list)
        for sample in samples:
            self._samples[flat(sample.name)].append(sample)

    def samples(self, name: str) -> Sequence[Sample]:
        """The samples of a series, whatever their labels."""
        return self._samples.get(flat(self.prefix + name), ())

    def total(self, name: str) -> float | None:
        """The sum over a series' labels, None where the page has no such series."""
        samples = self.samples(name)
        return sum(sample.value for sample in samples) if samples else None

    def needed(self, name: str) -> float:
        """The sum over a series' labels.

        Raises:
            PageError: The page has no such series.
        """
        total = self.total(name)
        if total is None:
            raise PageError(f"the page lacks {self.prefix}{name}: it is cut off, or of another version")
        return total

    def by_position(self, name: str, label: str) -> tuple[float, ...]:
        """The values of a series for the draft positions 0, 1, 2, ….

        Raises:
            PageError: A position is missing.
        """
        counts: dict[str, float] = defaultdict(float)
        for sample in self.samples(name):
            counts[sample.labels.get(label, "")] += sample.value
        positions = [str(position) for position in range(len(counts))]
        if counts.keys() != set(positions):
            raise PageError(f"the draft positions on the page are {sorted(counts)}, not 0, 1, 2, … without a gap")
        return tuple(counts[position] for position in positions)

    def series(self, names: Iterable[str]) -> frozenset[Series]:
        """The time series that the page has under these names."""
        return frozenset(sample.series for name in names for sample in self.samples(name))

    def values(self, names: Iterable[str]) -> frozenset[tuple[Series, float]]:
        """The time series that the page has under these names, with their values."""
        return frozenset((sample.series, sample.value) for name in names for sample in self.samples(name))

    def marker(self, counters: Iterable[str]) -> tuple[tuple[Series, float], ...]:
        """When the process started, and when each of these counters was created."""
        markers = list(self._samples.get("process_start_time_seconds", ()))
        for name in counters:
            markers += self.samples(name.removesuffix("_total") + "_created")
        return tuple(sorted((sample.series, sample.value) for sample in markers))

    def uptime(self) -> float | None:
        """Seconds since the process started, None where the page does not say."""
        found = [sample.value for name, samples in self._samples.items() if is_uptime(name) for sample in samples]
        return min(found, default=None)


def replicas(samples: Iterable[Sample], label: str) -> dict[str, list[Sample]]:
    """Divide a page by the label that tells replicas apart; what has no such label belongs to each of them."""
    parts: dict[str, list[Sample]] = {}
    common: list[Sample] = []
    for sample in samples:
        replica = sample.labels.get(label)
        (common if replica is None else parts.setdefault(replica, [])).append(sample)
    return {replica: part + common for replica, part in parts.items()} or {"": common}


def is_uptime(name: str) -> bool:
    """Whether a series holds the seconds since the process started."""
    return _UPTIME.fullmatch(name) is not None


def flat(name: str) -> str:
    """A name with the colon of its prefix written as an underscore."""
    return name.replace(":", "_", 1)
