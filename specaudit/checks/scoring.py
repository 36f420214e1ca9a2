"""The reference scores what the subject emitted: of whole completions at once, or of one token a request.

A whole completion is scored by teacher forcing, where the reference tells the logprobs of a prompt's own tokens. A
first token comes from prefill and is never drafted, so that one token a request works where the reference is the
subject itself.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from specaudit.checks.control import law_is_told
from specaudit.checks.seeds import first_seed
from specaudit.checks.tokens import Emission, Scoring
from specaudit.laws.edge import DOUBT, ToldLaw, told_law
from specaudit.laws.orders import order_of
from specaudit.laws.processors import looks_back
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Response, TokenLogprobs
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Stage
from specaudit.model.request import Request, Sampling, Token

How = Literal["exact", "forced", "single", "drawn"]
"""How laws become known: revealed in process; by teacher forcing; one token a request; or not at all, where the
reference reports no logprobs and is only asked for a token of its own in the same context."""

_LAWS_AT_ONCE = 4096
"""Bounds the memory of a table of laws, of which each token has its own."""


def scoring(sampling: Sampling, evidence: Evidence) -> How | None:
    """Return how the law at each emitted token can be known; None where the reference cannot be asked in context."""
    if "reference" in evidence.laws:
        return "exact"
    if why_not(sampling, evidence):
        return None
    reference = evidence.capabilities["reference"]
    # Raw logprobs tell the law when they reach as far as top_k does, or hold the whole vocabulary.
    wanted = sampling.top_k or reference.vocabulary_size
    if wanted is None or reference.logprobs < wanted or reference.logprobs_mode == "unknown":
        return "drawn"
    return "forced" if reference.scores_prompts and reference.logprobs_mode == "raw" else "single"


def why_not(sampling: Sampling, evidence: Evidence) -> str:
    """Say why the reference cannot be asked for its law behind a prefix; nothing where it can."""
    reference = evidence.capabilities["reference"]
    hidden = any(found.reasoning == "hidden" for found in evidence.capabilities.values())
    if hidden or not (reference.token_prompts and reference.tokens == "ids" and law_is_told(evidence)):
        return (
            "The reference cannot be asked for its law behind a prefix: that takes prompts of token ids, whole "
            "completions, and temperatures that can be set."
        )
    if looks_back(sampling):  # vLLM counts presence and frequency over what was generated, and never over the prompt
        return (
            "The sampling parameters look back at the tokens before: penalties, a grammar or bad words. To the "
            "reference a prefix is prompt, and engines do not treat it as what they generated. LAW1 and LAW5 judge "
            "such parameters by whole completions."
        )
    return ""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the reference is asked for the law: behind the first `depth` tokens of a completion, or at all of them."""

    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    """All of the completion."""
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
    """One completion, with the requests that score it."""

    places: tuple[Place, ...]
    """Empty where the completion was lost, or ended before any of its places."""
    lost: tuple[int, ...] = ()
    """Depths that were to be scored and cannot be: the completion was lost, or does not tell how it ended."""


def forced(emitted: Iterable[Emission]) -> list[Scorable]:
    """Return how whole completions are scored, one request each."""
    return [
        Scorable(places=(), lost=tuple(range(one.asked)))
        if one.tokens is None
        else Scorable(
            places=(Place(prompt=_ids(one.prompt), tokens=_ids(one.tokens), depth=None),), lost=_hidden_end(one)
        )
        for one in emitted
    ]


def at_depths(one: Emission, depths: Sequence[int]) -> Scorable:
    """Return how one completion is scored at some depths, one request each; what it ended before is left out.

    The depths are chosen before it is known what came back: a place may depend on nothing that was drawn.
    """
    if one.tokens is None:
        return Scorable(places=(), lost=tuple(depths))
    prompt, tokens = _ids(one.prompt), _ids(one.tokens)
    return Scorable(
        places=tuple(Place(prompt=prompt, tokens=tokens, depth=depth) for depth in depths if depth < len(tokens)),
        lost=tuple(depth for depth in _hidden_end(one) if depth in depths),
    )


def _hidden_end(one: Emission) -> tuple[int, ...]:
    """The depth of the end that was drawn and is not told."""
    return (len(one.tokens),) if one.tokens is not None and one.end_hidden else ()


def _ids(tokens: Iterable[Token]) -> tuple[int, ...]:
    return tuple(token for token in tokens if isinstance(token, int))


def score_stage(
    plan: Plan,
    check_id: str,
    name: str,
    sampling: Sampling,
    evidence: Evidence,
    completions: Iterable[Scorable],
    *,
    how: How,
    part: int = 0,
    asked: int = 0,
) -> Stage | None:
    """Return the requests that score completions; None where none came back with its tokens.

    Args:
        plan: The header.
        check_id: Whose stage it is.
        name: Of the stage.
        sampling: Parameters under which the completions were drawn.
        evidence: What was collected so far.
        completions: In plan order.
        how: How the law becomes known.
        part: Whose seeds are used.
        asked: Requests of that part before these.
    """
    reference = evidence.capabilities["reference"]
    # One more than top_k keeps: it tells how clear the cut is.
    wanted = sampling.top_k + 1 if sampling.top_k else reference.logprobs
    logprobs = None if how == "drawn" else min(wanted, reference.logprobs)
    places = [place for one in completions for place in one.places]
    prompts = {prompt: index for index, prompt in enumerate(dict.fromkeys(place.prompt for place in places))}
    requests = tuple(
        PlannedRequest(
            arm="reference",
            prompt_index=prompts[place.prompt],
            request=Request(
                prompt=place.read,
                sampling=sampling,
                seed=first_seed(plan, check_id, "reference", part) + asked + index,
                max_tokens=1,
                logprobs=logprobs,
                score_from=place.whole_from,
            ),
        )
        for index, place in enumerate(places)
    )
    return Stage(name=name, blocks=(requests,), prompts=tuple(prompts)) if requests else None


def scores_of(evidence: Evidence, stage: str) -> list[Response | None]:
    """Return the reference's answers of a stage that scores a round, in plan order.

    Nothing where that was never asked: all completions of the round were lost, which still count as lost, or the audit
    was ended before.
    """
    if stage not in evidence.stages:
        return []
    return [response for _, _, response in evidence.answered(stage, "reference")]


def read_scores(
    sampling: Sampling,
    reference: Capabilities,
    completions: Iterable[Scorable],
    answers: Iterable[Response | None],
    doubt: float = DOUBT,
) -> Iterator[Scoring]:
    """Return tokens under the laws that the reference's logprobs tell, some completions at a time.

    Args:
        sampling: Parameters under which the completions were drawn.
        reference: What the reference reveals.
        completions: As they were asked about.
        answers: To the requests of their places, in order.
        doubt: Natural logarithms by which two passes over the same weights may differ.
    """
    mode, order, replies = reference.logprobs_mode, order_of(reference.engine), iter(answers)
    scored, number, kept = Scoring(edges=[]), dict[int, int](), list[ToldLaw]()
    for row, one in enumerate(completions):
        if len(scored.laws) > _LAWS_AT_ONCE:
            yield scored
            scored, number, kept = Scoring(edges=[]), {}, []
        if one.lost:
            scored.lose(row, one.lost)
        for place, response in zip(one.places, replies, strict=False):
            for depth, position in positions(place, response):
                told = None if position is None else told_law(position, sampling, mode, order, doubt)
                if told is None:
                    scored.lose(row, [depth])
                    continue
                if id(told) not in number:
                    number[id(told)] = scored.add_law(told.law, told.edge)
                    kept.append(told)
                scored.add(row, depth, place.tokens[depth], number[id(told)])
    yield scored


def positions(place: Place, response: Response | None) -> Iterator[tuple[int, TokenLogprobs | None]]:
    """Return what was reported at each depth that a request scores."""
    if place.depth is None:
        scores = response.scores if response is not None else None
        for depth in range(len(place.tokens)):
            yield depth, scores[depth] if scores is not None and depth < len(scores) else None
        return
    told = response.completions[0].logprobs if response is not None and response.completions else None
    yield place.depth, told[0] if told else None
