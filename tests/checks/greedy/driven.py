"""Audits of one greedy check against decoders in this process."""

from specaudit.calibrate.drive import HIDDEN, drive
from specaudit.calibrate.subjects import decoder, reference_of
from specaudit.checks import registry
from specaudit.checks.interface import budget_of
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import WORLDS
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.suite import Background, Suite
from tests.model.builders import plan

TRAFFIC = Background(max_tokens=(2, 9))


def engines(subject, world=None):
    """The subject and plain decoding of its target; `reference` is the correct decoder in a world."""
    if subject == "reference":
        pair = [SpeculativeDecoder(WORLDS[world or "cycle16"], draft_tokens=drafts) for drafts in (3, 0)]
    else:
        pair = [decoder(subject), reference_of(subject)]
    return {role: ReferenceEngine(one) for role, one in zip(("subject", "reference"), pair, strict=True)}


def audited(
    subject, checks, *, world=None, level="exact", traffic=None, concurrency=8, spoil=lambda planned, r: r, hidden=None
):
    """Return evidence of the checks' stages, in order, and the plan."""
    suite = Suite(name="test", title="", checks=checks, background=traffic)
    head = plan(
        next(iter(checks)),
        suite=suite,
        checks=tuple(checks),
        required=tuple(checks),
        metrics="in process",
        concurrency=concurrency,
    )
    told = {**HIDDEN[level], **(hidden or {})}
    arms = engines(subject, world)

    class All:
        def next_stage(self, plan, settings, evidence):
            stages = (
                registry.get(name).next_stage(plan, registry.settings_of(suite, name), evidence) for name in checks
            )
            return next((stage for stage in stages if stage is not None), None)

    evidence = drive(
        All(),
        None,
        head,
        arms,
        reveal=level == "exact",
        hidden={role: told for role in arms},
        spoil=spoil,
    )
    return evidence


def finding(evidence, check):
    settings = registry.settings_of(evidence.plan.suite, check)
    return registry.get(check).judge(settings, evidence, budget_of(evidence.plan, check))
