"""The text of one metrics page, parsed into samples that keep the names they were exported under.

Both text formats are read by prometheus-client's parsers, but its metric families are dropped: a `TYPE` line
without `_total` turns a counter into a family of unknown type, and `_created` samples belong to the counter in
OpenMetrics and to a gauge of their own in the classic format. A sample's own name means the same in all of them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

_CUT_OFF = "the page is cut off before its end"


class PageError(ValueError):
    """The page cannot be read; the message is one plain sentence that says why."""


class Series(NamedTuple):
    """The identity of a time series.

    Attributes:
        name: The sample's name, suffix included (`vllm:spec_decode_num_drafts_total`).
        labels: Label names and values, sorted by name.
    """

    name: str
    labels: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        labels = ",".join(f'{name}="{value}"' for name, value in self.labels)
        return _printable(f"{self.name}{{{labels}}}" if labels else self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One line of a metrics page.

    Attributes:
        name: The sample's name, suffix included.
        labels: Label values by label name.
        value: The value, which may be NaN or infinite.
    """

    name: str
    labels: Mapping[str, str]
    value: float

    @property
    def series(self) -> Series:
        """The time series that this sample belongs to."""
        return Series(self.name, tuple(sorted(self.labels.items())))


def parse(text: str, content_type: str = "", wanted: re.Pattern[str] | None = None) -> tuple[Sample, ...]:
    """Parse a metrics page, classic Prometheus text (version 0.0.4) or OpenMetrics 1.0.

    Args:
        text: The page.
        content_type: The `Content-Type` header it came with. OpenMetrics is also known by its closing `# EOF`.
        wanted: What the samples' lines have to begin with; the others are not looked at, which is what makes a page of
            some megabytes cheap. By default every line is parsed.

    Returns:
        The samples in the page's order; timestamps, exemplars and native histograms are left out. There is at least
        one, unless `wanted` leaves none.

    Raises:
        PageError: The page is empty, cut off, HTML, JSON or otherwise no metrics, or it has a series twice.
    """
    body = text.lstrip()
    if not body:
        raise PageError("the page is empty")
    if body.startswith("<"):
        raise PageError("the page is HTML, not Prometheus metrics")
    openmetrics = "openmetrics" in content_type.lower() or text.rstrip().endswith("\n# EOF")
    try:
        samples = tuple(_samples(text if wanted is None else _only(wanted, text), openmetrics))
    except Exception as error:  # hostile text also ends the parsers in IndexError, KeyError, OverflowError, ...
        raise PageError(_why(text, error, openmetrics)) from error
    if not samples and wanted is not None:
        return ()
    if _is_cut_off(text, openmetrics):
        raise PageError(_CUT_OFF)
    if not samples:
        raise PageError("the page has comments but no samples")
    _refuse_duplicates(samples)
    return samples


def _only(wanted: re.Pattern[str], text: str) -> str:
    return "\n".join(line for line in text.split("\n") if line.startswith("#") or wanted.match(line)) + "\n"


def _samples(text: str, openmetrics: bool) -> Iterator[Sample]:
    if openmetrics:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    else:
        from prometheus_client.parser import text_string_to_metric_families
    for family in text_string_to_metric_families(text):  # type: ignore[no-untyped-call]
        for sample in family.samples:
            if sample.value is not None:  # a native histogram has buckets instead of a value
                yield Sample(name=sample.name, labels=sample.labels, value=float(sample.value))


def _is_cut_off(text: str, openmetrics: bool) -> bool:
    # The classic format ends every line with a line feed: without one, `437` may be the start of `43724`.
    return not (text.rstrip().endswith("# EOF") if openmetrics else text.endswith("\n"))


def _why(text: str, error: Exception, openmetrics: bool) -> str:
    if text.lstrip().startswith(("{", "[")):
        return "the page is JSON, not Prometheus metrics"
    if _is_cut_off(text, openmetrics):
        return _CUT_OFF
    excerpt = _printable(str(error)[:120]) or type(error).__name__
    return f"the page is not Prometheus text ({excerpt})"


def _printable(text: str) -> str:
    # A page may hold escape sequences, and what is quoted from it ends on a terminal.
    return "".join(character if character.isprintable() else " " for character in text)


def _refuse_duplicates(samples: tuple[Sample, ...]) -> None:
    seen: set[Series] = set()
    for sample in samples:
        if sample.series in seen:
            raise PageError(f"the page has {sample.series} twice: are two servers' pages joined in one?")
        seen.add(sample.series)
