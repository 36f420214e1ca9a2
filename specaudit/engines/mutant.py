"""`mutant:NAME[:DOSE]` and `control:NAME`: variants of the reference decoder, in process."""

from specaudit.engines.embedded import world_named
from specaudit.engines.interface import Access
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.errors import UsageError
from specaudit.model.plan import Arm
from specaudit.mutants.registry import UnknownMutantError, get, get_control


def build(arm: Arm, access: Access) -> ReferenceEngine:
    """Return the mutant or control that the arm's engine names.

    Raises:
        UsageError: there is none of this name, or its dose is out of range.
    """
    family, _, name = arm.engine.partition(":")
    try:
        mutant = get_control(name) if family == "control" else get(name)
    except (UnknownMutantError, ValueError) as error:
        raise UsageError(str(error), hint=f"specaudit list {family}s") from error
    return ReferenceEngine(mutant.build(world_named(arm.world or mutant.world), draft_tokens=arm.draft_tokens or 0))
