"""Pages as vLLM writes them, made from numbers."""

from collections.abc import Sequence


def vllm_page(
    *,
    drafts: int = 0,
    draft_tokens: int = 0,
    accepted: int = 0,
    positions: Sequence[int] = (0, 0, 0),
    generation: int = 0,
    sequences: int = 0,
    running: int = 0,
    engine: str = "0",
    created: float | None = 1.7e9,
) -> str:
    labels = f'engine="{engine}",model_name="m"'
    counters = {
        "spec_decode_num_drafts": [("", drafts)],
        "spec_decode_num_draft_tokens": [("", draft_tokens)],
        "spec_decode_num_accepted_tokens": [("", accepted)],
        "spec_decode_num_accepted_tokens_per_pos": [(f',position="{i}"', n) for i, n in enumerate(positions)],
        "generation_tokens": [("", generation)],
        "request_success": [(',finished_reason="length"', sequences)],
    }
    lines = [] if created is None else [f"process_start_time_seconds {created - 9}"]
    lines += [f"vllm:num_requests_running{{{labels}}} {running}", f"vllm:num_requests_waiting{{{labels}}} 0"]
    for name, samples in counters.items():
        lines += [f"vllm:{name}_total{{{labels}{more}}} {float(value)!r}" for more, value in samples]
        if created is not None:
            lines += [f"vllm:{name}_created{{{labels}{more}}} {created!r}" for more, _ in samples]
    return "\n".join(lines) + "\n"
