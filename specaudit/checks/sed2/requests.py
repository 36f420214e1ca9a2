"""What SED2 asks for: every request alone, alone again, and in company."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import msgspec

from specaudit.checks.answers import Comparison, Place, compare_places
from specaudit.checks.background import accompanied
from specaudit.checks.company import in_company, places_in_company
from specaudit.checks.control import no_greedy_decoding, reachable
from specaudit.checks.seeds import first_seed
from specaudit.checks.selfsame import is_self
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import GREEDY, Request, Sampling
from specaudit.model.suite import CheckSettings
from specaudit.prompts.choose import choose_prompts

CHECK = "SED2"
ALONE, AGAIN, COMPANY = "SED2.alone", "SED2.again", "SED2.company"


class BatchSettings(CheckSettings, frozen=True, kw_only=True):
    """What `[checks.SED2]` of a suite may say."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.1
    """Share of requests whose answer may depend on what else is in the batch, of the sampled and of the greedy ones."""
    prompts: Annotated[int, msgspec.Meta(ge=8, le=4096)] = 96
    max_tokens: Annotated[int, msgspec.Meta(ge=4)] = 16
    sampling: Sampling = msgspec.field(default_factory=Sampling)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Requests of one kind, sampled or greedy, as one arm answered them."""

    name: str
    company: Comparison
    """Alone against in company."""
    plain: Comparison | None
    """The same of the plain target; None where there is none, or it was not asked."""


def arms(evidence: Evidence) -> tuple[Role, ...]:
    """The subject, and the plain arm where there is one that is as willing, and noise to be measured."""
    reference = evidence.capabilities.get("reference")
    if is_exact(evidence) or reference is None or is_self(evidence.plan):
        return ("subject",)
    seeded = "seed" not in reference.refused and reference.repeats != "always"
    return ("subject", "reference") if seeded else ("subject",)


def is_exact(evidence: Evidence) -> bool:
    """Whether there is no numeric noise: engines whose law is exactly known compute it without."""
    return "reference" in evidence.laws


def kinds_of(evidence: Evidence) -> tuple[str, ...]:
    """Return the kinds of requests that the subject takes."""
    return ("sampled",) if no_greedy_decoding(evidence) else ("sampled", "greedy")


def requests_of(plan: Plan, settings: BatchSettings, evidence: Evidence) -> dict[Role, tuple[PlannedRequest, ...]]:
    """The requests of each arm, kinds taking turns; prompts are shared, seeds are not."""
    mixed = {"sampled": reachable(settings.sampling, evidence), "greedy": GREEDY}
    kinds = kinds_of(evidence)
    return {
        role: tuple(
            PlannedRequest(
                arm=role,
                prompt_index=index,
                request=Request(
                    prompt=(),
                    sampling=mixed[kind],
                    seed=first_seed(plan, CHECK, role) + index * len(kinds) + number,
                    max_tokens=_cap(settings, index),
                ),
            )
            for index in range(settings.prompts)
            for number, kind in enumerate(kinds)
        )
        for role in arms(evidence)
    }


def _cap(settings: BatchSettings, index: int) -> int:
    """Tokens of a request: a quarter, a half, three quarters or all, so that ends fall at different times."""
    return max(4, settings.max_tokens * (index % 4 + 1) // 4)


def stage(plan: Plan, settings: BatchSettings, evidence: Evidence, name: str) -> Stage:
    """Return the stage of that name."""
    requests, asked = requests_of(plan, settings, evidence), arms(evidence)
    prompts = choose_prompts(
        settings.prompts, list(evidence.capabilities.values()), plan.seed + 8, plan.suite.prompts.sets
    )
    if name == COMPANY:
        blocks = [in_company(plan, CHECK, evidence, role, requests[role], part=1) for role in asked]
    elif name == ALONE:
        blocks = [(one,) for role in asked for one in requests[role]]
    else:
        blocks = [(one,) for one in requests["subject"][:: len(kinds_of(evidence))]]
    scrape = name == COMPANY and evidence.capabilities["subject"].counters
    return Stage(name=name, blocks=tuple(blocks), prompts=prompts, scrape=scrape)


def twice_alone(settings: BatchSettings, evidence: Evidence) -> Iterator[tuple[Place, Place]]:
    """Return where the sampled requests stand that are asked alone twice."""
    kinds = len(kinds_of(evidence))
    return (((ALONE, index * kinds), (AGAIN, index)) for index in range(settings.prompts))


def compared(settings: BatchSettings, evidence: Evidence) -> Iterator[Kind]:
    """Compare the requests of each kind alone and in company."""
    kinds, asked = kinds_of(evidence), arms(evidence)
    count = settings.prompts * len(kinds)
    places = list(places_in_company(count))
    block = places[-1] + 1
    for number, name in enumerate(kinds):
        found = {
            role: compare_places(
                evidence,
                (
                    ((ALONE, arm * count + index), (COMPANY, arm * block + places[index]))
                    for index in range(number, count, len(kinds))
                ),
            )
            for arm, role in enumerate(asked)
        }
        plain = found.get("reference")
        yield Kind(name=name, company=found["subject"], plain=plain if plain is not None and plain.pairs else None)


def in_flight_beside(evidence: Evidence) -> int | None:
    """How many requests of the subject were in flight beside others; None where times were not recorded."""
    timed = any(attempt.started for attempt in evidence.attempts(COMPANY))
    return accompanied(evidence, COMPANY) if timed else None
