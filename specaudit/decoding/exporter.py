"""The decoder's counters as a Prometheus page (text format 0.0.4), under the names of vLLM V1."""

from collections.abc import Iterable

from specaudit.decoding.accounting import Counters

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_Samples = Iterable[tuple[dict[str, str], float]]


class Exporter:
    """Writes the metrics page of one server.

    Each family is a method, so that a fault overrides one.

    Args:
        model_name: label of every series.
        created: when the counters were at zero, seconds since the epoch.
        process_start: when the process started, seconds since the epoch.
    """

    def __init__(self, *, model_name: str, created: float, process_start: float) -> None:
        self._labels = {"engine": "0", "model_name": model_name}
        self._created = created
        self._process_start = process_start

    def page(self, counters: Counters, *, running: int = 0, waiting: int = 0) -> str:
        """Render the page.

        Args:
            counters: the totals to show. As on vLLM, a server that never drafts (K = 0) has no series of
                speculative decoding, while one that does shows them at 0 before any traffic.
            running: requests being decoded.
            waiting: requests queued.
        """
        lines = [
            *_family(
                "process_start_time_seconds",
                "gauge",
                "Start time of the process since unix epoch in seconds.",
                [({}, self._process_start + counters.restarts)],
            ),
            *(self.speculation(counters) if counters.accepted_per_position else ()),
            *self.state(running, waiting),
            *self.traffic(counters),
            *self.work(counters),
        ]
        return "\n".join(lines) + "\n"

    def speculation(self, counters: Counters) -> list[str]:
        """Render drafts, draft tokens, accepted tokens, and accepted tokens per position."""
        return [
            *self._counter("vllm:spec_decode_num_drafts", "Number of spec decoding drafts.", [({}, counters.drafts)]),
            *self._counter(
                "vllm:spec_decode_num_draft_tokens", "Number of draft tokens.", [({}, counters.draft_tokens)]
            ),
            *self._counter(
                "vllm:spec_decode_num_accepted_tokens",
                "Number of accepted tokens.",
                [({}, counters.accepted)],
            ),
            *self._counter(
                "vllm:spec_decode_num_accepted_tokens_per_pos",
                "Accepted tokens per draft position.",
                [({"position": str(i)}, n) for i, n in enumerate(counters.accepted_per_position)],
            ),
        ]

    def state(self, running: int, waiting: int) -> list[str]:
        """Render the gauges that tell whether the server is quiet and awake."""
        return [
            *self._gauge(
                "vllm:num_requests_running",
                "Number of requests in model execution batches.",
                [({}, running)],
            ),
            *self._gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", [({}, waiting)]),
            *self._gauge(
                "vllm:engine_sleep_state",
                "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; "
                "weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.",
                [
                    ({"sleep_state": "awake"}, 1),
                    ({"sleep_state": "weights_offloaded"}, 0),
                    ({"sleep_state": "discard_all"}, 0),
                ],
            ),
        ]

    def traffic(self, counters: Counters) -> list[str]:
        """Render tokens in, tokens out, and finished requests by reason."""
        reasons = {
            "stop": counters.requests_stopped,
            "length": counters.requests_at_length,
            "abort": 0,
            "error": counters.requests_failed,
            "repetition": 0,
        }
        return [
            *self._counter("vllm:prompt_tokens", "Number of prefill tokens processed.", [({}, counters.prompt_tokens)]),
            *self._counter(
                "vllm:generation_tokens",
                "Number of generation tokens processed.",
                [({}, counters.generation_tokens)],
            ),
            *self._counter(
                "vllm:request_success",
                "Count of successfully processed requests.",
                [({"finished_reason": reason}, n) for reason, n in reasons.items()],
            ),
        ]

    def work(self, counters: Counters) -> list[str]:
        """Render what a step costs and what is lost of it, which vLLM does not show."""
        families = {
            "computed_tokens": ("Number of tokens that the target read.", counters.computed_tokens),
            "replayed_tokens": ("Number of tokens read again after a preemption.", counters.replayed_tokens),
            "wasted_tokens": ("Number of tokens planned ahead for requests that had ended.", counters.wasted_tokens),
            "trimmed_tokens": ("Number of tokens lost to a stop inside an accepted block.", counters.trimmed),
            "undrafted_steps": ("Number of steps of a request without a draft.", counters.undrafted),
        }
        return [
            line
            for name, (text, total) in families.items()
            for line in self._counter(f"specaudit:{name}", text, [({}, total)])
        ]

    def _counter(self, name: str, text: str, samples: _Samples) -> list[str]:
        """Render a counter and the gauge of its creation times, as the Python client writes them."""
        labelled = [({**self._labels, **labels}, value) for labels, value in samples]
        return [
            *_family(f"{name}_total", "counter", text, labelled),
            *_family(f"{name}_created", "gauge", text, [(labels, self._created) for labels, _ in labelled]),
        ]

    def _gauge(self, name: str, text: str, samples: _Samples) -> list[str]:
        return _family(name, "gauge", text, [({**self._labels, **labels}, value) for labels, value in samples])


def _family(name: str, kind: str, text: str, samples: _Samples) -> list[str]:
    """Render one metric family, labels in alphabetical order."""
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escape(labels[key])}"' for key in sorted(labels))
        lines.append(f"{name}{{{inside}}} {float(value)!r}" if inside else f"{name} {float(value)!r}")
    return lines


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
