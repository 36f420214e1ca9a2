"""What LAW3 asks for, in rounds that double.

- `LAW3.sample.R`: completions of the subject, of several lengths.
- `LAW3.score.R`: the reference's logprobs for them: of whole completions at once where it scores prompts (teacher
  forcing), else of one token a request, at places that the plan's seed chooses. A first token comes from prefill and
  is never drafted, so this works where the reference is the subject itself.

In process the law is revealed whole, and nothing need be scored.
"""

from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np

from specaudit.checks.control import law_is_told
from specaudit.checks.copies import tellable_choices
from specaudit.checks.interface import budget_of
from specaudit.checks.law3.depths import Group, groups
from specaudit.checks.law3.settings import DepthSettings
from specaudit.checks.seeds import first_seed
from specaudit.checks.tokens import emissions
from specaudit.checks.whole_sample import round_ends
from specaudit.model.capabilities import Capabilities
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Stage
from specaudit.model.request import Request
from specaudit.prompts.choose import choose_prompts
from specaudit.prompts.lengthen import lengthen

CHECK = "LAW3"
SAMPLE = "LAW3.sample"
SCORE = "LAW3.score"

How = Literal["exact", "forced", "single", "drawn"]
"""How laws become known: revealed in process; by teacher forcing; one token a request; or not at all, where the
reference reports no logprobs and is only asked for a token of its own in the same context."""


def scoring(settings: DepthSettings, evidence: Evidence) -> How | None:
    """Return how the law at each emitted token can be known; None where the reference cannot be asked in context."""
    reference = evidence.capabilities["reference"]
    if "reference" in evidence.laws:
        return "exact"
    hidden = any(found.reasoning == "hidden" for found in evidence.capabilities.values())
    if hidden or not (reference.token_prompts and reference.tokens == "ids" and law_is_told(evidence)):
        return None
    # Raw logprobs tell the law when they reach as far as top_k does, or hold the whole vocabulary.
    wanted = settings.sampling.top_k or reference.vocabulary_size
    if wanted is None or reference.logprobs < wanted or reference.logprobs_mode == "unknown":
        return "drawn"
    return "forced" if reference.scores_prompts and reference.logprobs_mode == "raw" else "single"


def sample_groups(plan: Plan, settings: DepthSettings, how: How) -> tuple[Group, ...]:
    """Return the completions that the whole sample has."""
    delta = budget_of(plan, CHECK).delta
    return groups(settings, delta=delta, whole=how in ("exact", "forced"), samples=2 if how == "drawn" else 1)


def sample_stage(plan: Plan, settings: DepthSettings, evidence: Evidence, how: How) -> Stage | None:
    """Return the next round of completions, or None when the sample is complete."""
    subject = evidence.capabilities["subject"]
    number = len(evidence.parts(SAMPLE))
    requests = _requests(plan, settings, subject, sample_groups(plan, settings, how))
    ends = round_ends(len(requests), settings.blocks)
    if number == len(ends) - 1:
        return None
    prompts = choose_prompts(settings.prompts, list(evidence.capabilities.values()), plan.seed + 3)
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
    reference = evidence.capabilities["reference"]
    # One more than top_k keeps: it tells how clear the cut is.
    wanted = settings.sampling.top_k + 1 if settings.sampling.top_k else reference.logprobs
    logprobs = None if how == "drawn" else min(wanted, reference.logprobs)
    places = places_to_score(plan, settings, evidence, how, number)
    prompts = {prompt: index for index, prompt in enumerate(dict.fromkeys(place.prompt for place in places))}
    asked = sum(evidence.stages[stage].size for stage in evidence.parts(SCORE))
    requests = tuple(
        PlannedRequest(
            arm="reference",
            prompt_index=prompts[place.prompt],
            request=Request(
                prompt=place.read,
                sampling=settings.sampling,
                seed=first_seed(plan, CHECK, "reference") + asked + index,
                max_tokens=1,
                logprobs=logprobs,
                score_from=place.whole_from,
            ),
        )
        for index, place in enumerate(places)
    )
    return Stage(name=f"{SCORE}.{number}", blocks=(requests,), prompts=tuple(prompts)) if requests else None


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the reference is asked for the law: behind the first `depth` tokens of a completion, or at all of them."""

    completion: int
    """Number of the completion in its round."""
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    """All of it."""
    depth: int | None
    """None for every depth at once."""

    @property
    def read(self) -> tuple[int, ...]:
        """What the reference reads behind the prompt."""
        return self.tokens if self.depth is None else self.tokens[: self.depth]

    @property
    def whole_from(self) -> int | None:
        """The first token that is to be scored as part of the prompt."""
        return len(self.prompt) if self.depth is None else None


@dataclass(frozen=True, kw_only=True)
class Scorable:
    """One completion of a round, with the requests that score it."""

    places: tuple[Place, ...]
    """Empty where the completion was lost, or ended before any of its places."""
    lost: tuple[int, ...]
    """Depths that were to be scored and cannot be, since the completion was lost."""


def places_to_score(plan: Plan, settings: DepthSettings, evidence: Evidence, how: How, number: int) -> list[Place]:
    """Return where a round's completions are scored, one per request, in the order of the requests."""
    return [place for one in scorable(plan, settings, evidence, how, number) for place in one.places]


def scorable(plan: Plan, settings: DepthSettings, evidence: Evidence, how: How, number: int) -> list[Scorable]:
    """Return how each completion of a round is scored, in plan order."""
    wanted = {group.depths.end: group for group in sample_groups(plan, settings, how)}
    rng = np.random.default_rng([plan.seed, 4, number])
    found: list[Scorable] = []
    for row, one in enumerate(emissions(evidence, f"{SAMPLE}.{number}", "subject")):
        # Chosen before it is known what came back: a place may depend on nothing that was drawn.
        depths: list[int] = list(range(one.asked))
        if how != "forced":
            group = wanted[one.asked]
            span = np.arange(group.depths.first, group.depths.end)
            depths = np.sort(rng.choice(span, group.scored, replace=False)).tolist()
        if one.tokens is None:
            found.append(Scorable(places=(), lost=tuple(depths)))
            continue
        tokens = tuple(token for token in one.tokens if isinstance(token, int))
        places: list[int | None] = [None] if how == "forced" else [depth for depth in depths if depth < len(tokens)]
        found.append(
            Scorable(
                places=tuple(Place(completion=row, prompt=one.prompt, tokens=tokens, depth=depth) for depth in places),
                lost=(),
            )
        )
    return found
