"""What the checks of greedy decoding ask: every prompt once, of one or several arms."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from specaudit.checks.interleaved import interleaved
from specaudit.checks.seeds import first_seed
from specaudit.model.completion import Completion, TokenLogprobs
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import GREEDY, Prompt, Request, Token
from specaudit.model.segments import only
from specaudit.prompts.choose import choose_prompts

LOGPROBS = 20
"""Asked at each position, or as many as there are."""

_ORDER_SEED = 13


def prompts_of(plan: Plan, evidence: Evidence, count: int) -> tuple[Prompt, ...]:
    """Return the prompts, the same for all checks of the family: so floors belong to what they are the floor of."""
    return choose_prompts(count, list(evidence.capabilities.values()), plan.seed, plan.suite.prompts.sets)


def greedy(
    plan: Plan, evidence: Evidence, check_id: str, prompts: Sequence[Prompt], roles: Sequence[Role], max_tokens: int
) -> tuple[PlannedRequest, ...]:
    """Return the requests for the greedy completion of every prompt by every arm, the reference's with logprobs.

    Which arm is asked for a prompt first is left to chance.
    """
    logprobs = min(evidence.capabilities["reference"].logprobs, LOGPROBS) or None
    requests = tuple(
        PlannedRequest(
            arm=role,
            prompt_index=index,
            request=Request(
                prompt=prompt,
                sampling=GREEDY,
                seed=first_seed(plan, check_id, role, 1 if role == "replay" else 0) + index,
                max_tokens=max_tokens,
                logprobs=logprobs if role == "reference" else None,
            ),
        )
        for index, prompt in enumerate(prompts)
        for role in roles
    )
    return interleaved(np.random.default_rng([plan.seed, _ORDER_SEED]), requests, len(roles))


class Answer(NamedTuple):
    """A prompt that was answered with tokens."""

    prompt: Prompt
    completion: Completion


def answers(evidence: Evidence, stage: str, role: Role) -> dict[int, Answer]:
    """Return an arm's first choices by the index of their prompt; those without tokens are left out."""
    found: dict[int, Answer] = {}
    for _, planned, response in evidence.answered(stage, role) if stage in evidence.stages else ():
        for completion in response.completions[:1] if response else ():
            if (judged := only(completion, evidence.plan.segment)).tokens is not None:
                found[planned.prompt_index] = Answer(planned.request.prompt, judged)
    return found


class Forced(NamedTuple):
    """A completion that the reference is to score, whole."""

    name: str
    """Whose it is."""
    prompt_index: int
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]


def can_force(evidence: Evidence) -> bool:
    """True if the reference scores what others emitted, and its noise is of interest."""
    found = evidence.capabilities["reference"]
    told_as_ids = found.token_prompts and found.tokens == "ids" and evidence.plan.segment == "all"
    return found.scores_prompts and told_as_ids and found.logprobs > 1 and "reference" not in evidence.laws


def forcible(evidence: Evidence, name: str, wanted: Iterable[tuple[int, Answer]]) -> list[Forced]:
    """Return the completions among these whose prompts and tokens are known as ids."""
    found = []
    for index, (prompt, completion) in wanted:
        ids, tokens = evidence.prompt_tokens("reference", prompt), _ids(completion.tokens or ())
        if ids is not None and tokens:
            found.append(Forced(name, index, ids, tokens))
    return found


def force(plan: Plan, evidence: Evidence, check_id: str, name: str, wanted: Sequence[Forced]) -> Stage | None:
    """Return the stage in which the reference reads each completion at once and scores its tokens."""
    logprobs = min(evidence.capabilities["reference"].logprobs, LOGPROBS)
    seed = first_seed(plan, check_id, "reference", 2)
    block = tuple(
        PlannedRequest(
            arm="reference",
            prompt_index=one.prompt_index,
            request=Request(
                prompt=one.prompt + one.tokens,
                sampling=GREEDY,
                seed=seed + number,
                max_tokens=1,
                logprobs=logprobs,
                score_from=len(one.prompt),
            ),
        )
        for number, one in enumerate(wanted)
    )
    return Stage(name=name, blocks=(block,)) if block else None


def scores(
    evidence: Evidence, stage: str, wanted: Sequence[Forced]
) -> dict[tuple[str, int], tuple[TokenLogprobs, ...]]:
    """Return what the reference reported of each completion, by whose it is and the index of its prompt."""
    if stage not in evidence.stages:
        return {}
    told = zip(wanted, evidence.answered(stage, "reference"), strict=False)
    return {
        (one.name, one.prompt_index): response.scores
        for one, (_, _, response) in told
        if response is not None and response.scores is not None
    }


def _ids(tokens: Sequence[Token]) -> tuple[int, ...]:
    ids = tuple(token for token in tokens if isinstance(token, int))
    return ids if len(ids) == len(tokens) else ()
