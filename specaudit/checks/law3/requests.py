"""What LAW3 asks for, in rounds that double.

- `LAW3.sample.R`: completions of the subject, of several lengths.
- `LAW3.score.R`: the reference's logprobs for them: of whole completions at once where it scores prompts (teacher
  forcing), else of one token a request, at places that the plan's seed chooses. A first token comes from prefill and
  is never drafted, so this works where the reference is the subject itself.

In process the law is revealed whole, and nothing need be scored.
"""

from math import ceil

import numpy as np

from specaudit.checks import scoring
from specaudit.checks.copies import tellable_choices
from specaudit.checks.interface import budget_of
from specaudit.checks.law3.depths import Group, groups
from specaudit.checks.law3.settings import DepthSettings
from specaudit.checks.powered import prompts_for, trial_stage
from specaudit.checks.scoring import How, Scorable, at_depths
from specaudit.checks.seeds import first_seed
from specaudit.checks.tokens import emissions
from specaudit.checks.whole_sample import round_ends
from specaudit.model.capabilities import Capabilities
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Stage
from specaudit.model.request import Request
from specaudit.prompts.lengthen import lengthen

CHECK = "LAW3"
SAMPLE = "LAW3.sample"
SCORE = "LAW3.score"


def sample_groups(plan: Plan, settings: DepthSettings, how: How) -> tuple[Group, ...]:
    """Return the completions that the whole sample has."""
    delta = budget_of(plan, CHECK).delta
    return groups(
        settings,
        delta=delta,
        whole=how in ("exact", "forced"),
        samples=2 if how == "drawn" else 1,
        edges=settings.edges if how in ("forced", "single") else 0.0,
    )


def sample_stage(plan: Plan, settings: DepthSettings, evidence: Evidence, how: How) -> Stage | None:
    """Return the next round of completions, or None when the sample is complete."""
    if (trial := trial_stage(plan, evidence, CHECK, settings.sampling)) is not None:
        return trial
    subject = evidence.capabilities["subject"]
    number = len(evidence.parts(SAMPLE))
    requests = _requests(plan, settings, subject, sample_groups(plan, settings, how))
    ends = round_ends(len(requests), settings.blocks)
    if number == len(ends) - 1:
        return None
    prompts = prompts_for(plan, evidence, settings.prompts, plan.seed + 3)
    return Stage(
        name=f"{SAMPLE}.{number}",
        blocks=(tuple(requests[ends[number] : ends[number + 1]]),),
        prompts=tuple(lengthen(prompt, settings.prompt_tokens) for prompt in prompts),
        scrape=subject.counters,
    )


def _requests(
    plan: Plan, settings: DepthSettings, subject: Capabilities, wanted: tuple[Group, ...]
) -> list[PlannedRequest]:
    """All completions of the sample, lengths and prompts mixed at random."""
    largest = max(group.completions for group in wanted)
    choices = tellable_choices(min(settings.choices, subject.max_choices), largest, settings.prompts)
    lengths = [group.depths.end for group in wanted for _ in range(ceil(group.completions / choices))]
    order = np.random.default_rng([plan.seed, 3]).permutation(len(lengths))
    return [
        PlannedRequest(
            arm="subject",
            prompt_index=index % settings.prompts,
            request=Request(
                prompt=(),
                sampling=settings.sampling,
                seed=first_seed(plan, CHECK, "subject") + index * choices,
                n=choices,
                max_tokens=lengths[place],
            ),
        )
        for index, place in enumerate(order.tolist())
    ]


def score_stage(plan: Plan, settings: DepthSettings, evidence: Evidence, how: How) -> Stage | None:
    """Return the requests that score the last round of completions; None where none came back with its tokens."""
    number = len(evidence.parts(SAMPLE)) - 1
    return scoring.score_stage(
        plan,
        CHECK,
        f"{SCORE}.{number}",
        settings.sampling,
        evidence,
        scorable(plan, settings, evidence, how, number),
        how=how,
        asked=sum(evidence.stages[stage].size for stage in evidence.parts(SCORE)),
    )


def scorable(plan: Plan, settings: DepthSettings, evidence: Evidence, how: How, number: int) -> list[Scorable]:
    """Return how each completion of a round is scored, in plan order."""
    emitted = emissions(evidence, f"{SAMPLE}.{number}", "subject")
    if how == "forced":
        return scoring.forced(emitted)
    wanted = {group.depths.end: group for group in sample_groups(plan, settings, how)}
    rng = np.random.default_rng([plan.seed, 4, number])
    found: list[Scorable] = []
    for one in emitted:
        group = wanted[one.asked]
        span = np.arange(group.depths.first, group.depths.end)
        found.append(at_depths(one, np.sort(rng.choice(span, group.scored, replace=False)).tolist()))
    return found
