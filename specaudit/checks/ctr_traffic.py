"""The traffic that CTR checks make for themselves: many short windows of the subject's own completions."""

from typing import Annotated

import msgspec

from specaudit.checks.commands import with_option
from specaudit.checks.seeds import first_seed
from specaudit.model.capabilities import Capabilities
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.plan import Plan, PlannedRequest, Stage
from specaudit.model.request import Request, Sampling
from specaudit.model.suite import CheckSettings
from specaudit.prompts.choose import choose_prompts

STAGE = "CTR.windows"
ANSWERS = "CTR.answers"
"""The same for engines whose answers count their own speculation, and no page does."""

_MOST_ANSWERS = 96


class TrafficSettings(CheckSettings, frozen=True, kw_only=True):
    """How much traffic; the checks of the family share the stage that is planned first."""

    windows: Annotated[int, msgspec.Meta(ge=1, le=400)] = 24
    requests: Annotated[int, msgspec.Meta(ge=1, le=10)] = 4
    """Requests per window."""
    choices: Annotated[int, msgspec.Meta(ge=1, le=64)] = 16
    max_tokens: Annotated[int, msgspec.Meta(ge=2)] = 32
    sampling: Sampling = msgspec.field(default_factory=Sampling)


def next_stage(
    plan: Plan, check_id: str, settings: TrafficSettings, evidence: Evidence, *, by_answers: bool = False
) -> Stage | None:
    """Return the windows' requests, unless they were made already or there are no counters to read.

    The checks of the family share the stage, so there are as many windows as any of them wants.

    Args:
        plan: The plan's header.
        check_id: The check that plans.
        settings: Its settings.
        evidence: Of earlier stages.
        by_answers: Where no page counts speculation and the answers do, ask for answers of one choice each.
    """
    subject = evidence.capabilities.get("subject")
    if subject is None or made(evidence) is not None:
        return None
    if not subject.counters:
        return _answers(plan, check_id, settings, subject) if by_answers and subject.counts_in_answers else None
    tables = [table for name, table in plan.suite.checks.items() if name.startswith("CTR")]
    windows = max([settings.windows, *(table["windows"] for table in tables if "windows" in table)])
    count = windows * settings.requests
    choices = min(settings.choices, subject.max_choices)
    prompts = choose_prompts(min(count, 64), [subject], plan.seed + 2, plan.suite.prompts.sets)
    requests = [
        PlannedRequest(
            arm="subject",
            prompt_index=index % len(prompts),
            request=Request(
                prompt=prompts[index % len(prompts)],
                sampling=settings.sampling,
                seed=first_seed(plan, check_id, "subject") + index * choices,
                n=choices,
                max_tokens=settings.max_tokens,
            ),
        )
        for index in range(count)
    ]
    size = settings.requests
    blocks = tuple(tuple(requests[start : start + size]) for start in range(0, count, size))
    return Stage(name=STAGE, blocks=blocks, scrape=True)


def _answers(plan: Plan, check_id: str, settings: TrafficSettings, subject: Capabilities) -> Stage:
    count = min(settings.windows * settings.requests, _MOST_ANSWERS)
    prompts = choose_prompts(count, [subject], plan.seed + 2, plan.suite.prompts.sets)
    seed = first_seed(plan, check_id, "subject")
    block = tuple(
        PlannedRequest(
            arm="subject",
            prompt_index=index % len(prompts),
            request=Request(prompt=(), sampling=settings.sampling, seed=seed + index, max_tokens=settings.max_tokens),
        )
        for index in range(count)
    )
    return Stage(name=ANSWERS, blocks=(block,), prompts=prompts)


def made(evidence: Evidence) -> str | None:
    """Return the stage of the family's traffic, None where it was not planned yet."""
    return next((stage for stage in (STAGE, ANSWERS) if stage in evidence.stages), None)


def why_not(evidence: Evidence) -> tuple[Verdict, str, str]:
    """Say why there are no windows: verdict, sentence, next step."""
    subject = evidence.capabilities.get("subject")
    if evidence.plan.metrics is None and all(arm.endpoint is None for arm in evidence.plan.arms):
        return Verdict.NOT_APPLICABLE, "An engine in process has no metrics page, and this one counts in no answer.", ""
    if evidence.plan.metrics is None:
        return (
            Verdict.NOT_APPLICABLE,
            "No metrics page was named, so there are no counters to read.",
            with_option(evidence.plan, "--metrics", "URL_OF_THE_METRICS_PAGE"),
        )
    if subject is not None and not subject.counters:
        return (
            Verdict.NOT_APPLICABLE,
            f"The metrics page at {evidence.plan.metrics} has no speculation counters.",
            "Is speculation configured, and is this the subject's own page?",
        )
    return Verdict.INCONCLUSIVE, "No window was collected.", ""
