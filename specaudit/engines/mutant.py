"""`mutant:NAME`: the reference decoder with one planted fault, in process."""

from specaudit.decoding.worlds import WORLDS
from specaudit.engines.interface import Access
from specaudit.engines.reference import WORLD, ReferenceEngine
from specaudit.model.errors import UsageError
from specaudit.model.plan import Arm
from specaudit.mutants.registry import UnknownMutantError, get


def build(arm: Arm, access: Access) -> ReferenceEngine:
    """Return the mutant that the arm's engine names.

    Raises:
        UsageError: there is no such mutant.
    """
    name = arm.engine.partition(":")[2]
    try:
        mutant = get(name)
    except UnknownMutantError as error:
        raise UsageError(str(error), hint="specaudit list mutants") from error
    return ReferenceEngine(mutant.build(WORLDS[WORLD], draft_tokens=arm.draft_tokens or 0))
