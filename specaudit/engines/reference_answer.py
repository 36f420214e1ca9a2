"""What the embedded reference decoder tells: letters, steps, speculation, logprobs, and the law of its chain."""

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.generation import Generation
from specaudit.decoding.models.markov import MarkovModel
from specaudit.engines.logprobs import reported
from specaudit.model.completion import Steps, TokenLogprobs
from specaudit.model.request import Token


def steps_of(generation: Generation, row: int) -> Steps:
    """How one completion was decoded."""
    count = generation.steps[row]
    told = (generation.drafted_per_step, generation.accepted_per_step, generation.emitted_per_step)
    drafted, accepted, emitted = (tuple(figure[row, :count].tolist()) for figure in told)
    batch = (generation.ragged_per_step, generation.mixed_per_step)
    ragged, mixed = (int(flags[row, :count].sum()) for flags in batch)
    return Steps(drafted=drafted, accepted=accepted, emitted=emitted, ragged=ragged, mixed=mixed)


def speculation_of(told: tuple[IntArray, IntArray], draft_tokens: int) -> dict[str, Any] | None:
    """What vLLM tells of the speculation behind an answer (`--per-request-spec-decode-metrics summary`).

    Args:
        told: drafts and accepted drafts of each step `[1, S]`.
        draft_tokens: drafts per step, K.
    """
    if not draft_tokens:
        return None
    drafted, accepted = (figures[0].clip(min=0) for figures in told)
    histogram = np.bincount(accepted[drafted > 0], minlength=draft_tokens + 1)
    steps, proposed, taken = int(histogram.sum()), int(drafted.sum()), int(accepted.sum())
    fields = {
        "mean_acceptance_length": 1 + taken / steps if steps else None,
        "draft_acceptance_rate": taken / proposed if proposed else None,
        "acceptance_histogram": histogram.tolist(),
        "num_spec_steps": steps,
        "num_accepted_draft_tokens": taken,
        "num_draft_tokens": proposed,
        "num_spec_tokens": draft_tokens,
    }
    return {"metrics": {"speculative_decoding": fields}}


def letters(tokens: Iterable[Token]) -> str:
    """Return the text of token ids: a letter each."""
    return "".join(chr(ord("a") + int(token)) for token in tokens)


def table_of(chain: MarkovModel) -> tuple[tuple[float | None, ...], ...]:
    """A chain's logprobs in every context, that of an empty prompt first."""
    table = chain.logits(np.arange(-1, chain.vocabulary_size)).tolist()
    return tuple(tuple(value if np.isfinite(value) else None for value in row) for row in table)


def reported_rows(
    table: FloatArray, tokens: IntArray, lengths: IntArray, listed: IntArray
) -> list[tuple[TokenLogprobs, ...]]:
    """Logprobs `[B, L, V]` of tokens `[B, L]`, and at each position the `listed` `[B, L]` most likely ones."""
    most = int(listed.max(initial=0))
    return [
        tuple(
            one if count == most else msgspec.structs.replace(one, top=one.top[:count])
            for one, count in zip(reported(row[:length], rows[:length], most), counts, strict=False)
        )
        for row, rows, length, counts in zip(tokens.tolist(), table, lengths.tolist(), listed.tolist(), strict=True)
    ]
