"""What an answer says of the speculation behind it, kept as it came: what it means is the counters' affair.

vLLM says it in `metrics.speculative_decoding` (`--per-request-spec-decode-metrics`), llama.cpp in `timings`, SGLang in
`meta_info` of the only choice (asked for by `return_meta_info`) or in `sglext.spec_tokens_details`.
"""

from collections.abc import Mapping
from typing import Any

_TIMINGS = ("predicted_n", "draft_n", "draft_n_accepted")
_META_INFO = "spec_"
_MOST_STEPS = 100_000
"""Longer lists are left out: no answer has so many steps."""


def speculation_in(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields about speculation, each engine's under its own name; None where there are none."""
    told: dict[str, Any] = {}
    if (metrics := _object(_object(answer, "metrics"), "speculative_decoding")) is not None:
        told["metrics"] = {"speculative_decoding": _counts(metrics)}
    timings = _object(answer, "timings")
    if timings is not None and "draft_n" in timings:
        told["timings"] = _counts({name: timings[name] for name in _TIMINGS if name in timings})
    meta_info = _meta_info(answer)
    if any(name.startswith(_META_INFO) for name in meta_info):
        told["meta_info"] = _counts(meta_info)
    return told or None


def _meta_info(answer: Mapping[str, Any]) -> dict[str, Any]:
    choices = answer.get("choices")
    only = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    fields = (
        _object(only if isinstance(only, Mapping) else None, "meta_info")
        or _object(answer, "meta_info")
        or _object(_object(answer, "sglext"), "spec_tokens_details")
        or {}
    )
    return {name: value for name, value in fields.items() if name.startswith(_META_INFO) or name == "completion_tokens"}


def _object(fields: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    found = None if fields is None else fields.get(name)
    return found if isinstance(found, Mapping) else None


def _counts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers and lists of numbers, wrong ones included; texts and objects count nothing."""
    return {name: value for name, value in fields.items() if _is_number(value) or _is_list(value)}


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**63)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_STEPS and all(map(_is_number, value))
