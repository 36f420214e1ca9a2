"""llama.cpp (build 11434): vLLM's speculation series, without any mark of the process's lifetime.

The per-position series appear with the first finished request, and the speculation counters stand at 0 on a server
that does not speculate. Numbers are printed with six significant digits (build 11549: `1.27962e+06`), so that a server
that has emitted a million tokens shows its counters rounded to tens.
"""

from specaudit.counters.dialects.vllm import VllmSchema

LLAMACPP = VllmSchema(
    name="llamacpp",
    description="llama.cpp: as vLLM V1, without any mark of a restart, and rounded from a million tokens on",
    prefix="llamacpp:",
    without_speculation="this build of llama.cpp does not export them",
    generation_tokens="tokens_predicted_total",
    requests_finished=None,
    running="requests_processing",
    waiting="requests_deferred",
    configuration=(),
    digits=6,
)
