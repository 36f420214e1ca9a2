"""The cases that the step-time model is held to: the deployment with the inputs that were stated for it."""

import tomllib
from pathlib import Path
from typing import Any

from specaudit.claims import drafters
from specaudit.claims.drafters import Drafter
from specaudit.claims.precisions import PRECISIONS
from specaudit.claims.speed_up import Speculation
from specaudit.claims.step_time import Deployment
from specaudit.claims.tables import devices, models

CHOSEN: dict[str, Any] = tomllib.loads((Path(__file__).parent / "chosen.toml").read_text(encoding="utf-8"))
LLAMA_70B, LLAMA_8B, DEEPSEEK = (models().find(name) for name in ("Llama-3.3-70B", "Llama-3.1-8B", "DeepSeek-V3"))

STATED = Deployment(
    model=LLAMA_70B,
    device=devices().find("H100"),
    devices=8,
    precision=PRECISIONS["fp8"],
    cache=PRECISIONS["fp8"],
    bandwidth_efficiency=0.75,
    compute_efficiency=0.5,
    overhead=2e-3,
    # The formula that was stated has neither.
    attention=False,
    links=False,
)
LAUNCH = CHOSEN["deployment"]["launch_ms"] / 1e3
CONTEXT: int = CHOSEN["deployment"]["context"]


def chosen_deployment(**changes: Any) -> Deployment:
    """The deployment of `chosen.toml`."""
    given = CHOSEN["deployment"]
    inputs: dict[str, Any] = {
        "model": models().find(given["model"]),
        "device": devices().find(given["hardware"]),
        "devices": given["devices"],
        "precision": PRECISIONS[given["precision"]],
        "cache": PRECISIONS[given["precision"]],
        "bandwidth_efficiency": given["bandwidth_efficiency"],
        "compute_efficiency": given["compute_efficiency"],
        "overhead": given["overhead_ms"] / 1e3,
    }
    return Deployment(**inputs | {"attention": False, "links": False} | changes)


def light(share: float) -> Drafter:
    """A drafter of a share of the target a pass."""
    return drafters.of_share(LLAMA_70B, share, launch=LAUNCH)


def stated(acceptance: float = 0.6) -> Speculation:
    """The deployment and the drafter of the table of best draft lengths."""
    return Speculation(deployment=STATED, drafter=light(0.016), acceptance=acceptance)
