"""What engines say of speculation in one answer: request metrics (vLLM), meta_info (SGLang), timings (llama.cpp).

Where an engine runs in process its adapter says instead how many tokens came out of it after each step.

The readers are pure: they take decoded JSON and return counts, or None where the answer says nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

_LARGEST_COUNT = 2**53


class AnswerError(ValueError):
    """The fields contradict each other or are no counts; the message is one plain sentence."""


@dataclass(frozen=True, kw_only=True)
class AnswerCounts:
    """The speculation behind one answer, as the engine counts it.

    Attributes:
        engine: Whose fields these are: `vllm`, `sglang`, `llamacpp`, `openvino`, or `in process`.
        completion_tokens: Tokens of the completion; None where the fields do not say.
        steps: Verification steps; None where the engine does not say.
        forwards: Steps behind prefill that emitted, drafted or not; None where that is not known.
        draft_tokens: Draft tokens proposed.
        accepted: Draft tokens accepted; None where the engine does not say.
        accepted_per_position: `[K]`, entry i counts the steps that accepted at least i+1 drafts; empty if unknown.
        drafted_per_step: Draft tokens of each step in order; None where the engine does not say.
        accepted_per_step: Accepted ones of each step in order; None where the engine does not say.
        claimed_length: The acceptance length that the engine itself states; its definition is the engine's own.
    """

    engine: str
    completion_tokens: int | None = None
    steps: int | None = None
    forwards: int | None = None
    draft_tokens: int | None = None
    accepted: int | None = None
    accepted_per_position: tuple[int, ...] = ()
    drafted_per_step: tuple[int, ...] | None = None
    accepted_per_step: tuple[int, ...] | None = None
    claimed_length: float | None = None


def read_answer(answer: Mapping[str, Any]) -> AnswerCounts | None:
    """Read whichever fields an answer has; None where it has none, as vLLM's for several choices.

    Raises:
        AnswerError: The fields contradict each other or are no counts.
    """
    for reader in (read_vllm, read_sglang, read_llamacpp, read_openvino, read_steps):
        if (counts := reader(answer)) is not None:
            return counts
    return None


def read_vllm(answer: Mapping[str, Any]) -> AnswerCounts | None:
    """Read `metrics.speculative_decoding` (`--per-request-spec-decode-metrics summary` or `detailed`).

    The histogram counts the steps by how many drafts they accepted. Drafts that a grammar forbade are left out, so
    that a step can have none.

    Raises:
        AnswerError: The fields contradict each other or are no counts.
    """
    fields = _object(_object(answer, "metrics"), "speculative_decoding")
    if fields is None:
        return None
    histogram = _counts(fields, "acceptance_histogram") or ()
    drafted, accepted = _counts(fields, "per_step_drafted"), _counts(fields, "per_step_accepted")
    counts = AnswerCounts(
        engine="vllm",
        completion_tokens=_count(_object(answer, "usage"), "completion_tokens"),
        steps=_count(fields, "num_spec_steps"),
        draft_tokens=_count(fields, "num_draft_tokens"),
        accepted=_count(fields, "num_accepted_draft_tokens"),
        accepted_per_position=_reaching(histogram),
        drafted_per_step=drafted,
        accepted_per_step=accepted,
        claimed_length=_number(fields, "mean_acceptance_length"),
    )
    _hold("steps", counts.steps, sum(histogram) if histogram else None)
    _hold(
        "accepted drafts", counts.accepted, sum(i * steps for i, steps in enumerate(histogram)) if histogram else None
    )
    _hold_lists(counts)
    return counts


def read_sglang(answer: Mapping[str, Any]) -> AnswerCounts | None:
    """Read the `spec_*` fields of `meta_info`.

    `spec_accept_length` is completion_tokens / spec_verify_ct: it includes the prefill token, after trimming.

    Raises:
        AnswerError: The fields contradict each other or are no counts.
    """
    fields = _object(answer, "meta_info")
    if fields is None or "spec_verify_ct" not in fields:
        return None
    histogram = _counts(fields, "spec_correct_drafts_histogram") or ()
    counts = AnswerCounts(
        engine="sglang",
        completion_tokens=_count(fields, "completion_tokens"),
        steps=_count(fields, "spec_verify_ct"),
        draft_tokens=_count(fields, "spec_num_proposed_drafts"),
        accepted=_count(fields, "spec_num_correct_drafts"),
        accepted_per_position=_reaching(histogram),
        claimed_length=_number(fields, "spec_accept_length"),
    )
    _hold("steps", counts.steps, sum(histogram) if histogram else None)
    _hold(
        "accepted drafts", counts.accepted, sum(i * steps for i, steps in enumerate(histogram)) if histogram else None
    )
    return counts


def read_llamacpp(answer: Mapping[str, Any]) -> AnswerCounts | None:
    """Read `timings`; `draft_n` counts drafts behind a mismatch too.

    Steps are told by streams only, whose timings grow token by token: the adapter takes their differences.

    Raises:
        AnswerError: The fields contradict each other or are no counts.
    """
    fields = _object(answer, "timings")
    if fields is None or "draft_n" not in fields:
        return None
    counts = AnswerCounts(
        engine="llamacpp",
        completion_tokens=_count(fields, "predicted_n"),
        draft_tokens=_count(fields, "draft_n"),
        accepted=_count(fields, "draft_n_accepted"),
        drafted_per_step=_counts(fields, "drafted_per_step"),
        accepted_per_step=_counts(fields, "accepted_per_step"),
    )
    _hold_lists(counts)
    return replace(counts, steps=sum(map(bool, counts.drafted_per_step))) if counts.drafted_per_step else counts


def read_openvino(answer: Mapping[str, Any]) -> AnswerCounts | None:
    """Read `extended_perf_metrics` of OpenVINO GenAI, a table for each choice, beside what each step emitted.

    Raises:
        AnswerError: The fields are no counts.
    """
    tables, choices = answer.get("extended_perf_metrics"), _lists(answer, "emitted_per_step")
    if tables is None or choices is None:
        return None
    if not isinstance(tables, list | tuple) or not all(isinstance(table, Mapping) for table in tables):
        raise AnswerError("the answer's extended_perf_metrics is no list of tables")
    return AnswerCounts(
        engine="openvino",
        completion_tokens=sum(map(sum, choices)),
        forwards=sum(len(choice) - 1 for choice in choices if choice),
        draft_tokens=sum(_count(table, "num_draft_tokens") or 0 for table in tables),
        accepted=sum(_count(table, "num_accepted_tokens") or 0 for table in tables),
    )


def read_steps(answer: Mapping[str, Any]) -> AnswerCounts | None:
    """Read `emitted_per_step`, a list for each choice: what came out of a pipeline after every step.

    `drafted_per_step` beside it says how many drafts each of them had, where the adapter knows. Otherwise the first
    step is the prefill, whose token is not drafted, and what was drafted in vain is not seen: a step that emitted one
    token may have had no draft at all.

    Raises:
        AnswerError: The fields are no counts.
    """
    choices = _lists(answer, "emitted_per_step")
    if choices is None:
        return None
    told = _lists(answer, "drafted_per_step")
    taken: list[tuple[int, int | None]]
    if told is None:
        taken = [(emitted, None) for choice in choices for emitted in choice[1:] if emitted]
    else:
        if [len(choice) for choice in told] != [len(choice) for choice in choices]:
            raise AnswerError("the answer tells other steps that drafted than steps that emitted")
        pairs = (pair for each in zip(choices, told, strict=True) for pair in zip(*each, strict=True))
        taken = [(emitted, drafts) for emitted, drafts in pairs if emitted and drafts]
    accepted = tuple(emitted - 1 if drafts is None else min(emitted - 1, drafts) for emitted, drafts in taken)
    drafted = None if told is None else tuple(drafts or 0 for _, drafts in taken)
    return AnswerCounts(
        engine="in process",
        completion_tokens=sum(map(sum, choices)),
        steps=len(taken),
        draft_tokens=None if drafted is None else sum(drafted),
        accepted=sum(accepted),
        drafted_per_step=drafted,
        accepted_per_step=accepted,
    )


def _lists(answer: Mapping[str, Any], name: str) -> list[tuple[int, ...]] | None:
    """A list of counts for each choice; None where the answer has none."""
    listed = answer.get(name)
    if listed is None:
        return None
    if not isinstance(listed, list | tuple):
        raise AnswerError(f"the answer's {name} is no list")
    return [_counts({name: choice}, name) or () for choice in listed]


def _object(fields: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    found = None if fields is None else fields.get(name)
    return found if isinstance(found, Mapping) else None


def _count(fields: Mapping[str, Any] | None, name: str) -> int | None:
    found = None if fields is None else fields.get(name)
    if found is None:
        return None
    if (
        isinstance(found, bool)
        or not isinstance(found, int | float)
        or not 0 <= found < _LARGEST_COUNT
        or found != int(found)
    ):
        raise AnswerError(f"the answer's {name} is no count")
    return int(found)


def _counts(fields: Mapping[str, Any], name: str) -> tuple[int, ...] | None:
    found = fields.get(name)
    if found is None:
        return None
    if not isinstance(found, list | tuple):
        raise AnswerError(f"the answer's {name} is no list")
    counts = (_count({name: each}, name) for each in found)
    return tuple(count for count in counts if count is not None)


def _number(fields: Mapping[str, Any], name: str) -> float | None:
    found = fields.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) < _LARGEST_COUNT:
        return None
    return float(found)


def _reaching(histogram: Sequence[int]) -> tuple[int, ...]:
    """`[K]`, how many steps accepted at least i+1 drafts, from how many accepted 0, 1, …, K."""
    return tuple(sum(histogram[i:]) for i in range(1, len(histogram)))


def _hold_lists(counts: AnswerCounts) -> None:
    """Refuse lists of steps that contradict the sums or each other."""
    drafted, accepted = counts.drafted_per_step, counts.accepted_per_step
    for name, stated, per_step in (
        ("draft tokens", counts.draft_tokens, drafted),
        ("accepted drafts", counts.accepted, accepted),
    ):
        _hold(name, stated, None if per_step is None else sum(per_step))
    if drafted is not None and accepted is not None:
        if len(drafted) != len(accepted):
            raise AnswerError(f"the answer lists {len(drafted)} drafts and {len(accepted)} verifications")
        if any(took > had for took, had in zip(accepted, drafted, strict=True)):
            raise AnswerError("the answer has a step that accepted more than was drafted")


def _hold(name: str, stated: int | None, summed: int | None) -> None:
    if stated is not None and summed is not None and stated != summed:
        raise AnswerError(f"the answer states {stated:,} {name}, and its lists add up to {summed:,}")
