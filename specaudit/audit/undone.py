"""What an audit that was ended by a limit has left undone."""

from specaudit.checks import registry
from specaudit.model.evidence import Evidence


def unfinished(evidence: Evidence, check_id: str) -> bool:
    """Say whether a check would still have asked for something."""
    if not all(arm.role in evidence.capabilities for arm in evidence.plan.arms):
        return True  # it was not asked yet what it would ask
    done, planned = progress(evidence, check_id)
    settings = registry.settings_of(evidence.plan.suite, check_id)
    return done < planned or registry.get(check_id).next_stage(evidence.plan, settings, evidence) is not None


def progress(evidence: Evidence, check_id: str) -> tuple[int, int]:
    """Return how many requests of a check's stages so far were settled, and how many there are."""
    own = (check_id, registry.family(check_id))
    stages = {name: stage.size for name, stage in evidence.stages.items() if name.split(".")[0] in own}
    done = sum(evidence.is_settled(name, slot) for name, slots in stages.items() for slot in range(slots))
    return done, sum(stages.values())


def left_undone(evidence: Evidence) -> str:
    """Return a sentence on the checks that are not finished, with how far each had come."""
    said = []
    for check_id in evidence.plan.checks:
        if unfinished(evidence, check_id):
            done, planned = progress(evidence, check_id)
            said.append(f"{check_id} ({done:,} of the {planned:,} requests planned so far)" if planned else check_id)
    return f"Left undone: {', '.join(said)}." if said else "Everything had been asked."
