"""Which model runner a vLLM server uses, by the rule of its release and what it tells of itself in development mode.

The rule is `VllmConfig.use_v2_model_runner` of vLLM 0.32.0 (vllm/config/vllm.py), and what of it holds for earlier
ones; see data/vllm_switches.toml. A release whose rule nobody read is given no answer.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

_READ = ((0, 28), (0, 32))
"""The first and the last release whose default was read."""


@dataclass(frozen=True, kw_only=True)
class Runner:
    """Which model runner it is, and why."""

    which: Literal["old", "new", "unknown"]
    why: str


def runner(page: Mapping[str, Any]) -> Runner:
    """Return which model runner a server uses that answered /server_info?config_format=json with a page."""
    config, chosen, told = (_object(page.get(name)) for name in ("vllm_config", "vllm_env", "system_env"))
    for name, value in (
        ("watermark_config", config.get("watermark_config")),
        ("hisparse_config", _object(config.get("attention_config")).get("hisparse_config")),
    ):
        if value is not None:
            return Runner(which="new", why=f"{name} is set, which needs it")
    if isinstance(flag := chosen.get("VLLM_USE_V2_MODEL_RUNNER"), bool):
        return Runner(which="new" if flag else "old", why=f"VLLM_USE_V2_MODEL_RUNNER is {flag:d}")
    release = version(told.get("vllm_version"))
    if not config or release is None:
        return Runner(which="unknown", why="the server does not tell; its log does")
    called = f"vLLM {release[0]}.{release[1]}"
    if not _READ[0] <= release <= _READ[1]:
        return Runner(which="unknown", why=f"how {called} chooses is not known here; its log tells")
    device = str(_object(config.get("device_config")).get("device"))
    if (lacking := _without_triton(device, told.get("pip_packages"))) is not None:
        return Runner(which="old", why=f"{called} takes the new one where there is Triton, and {lacking}")
    if release < _READ[1]:
        return Runner(which="unknown", why=f"it depends on features that {called} does not tell of; its log does")
    if off := list(_unsupported(config)):
        return Runner(which="old", why=f"the new one of {called} does not support {', '.join(off)}")
    return Runner(which="new", why=f"{called} takes it where there is Triton, and nothing told here is against it")


def version(told: Any) -> tuple[int, int] | None:
    """Return the first two numbers of a version such as `0.32.0+cpu`; None where it begins otherwise."""
    found = re.match(r"v?(\d+)\.(\d+)", told if isinstance(told, str) else "")
    return None if found is None else (int(found[1]), int(found[2]))


def _without_triton(device: str, packages: Any) -> str | None:
    """Say how it is known that there is no Triton for a device; None where there may be one."""
    if not isinstance(packages, str) or not packages.strip():
        return None
    installed = re.findall(r"^(?:pytorch[-_])?triton(?:[-_](?:cpu|rocm|xpu))?==\S+", packages, re.MULTILINE)
    if not installed:
        return "none is installed"
    # HAS_TRITON is true on a CPU where triton.backends has "cpu"; builds that do are called such as triton==3.8.0+cpu.
    if device == "cpu" and not any("cpu" in one for one in installed):
        return f"{installed[0]} is not built for CPUs"
    return None


def _unsupported(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the new runner of vLLM 0.32 does not support: `_get_v2_model_runner_unsupported_features`."""
    parallel = _object(config.get("parallel_config"))
    speculative = _object(config.get("speculative_config"))
    method = speculative.get("method")
    if method in ("suffix", "medusa", "mlp_speculator", "custom_class"):
        yield f"the speculative method {method}"
    if speculative.get("parallel_drafting") and method not in ("dflash", "dspark"):
        yield "parallel drafting of EAGLE"
    if speculative.get("use_heterogeneous_vocab"):
        yield "a draft model of another vocabulary"
    if parallel.get("enable_dbo") or _count(parallel.get("ubatch_size")) > 1:
        yield "dual batch overlap"
    launcher = parallel.get("distributed_executor_backend") == "external_launcher"
    if launcher and _count(parallel.get("pipeline_parallel_size")) > 1:
        yield "pipeline parallelism with external_launcher"


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0
