"""What LAW1 asks for, stage by stage, each planned from the evidence of the stages before.

- `LAW1.pilot`: words of the reference. They choose the cells of the histograms and never enter the test.
- `LAW1.tree.D`: the reference's logprobs in every context of D tokens, which score the words that begin early.
- `LAW1.trust`, `LAW1.score.R`: what the reference tells of whole completions, see `forced.py`.
- `LAW1.sample.R`: words of the subject, and of the reference unless the law is exact, in rounds that double. They end
  with the round in which the deviation is shown, or with the sample that the tolerance needs.

In process the law is revealed whole, and only the last stage is needed.
"""

from math import ceil

import numpy as np

from specaudit.checks.control import law_is_told
from specaudit.checks.copies import tellable_choices
from specaudit.checks.interface import incomparable
from specaudit.checks.interleaved import interleaved
from specaudit.checks.law1.forced import CHECK, how_bounded, next_score, trust_stage
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.sizes import completions_planned
from specaudit.checks.law1.target import (
    PILOT,
    SAMPLE,
    TREE,
    TRUST,
    completion_length,
    prompt_contexts,
    target_laws,
    word_depths,
)
from specaudit.checks.powered import prompts_for, trial_stage
from specaudit.checks.seeds import first_seed
from specaudit.checks.whole_sample import round_ends
from specaudit.laws.processors import looks_back
from specaudit.laws.words import unknown_contexts
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import Prompt, Request

_PILOT_PART, _TREE_PART, _SAMPLE_PART = range(3)


def next_stage(plan: Plan, settings: LawSettings, evidence: Evidence) -> Stage | None:
    """Return the next stage that LAW1 needs, or None when it needs no more."""
    capabilities = evidence.capabilities
    if "reference" not in capabilities or incomparable(evidence):
        return None
    if SAMPLE in evidence.stages:
        return None
    if (trial := trial_stage(plan, evidence, CHECK, settings.sampling)) is not None:
        return trial
    prompts = prompts_for(plan, evidence, settings.prompts, plan.seed + 1)
    if "reference" in evidence.laws:
        return _sample(plan, settings, evidence, prompts)
    if PILOT not in evidence.stages:
        requests = _draw(plan, settings, evidence, prompts, settings.pilot, ("reference",), part=_PILOT_PART)
        return Stage(name=PILOT, blocks=(requests,), prompts=prompts)
    if how_bounded(settings, evidence) == "forced" and TRUST not in evidence.stages:
        return trust_stage(plan, settings, evidence) or _sample(plan, settings, evidence, prompts)
    if how_bounded(settings, evidence) == "forced":
        return next_score(plan, settings, evidence) or _sample(plan, settings, evidence, prompts)
    return _tree(plan, settings, evidence) or _sample(plan, settings, evidence, prompts)


def _tree(plan: Plan, settings: LawSettings, evidence: Evidence) -> Stage | None:
    """The next level of the tree of contexts, or None when it is complete, too large or of no use."""
    reference, contexts = evidence.capabilities["reference"], prompt_contexts(evidence)
    if not (reference.token_prompts and reference.logprobs) or TRUST in evidence.stages:
        return None
    if len(contexts) < settings.prompts or any(isinstance(token, str) for prompt in contexts for token in prompt):
        return None
    if not law_is_told(evidence):
        return None
    if looks_back(settings.sampling):
        return None  # to the engine all of such a context is prompt, which its penalties may not look at
    laws = target_laws(settings, evidence)
    level = len(evidence.parts(TREE))
    tokens = _tree_tokens(settings, evidence)
    below = [(len(prompt), context) for prompt in contexts for context in unknown_contexts(laws, prompt, tokens)]
    missing = [context for length, context in below if len(context) == length + level]
    if not missing or len(missing) < len(below):
        return None  # complete, or the levels before left gaps that asking again would not fill
    asked = sum(evidence.stages[stage].size for stage in evidence.parts(TREE))
    requests = tuple(
        PlannedRequest(
            arm="reference",
            prompt_index=index,
            request=Request(
                prompt=tuple(token for token in context if isinstance(token, int)),
                sampling=settings.sampling,
                seed=first_seed(plan, CHECK, "reference", _TREE_PART) + asked + index,
                max_tokens=1,
                logprobs=reference.logprobs,
            ),
        )
        for index, context in enumerate(missing)
    )
    return Stage(name=f"{TREE}.{level}", blocks=(requests,))


def _tree_tokens(settings: LawSettings, evidence: Evidence) -> int:
    """Tokens down to which the tree of contexts fits into `max_contexts`: the end of the last word that it scores."""
    reference = evidence.capabilities["reference"]
    branches = settings.sampling.top_k or reference.vocabulary_size or reference.logprobs
    ends = [depth + settings.word_length for depth in word_depths(settings, evidence.capabilities["subject"])]
    fits = [end for end in ends if settings.prompts * sum(branches**i for i in range(end)) <= settings.max_contexts]
    return max(fits, default=0)


def _sample(plan: Plan, settings: LawSettings, evidence: Evidence, prompts: tuple[Prompt, ...]) -> Stage | None:
    """A round of words of the subject, and of the reference unless all of the law is known."""
    subject = evidence.capabilities["subject"]
    alone = "reference" in evidence.laws or how_bounded(settings, evidence) == "forced"
    arms: tuple[Role, ...] = ("subject",) if alone else ("subject", "reference")
    count = completions_planned(plan, settings, evidence, prompts)
    requests = _draw(plan, settings, evidence, prompts, count, arms, part=_SAMPLE_PART)
    turn = len(prompts) * len(arms)  # every round asks every arm for every prompt
    ends = round_ends(len(requests), settings.blocks, turn)
    number = len(evidence.parts(SAMPLE))
    if number == len(ends) - 1:
        return None
    own = requests[ends[number] : ends[number + 1]]
    return Stage(name=f"{SAMPLE}.{number}", blocks=(own,), prompts=prompts, scrape=subject.counters)


def _draw(
    plan: Plan,
    settings: LawSettings,
    evidence: Evidence,
    prompts: tuple[Prompt, ...],
    count: int,
    arms: tuple[Role, ...],
    *,
    part: int,
) -> tuple[PlannedRequest, ...]:
    """Requests for `count` completions per arm, arms and prompts mixed at random."""
    capabilities = evidence.capabilities
    most = min(settings.choices, *(capabilities[arm].max_choices for arm in arms))
    choices = tellable_choices(most, count, len(prompts))
    length = completion_length(settings, capabilities["subject"])
    per_prompt = ceil(count / (len(prompts) * choices))
    logprobs = _own_logprobs(settings, evidence) if part == _PILOT_PART else None
    requests = [
        PlannedRequest(
            arm=arm,
            prompt_index=index,
            request=Request(
                prompt=(),
                sampling=settings.sampling,
                seed=first_seed(plan, CHECK, arm, part) + (round_ * len(prompts) + index) * choices,
                n=choices,
                max_tokens=length,
                logprobs=logprobs,
            ),
        )
        for round_ in range(per_prompt)
        for index in range(len(prompts))
        for arm in arms
    ]
    rng = np.random.default_rng([plan.seed, part])
    return interleaved(rng, requests, len(prompts) * len(arms))


def _own_logprobs(settings: LawSettings, evidence: Evidence) -> int | None:
    """How many logprobs the pilot is asked for: they tell the law in the contexts that it goes through.

    Where prompts may be given as tokens the tree tells it in all of them.
    """
    reference = evidence.capabilities["reference"]
    if reference.token_prompts or not law_is_told(evidence) or looks_back(settings.sampling):
        return None
    return reference.logprobs or None
