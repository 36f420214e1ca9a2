"""A claim as a part of an audit: recorded with its plan, and judged by the checks that know claims."""

from collections.abc import Sequence

import msgspec

from specaudit.claims.architecture import Architecture
from specaudit.claims.consistency import check_claim
from specaudit.claims.hardware import Device
from specaudit.claims.space import speed_up_of
from specaudit.claims.tables import devices, models
from specaudit.model.claim import Claim, least
from specaudit.model.suite import Suite


def with_claim(
    suite: Suite,
    claim: Claim,
    name: str,
    *,
    hardware: Sequence[Device] = (),
    architectures: Sequence[Architecture] = (),
) -> Suite:
    """Return the suite with a claim for CLM1 to judge, and to be required.

    CLM2 and CLM3, where the suite has them, are told what was claimed, and are required of claims that say it.

    Raises:
        UsageError: the claim is incomplete, contradicts itself, or names what is in neither table.
    """
    check_claim(claim, name)
    if claim.conditions.hardware:
        devices(hardware).find(claim.conditions.hardware, "hardware")
    if claim.conditions.model:
        models(architectures).find(claim.conditions.model, "model")
    settings = {
        **suite.checks.get("CLM1", {}),
        "required": True,
        "claim": msgspec.to_builtins(claim),
        "hardware": msgspec.to_builtins(tuple(hardware)),
        "models": msgspec.to_builtins(tuple(architectures)),
    }
    numbers = claim.numbers
    figures = {
        "CLM2": {"stated": speed_up_of(claim)},
        "CLM3": {"length": least(numbers.acceptance_length), "rate": least(numbers.acceptance_rate)},
    }
    told = {
        check: {**suite.checks[check], **known, "required": True}
        for check, stated in figures.items()
        if check in suite.checks and (known := {name: figure for name, figure in stated.items() if figure is not None})
    }
    return msgspec.structs.replace(suite, checks={**suite.checks, "CLM1": settings, **told})
