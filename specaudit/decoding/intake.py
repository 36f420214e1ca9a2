"""How requests come in: checked, their rules numbered, and written down as rows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from specaudit.decoding.arrays import IntArray
from specaudit.decoding.batch import Rows
from specaudit.decoding.parameters import SamplingParameters, StopRules
from specaudit.decoding.rules import Rules, RuleTable
from specaudit.decoding.streams import RowStreams


def checked(
    prompts: IntArray, seeds: NDArray[np.integer], max_tokens: int | IntArray, vocabulary: int
) -> tuple[IntArray, IntArray]:
    """Validate requests; return the length of each prompt and the cap of each request `[B]`.

    Raises:
        ValueError: shapes disagree, a token is outside the vocabulary, or a cap is below 1.
    """
    caps = np.asarray(max_tokens)
    if prompts.ndim != 2 or seeds.shape != prompts.shape[:1] or caps.shape not in ((), seeds.shape):
        raise ValueError(
            "prompts must be [B, P], seeds [B], max_tokens [B] or a number; "
            f"got {list(prompts.shape)}, {list(seeds.shape)}, {list(caps.shape)}"
        )
    said = prompts != -1
    if (bad := said & ((prompts < 0) | (prompts >= vocabulary))).any():
        row, place = np.argwhere(bad)[0]
        raise ValueError(f"request {row}: token {prompts[row, place]} is not one of {vocabulary} tokens")
    lengths = np.count_nonzero(said, axis=1)
    if (bad := said != (np.arange(prompts.shape[1]) < lengths[:, None])).any():
        row = int(bad.any(axis=1).argmax())
        raise ValueError(f"request {row}: a prompt is padded with -1 on its right only, got {prompts[row].tolist()}")
    if caps.min(initial=1) < 1:
        raise ValueError(f"max_tokens must be at least 1, got {caps.min()}")
    return lengths, np.broadcast_to(caps, lengths.shape)


def rule_numbers(
    table: RuleTable,
    parameters: SamplingParameters | Sequence[SamplingParameters],
    stop: StopRules | Sequence[StopRules],
    batch: int,
) -> IntArray:
    """Return the number of each request's set of rules `[B]`.

    Raises:
        ValueError: there are rules for another number of requests, or rules that the table refuses.
    """
    if isinstance(parameters, SamplingParameters) and isinstance(stop, StopRules):
        return np.full(batch, table.number(parameters, stop))
    every = [parameters] * batch if isinstance(parameters, SamplingParameters) else parameters
    stops = [stop] * batch if isinstance(stop, StopRules) else stop
    if (len(every), len(stops)) != (batch, batch):
        raise ValueError(f"{batch} requests cannot have {len(every)} parameters and {len(stops)} stop rules")
    return np.array([table.number(*one) for one in zip(every, stops, strict=True)], dtype=np.int64)


def new_rows(
    *,
    submission: int,
    prompts: IntArray,
    prompt_lengths: IntArray,
    caps: IntArray,
    rules: Rules,
    draft_tokens: int,
    draft_limit: int,
    drafting: RowStreams,
    judging: RowStreams,
) -> Rows:
    """Write requests down as they come, the first of them being the `submission`-th that ever came."""
    batch = len(prompts)
    return Rows(
        arrival=submission + np.arange(batch),
        submission=np.full(batch, submission),
        place=np.arange(batch),
        rules=rules.number,
        cap=caps.astype(np.int64),
        prompt_lengths=prompt_lengths,
        lengths=prompt_lengths.copy(),
        # Room for what is said is made when it is said: caps may be far beyond.
        tokens=np.pad(prompts, ((0, 0), (0, 1)), constant_values=-1),
        slot=np.full(batch, -1),
        read=np.zeros(batch, dtype=np.int64),
        read_ever=np.zeros(batch, dtype=np.int64),
        draft_length=np.full(batch, draft_tokens),
        draft_limit=np.full(batch, draft_limit),
        grammar=rules.grammar,
        string=rules.string,
        stopped=np.zeros(batch, dtype=np.bool_),
        broken=np.zeros(batch, dtype=np.bool_),
        steps=np.zeros(batch, dtype=np.int64),
        log=np.full((batch, 1, 5), -1),
        features=np.zeros((batch, 0)),
        drafting=drafting,
        judging=judging,
    )
