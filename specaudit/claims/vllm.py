"""A table of draft lengths as vLLM's configuration takes it."""

import json
from collections.abc import Sequence

from specaudit.claims.speed_up import Bucket

MOST_DRAFTS = "num_speculative_tokens"
BY_BATCH = "num_speculative_tokens_per_batch_size"
"""Rows of [first batch, last batch, drafts a step], both ends included; vLLM's documentation of dynamic speculative
decoding (`docs/features/speculative_decoding/dynamic_speculative_decoding.md`), since its pull request 32374."""


def speculative_config(found: Sequence[Bucket]) -> str:
    """Return the option for `vllm serve`; the method and the drafter's model are to be added to it."""
    config = {
        MOST_DRAFTS: max((1, *(bucket.draft_tokens for bucket in found))),
        BY_BATCH: [[bucket.first, bucket.last, bucket.draft_tokens] for bucket in found],
    }
    return f"--speculative-config '{json.dumps(config)}'"
