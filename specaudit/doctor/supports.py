"""Which checks an endpoint supports: each is asked what it lacks, with nothing collected yet."""

from collections.abc import Iterator

from specaudit.checks import registry
from specaudit.checks.interface import budget_of
from specaudit.model.capabilities import Capabilities
from specaudit.model.checkup import Support
from specaudit.model.entries import AnyEntry, PlanEntry, ProbeEntry
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.plan import Arm, Plan, Role
from specaudit.model.suite import Suite
from specaudit.version import VERSION


def supports(found: Capabilities, endpoint: str, metrics: str | None) -> Iterator[Support]:
    """Yield for each check whether it could be carried out with the endpoint alone, and with a plain reference.

    The reference is taken to reveal what the endpoint does.
    """
    for check_id in registry.locations():
        alone = _lacks(check_id, found, endpoint, metrics, referenced=False)
        referenced = _lacks(check_id, found, endpoint, metrics, referenced=True)
        yield Support(
            check=check_id,
            title=registry.get(check_id).title,
            alone=not alone,
            referenced=not referenced,
            missing=referenced or alone,
        )


def _lacks(check_id: str, found: Capabilities, endpoint: str, metrics: str | None, *, referenced: bool) -> str:
    """What a check says that it lacks; nothing where it could be carried out."""
    roles: tuple[Role, ...] = ("subject", "reference") if referenced else ("subject",)
    places: dict[Role, str] = {"subject": endpoint, "reference": f"{endpoint}#plain"}
    plan = Plan(
        tool=VERSION,
        created="",
        suite=Suite(name="doctor", title="", checks={check_id: {}}),
        checks=(check_id,),
        required=(check_id,),
        arms=tuple(Arm(role=role, engine="auto", endpoint=places[role]) for role in roles),
        metrics=metrics,
        alpha=1e-3,
        seed=0,
        concurrency=1,
    )
    entries: list[AnyEntry] = [PlanEntry(plan=plan, digest="")]
    entries += [ProbeEntry(role=role, capabilities=found) for role in roles]
    check, settings, evidence = registry.get(check_id), registry.settings_of(plan.suite, check_id), Evidence(entries)
    if check.next_stage(plan, settings, evidence) is not None:
        return ""
    finding = check.judge(settings, evidence, budget_of(plan, check_id))
    return finding.summary if finding.verdict in (Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE) else ""
