"""What LGP1 asks for: answers of the subject with logprobs, then the reference's own law in the same contexts.

- `LGP1.sample`: the answers.
- `LGP1.score`: the reference's raw logprobs: of whole answers where it scores prompts (teacher forcing), else of one
  token a request, at places that the plan's seed chooses. It is asked without filters, so that it reports raw logprobs
  in either mode. A first token comes from prefill and is never drafted, so that the subject can be its own reference.

In process the law is revealed whole, and nothing need be scored.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from specaudit.checks.control import reachable
from specaudit.checks.lgp1.settings import LogprobSettings
from specaudit.checks.seeds import first_seed
from specaudit.model.completion import TokenLogprobs
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Stage
from specaudit.model.request import Request, Sampling
from specaudit.prompts.choose import choose_prompts

CHECK = "LGP1"
SAMPLE, SCORE = "LGP1.sample", "LGP1.score"

How = Literal["exact", "forced", "single"]
"""How the target's logprobs become known."""


def why_not(evidence: Evidence) -> str:
    """Say why reported logprobs cannot be held against the target's; nothing where they can."""
    subject, reference = evidence.capabilities["subject"], evidence.capabilities["reference"]
    if not subject.logprobs:
        return "The subject reports no logprobs."
    if subject.tokens != "ids":
        return "The subject's tokens are not told as ids, so that its contexts cannot be scored."
    if "reference" in evidence.laws:
        return ""
    if not reference.logprobs:
        return "The reference reports no logprobs to hold the subject's against."
    if not (reference.token_prompts and reference.tokens == "ids"):
        return "The reference cannot be asked for its law behind a prefix: that takes prompts of token ids."
    if reference.logprobs_mode != "raw" and reference.temperature not in ("any", "one"):
        return "The reference's temperature is its own, so that its raw logprobs are not known."
    return ""


def scoring(evidence: Evidence) -> How:
    """Return how the target's logprobs become known, where they do."""
    if "reference" in evidence.laws:
        return "exact"
    return "forced" if evidence.capabilities["reference"].scores_prompts else "single"


def sampling_of(settings: LogprobSettings, evidence: Evidence) -> Sampling:
    """Return the parameters of the answers, as far as every arm takes them."""
    return reachable(settings.sampling, evidence)


def sample_stage(plan: Plan, settings: LogprobSettings, evidence: Evidence) -> Stage:
    """Return the answers that are asked for."""
    subject = evidence.capabilities["subject"]
    prompts = choose_prompts(
        settings.prompts, list(evidence.capabilities.values()), plan.seed + 9, plan.suite.prompts.sets
    )
    requests = tuple(
        PlannedRequest(
            arm="subject",
            prompt_index=index,
            request=Request(
                prompt=(),
                sampling=sampling_of(settings, evidence),
                seed=first_seed(plan, CHECK, "subject") + index,
                max_tokens=settings.max_tokens,
                logprobs=min(settings.logprobs, subject.logprobs),
            ),
        )
        for index in range(len(prompts))
    )
    ends = np.linspace(0, len(requests), settings.blocks + 1).astype(int).tolist()
    blocks = tuple(requests[a:b] for a, b in pairwise(ends) if a < b)
    return Stage(name=SAMPLE, blocks=blocks, prompts=prompts, scrape=subject.counters)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer of the subject, with what was reported beside its tokens."""

    number: int
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    reported: tuple[TokenLogprobs | None, ...]
    """At each token; None where nothing was."""


def answers(evidence: Evidence) -> tuple[list[Answer], int]:
    """Return the answers that came back with their tokens, and how many did not."""
    found: list[Answer] = []
    lost = 0
    for number, (slot, planned, response) in enumerate(evidence.answered(SAMPLE, "subject")):
        if not evidence.attempts_at(SAMPLE, slot):
            continue  # what was never asked is no loss
        prompt = evidence.prompt_tokens("subject", planned.request.prompt)
        first = response.completions[0] if response is not None and response.completions else None
        tokens = tuple(t for t in (first.tokens or ()) if isinstance(t, int)) if first is not None else ()
        if first is None or prompt is None or not tokens or len(tokens) != len(first.tokens or ()):
            lost += 1
            continue
        told = list(first.logprobs or ())[: len(tokens)]
        reported = (*told, *[None] * (len(tokens) - len(told)))
        found.append(Answer(number=number, prompt=prompt, tokens=tokens, reported=reported))
    return found, lost


def positions(plan: Plan, settings: LogprobSettings, how: How, answer: Answer) -> list[int]:
    """Return which tokens of an answer are scored; chosen before it was known, its first one among them."""
    if how != "single":
        return list(range(len(answer.tokens)))
    rng = np.random.default_rng([plan.seed, 9, answer.number])
    others = rng.choice(np.arange(1, settings.max_tokens), min(settings.scored, settings.max_tokens) - 1, replace=False)
    return [0, *(position for position in np.sort(others).tolist() if position < len(answer.tokens))]


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the reference reads: a whole answer, or the prefix whose next token it is asked about."""

    prompt: tuple[int, ...]
    tokens: tuple[int, ...]


def contexts(plan: Plan, settings: LogprobSettings, how: How, found: list[Answer]) -> list[Context]:
    """Return the contexts that the reference is asked about, each once, in the order of the requests."""
    if how == "forced":
        every = (Context(prompt=one.prompt, tokens=one.tokens) for one in found)
    else:
        every = (
            Context(prompt=one.prompt, tokens=one.tokens[:position])
            for one in found
            for position in positions(plan, settings, how, one)
        )
    return list(dict.fromkeys(every))


def score_stage(plan: Plan, settings: LogprobSettings, evidence: Evidence) -> Stage | None:
    """Return the requests that score the answers; None where none came back."""
    how, reference = scoring(evidence), evidence.capabilities["reference"]
    asked = contexts(plan, settings, how, answers(evidence)[0])
    wanted = max(settings.logprobs, sampling_of(settings, evidence).top_k + 1)
    prompts = {prompt: index for index, prompt in enumerate(dict.fromkeys(one.prompt for one in asked))}
    requests = tuple(
        PlannedRequest(
            arm="reference",
            prompt_index=prompts[one.prompt],
            request=Request(
                prompt=one.tokens,
                sampling=Sampling(),
                seed=first_seed(plan, CHECK, "reference") + index,
                max_tokens=1,
                logprobs=min(max(1, wanted), reference.logprobs),
                score_from=len(one.prompt) if how == "forced" else None,
            ),
        )
        for index, one in enumerate(asked)
    )
    return Stage(name=SCORE, blocks=(requests,), prompts=tuple(prompts)) if requests else None
