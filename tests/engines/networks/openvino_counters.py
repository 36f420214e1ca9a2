"""OpenVINO GenAI's own counters of accepted drafts, which only `generate` returns, held against what it emitted.

With one draft a step every step but the prefill emits one token, and another where its draft was accepted; at most the
last one has no draft, as the cap leaves no room. So a completion has at most 2 + drafts + accepted tokens.
"""

from pathlib import Path

import numpy as np
import openvino
import openvino_genai as genai

REQUESTS, TOKENS, TOP_K = 60, 24, 4
TITLE = "counters of generate(), draft model, K = 1"
EXACT = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}


def broken(folder: Path, *, sampled: bool) -> list[tuple[int, int, int]]:
    """Return emitted tokens, drafts and accepted drafts of each completion whose counters do not add up."""
    properties = {**EXACT, "draft_model": genai.draft_model(str(folder / "draft"), "CPU")}
    pipeline = genai.ContinuousBatchingPipeline(str(folder / "target"), genai.SchedulerConfig(), "CPU", properties)
    rng = np.random.default_rng(0)
    found = []
    for seed in range(REQUESTS):
        settings = genai.GenerationConfig()
        settings.max_new_tokens, settings.ignore_eos, settings.num_assistant_tokens = TOKENS, True, 1
        settings.do_sample, settings.rng_seed = sampled, seed
        if sampled:
            settings.temperature, settings.top_k, settings.top_p = 1.0, TOP_K, 1.0
        (answer,) = pipeline.generate([openvino.Tensor(rng.integers(2, 258, (1, 8)))], [settings])
        counted = answer.extended_perf_metrics
        drafts, accepted = counted.get_num_draft_tokens(), counted.get_num_accepted_tokens()
        emitted = len(answer.m_generation_ids[0])
        if emitted > 2 + drafts + accepted:
            found.append((emitted, drafts, accepted))
    return found


def tell(folder: Path) -> None:
    """Print how often the counters do not add up."""
    print(f"\n{TITLE}, {REQUESTS} requests of {TOKENS} tokens")
    for name, sampled in (("greedy", False), ("sampled", True)):
        found = broken(folder, sampled=sampled)
        first = f"; the first: {found[0][0]} tokens, {found[0][1]} drafts, {found[0][2]} accepted" if found else ""
        print(f"  {name}: emitted <= 2 + drafts + accepted fails in {len(found)} of {REQUESTS}{first}", flush=True)
