"""The K-sweep: prompts that part, asked again with other numbers of drafts per step.

Where a first divergence moves with K, it lies where drafts are accepted or rolled back; where it stays, it lies in
numerics or parameters.
"""

import msgspec

from specaudit.checks.background import beside_traffic
from specaudit.checks.greedy.asked import Answer, greedy
from specaudit.checks.greedy.partings import Compared
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, Stage

STAGE = "GRD1.sweep"

_PROMPTS = 8
_LARGEST = 4


def sweep_stage(
    plan: Plan, evidence: Evidence, apart: list[Compared], *, traffic: bool, max_tokens: int
) -> Stage | None:
    """Return the stage that asks prompts which part, with 0 to K-1 drafts; None where K cannot be set.

    Args:
        plan: The header.
        evidence: All so far.
        apart: The comparisons that part, in plan order.
        traffic: Whether they part beside traffic only, which then runs beside them again.
        max_tokens: Cap.
    """
    subject = evidence.capabilities["subject"]
    if not apart or not subject.sets_draft_tokens or (subject.draft_tokens or 0) < 1:
        return None
    prompts = [one.prompt for one in apart[:_PROMPTS]]
    lengths = range(min(subject.draft_tokens or 0, _LARGEST))
    blocks = tuple(
        tuple(
            msgspec.structs.replace(one, request=msgspec.structs.replace(one.request, draft_tokens=drafts))
            for one in greedy(plan, evidence, "GRD1", prompts, ("subject",), max_tokens)
        )
        for drafts in lengths
    )
    stage = Stage(name=STAGE, blocks=blocks)
    return beside_traffic(stage, plan, evidence, "GRD1") if traffic else stage


def swept(evidence: Evidence, apart: list[Compared], plain: dict[int, Answer]) -> str:
    """Say in a sentence whether first divergences move with K; nothing where K was not swept."""
    if STAGE not in evidence.stages or not apart:
        return ""
    places: dict[int, set[int | None]] = {
        index: {None if one.parting is None else one.parting.position} for index, one in enumerate(apart[:_PROMPTS])
    }
    without = 0
    blocks = _by_drafts(evidence)
    for drafts, found in blocks.items():
        for index, answer in found.items():
            expected = plain[apart[index].prompt_index].completion.tokens or ()
            emitted = answer.completion.tokens or ()
            same = emitted == expected
            pairs = enumerate(zip(emitted, expected, strict=False))
            place = None if same else next((at for at, (a, b) in pairs if a != b), min(len(emitted), len(expected)))
            if drafts == 0:
                without += not same
            else:
                places[index].add(place)
    moved = sum(len(found) > 1 for found in places.values())
    asked = f"{len(places)} prompts that part"
    if without:
        return f"K-sweep over {asked}: {without} part without any drafts of their own"
    gone = f"K-sweep over {asked}: the first divergence is gone without drafts"
    if moved:
        return f"{gone} and moves with their number in {moved}, as at acceptance or rollback"
    if len(blocks) < 2:
        return gone
    return f"{gone} and does not move with their number, as at the first draft or in the numerics of verifying"


def _by_drafts(evidence: Evidence) -> dict[int, dict[int, Answer]]:
    """Return the sweep's answers by the number of drafts, then by the place of the prompt in the sweep."""
    found: dict[int, dict[int, Answer]] = {}
    for slot, planned in enumerate(evidence.stages[STAGE].slots()):
        response = evidence.response(STAGE, slot) if planned.arm == "subject" else None
        for completion in response.completions[:1] if response else ():
            if completion.tokens is not None and planned.request.draft_tokens is not None:
                row = found.setdefault(planned.request.draft_tokens, {})
                row[planned.prompt_index] = Answer(planned.request.prompt, completion)
    return found
