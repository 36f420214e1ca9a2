"""Checks by id. A check is one file; it is registered by a line here, or by another package.

The entry-point group for other packages is `specaudit.checks`; an entry names the check's class.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast

import msgspec

from specaudit.checks.interface import Check
from specaudit.model.errors import UsageError
from specaudit.model.nearest import nearest
from specaudit.model.suite import CheckSettings, Suite

BUILT_IN = {
    "GRD1": "specaudit.checks.grd1:PrefixEquality",
    "GRD2": "specaudit.checks.grd2:NoiseFloor",
    "GRD3": "specaudit.checks.grd3.check:EndEquality",
    "LAW1": "specaudit.checks.law1.check:EmittedLaw",
    "LAW2": "specaudit.checks.law2:Support",
    "LAW3": "specaudit.checks.law3.check:LawByDepth",
    "LAW4": "specaudit.checks.law4:Independence",
    "LAW5": "specaudit.checks.law5.check:ParameterMatrix",
    "LAW6": "specaudit.checks.law6.check:Precision",
    "SED1": "specaudit.checks.sed1:SameSeed",
    "SED2": "specaudit.checks.sed2.check:OwnBatch",
    "SED3": "specaudit.checks.sed3:Coupled",
    "LGP1": "specaudit.checks.lgp1.check:ReportedLogprobs",
    "CTR1": "specaudit.checks.ctr1:WindowValidity",
    "CTR2": "specaudit.checks.ctr2:Identities",
    "CTR3": "specaudit.checks.ctr3:AcceptanceLength",
    "CTR4": "specaudit.checks.ctr4:Billing",
    "CTR5": "specaudit.checks.ctr5:SpeculationOn",
    "CLM1": "specaudit.checks.clm1:PhysicallyPossible",
    "CLM2": "specaudit.checks.clm2:SpeedUp",
    "CLM3": "specaudit.checks.clm3:ClaimedAcceptance",
}

AnyCheck = Check[Any]


@cache
def locations() -> dict[str, str]:
    """Return `module:Class` of every known check, in the order they run."""
    plugged = {point.name: point.value for point in entry_points(group="specaudit.checks")}
    return BUILT_IN | {name: value for name, value in plugged.items() if name not in BUILT_IN}


def get(check_id: str) -> AnyCheck:
    """Return a check by its id.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    known = locations()
    if check_id not in known:
        raise UsageError(
            f"There is no check {check_id!r}.{nearest(check_id.upper(), known)}", hint="specaudit list checks"
        )
    module, name = known[check_id].split(":")
    return cast(AnyCheck, getattr(import_module(module), name)())


def family(check_id: str) -> str:
    """Return the letters before a check's number: GRD, LAW, CTR and so on."""
    return check_id.rstrip("0123456789")


def settings_of(suite: Suite, check_id: str) -> CheckSettings:
    """Return a check's settings from `[checks.ID]` of a suite.

    Raises:
        msgspec.ValidationError: a key is unknown or a value is not of its type.
    """
    settings: CheckSettings = msgspec.convert(suite.checks.get(check_id, {}), type=get(check_id).settings_type)
    return settings
