"""LMDeploy (0.18): vLLM's speculation series, beside gauges of the lifetime that are not read.

The per-position series appear with the first draft at each position. An early version (commit 0168eed) counts every
generated token twice; its windows are void beside what a client received.
"""

from specaudit.counters.dialects.vllm import VllmSchema

LMDEPLOY = VllmSchema(
    name="lmdeploy",
    description="LMDeploy: as vLLM V1; its gauges of acceptance are of the whole life and not read",
    prefix="lmdeploy:",
    without_speculation="this server decodes plainly, or is older than these counters",
    configuration=("cache_config_info", "backend_config_info"),
)
