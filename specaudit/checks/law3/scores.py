"""The subject's tokens, each beside the law it was to be drawn from."""

from collections.abc import Iterator

from specaudit.checks.law3.requests import SAMPLE, SCORE, How, Place, scorable
from specaudit.checks.law3.settings import DepthSettings
from specaudit.checks.tokens import ScoredTokens, Scoring, emissions, exact_alternatives, walk
from specaudit.laws.contexts import exact_laws, scored_law
from specaudit.laws.edge import edge_of
from specaudit.laws.orders import order_of
from specaudit.model.completion import Response, TokenLogprobs
from specaudit.model.evidence import Evidence

_LAWS_AT_ONCE = 4096
"""Bounds the memory of a table of laws, of which each token has its own."""


def scored_rounds(settings: DepthSettings, evidence: Evidence, how: How, seed: int) -> Iterator[ScoredTokens]:
    """Return every round whose completions were scored, in parts that are not too large.

    Args:
        settings: The check's.
        evidence: All of it.
        how: How the laws are known.
        seed: Of the uniforms that randomise ranks.
    """
    first = 0
    for number in range(len(evidence.parts(SAMPLE))):
        if how != "exact" and f"{SCORE}.{number}" not in evidence.stages:
            continue
        parts = _exact(settings, evidence, number) if how == "exact" else _asked(settings, evidence, how, number)
        for scoring in parts:
            yield scoring.scored(first=first, seed=seed)
        first += len(emissions(evidence, f"{SAMPLE}.{number}", "subject"))


def _exact(settings: DepthSettings, evidence: Evidence, number: int) -> Iterator[Scoring]:
    """Tokens under the laws that the reference revealed."""
    order = order_of(evidence.capabilities["reference"].engine)
    laws = exact_laws(evidence.laws["reference"], settings.sampling, order)
    emitted = emissions(evidence, f"{SAMPLE}.{number}", "subject")
    drafts, raw = exact_alternatives(evidence, settings.sampling, order)
    yield walk(laws, emitted, drafts=drafts, raw=raw)


def _asked(settings: DepthSettings, evidence: Evidence, how: How, number: int) -> Iterator[Scoring]:
    """Tokens under the laws that the reference's logprobs tell, one law per token, some completions at a time."""
    reference = evidence.capabilities["reference"]
    mode, order = reference.logprobs_mode, order_of(reference.engine)
    answers = iter(evidence.answered(f"{SCORE}.{number}", "reference"))
    scoring = Scoring(edges=[])
    for row, one in enumerate(scorable(evidence.plan, settings, evidence, how, number)):
        if len(scoring.laws) > _LAWS_AT_ONCE:
            yield scoring
            scoring = Scoring(edges=[])
        if one.lost:
            scoring.lose(row, one.lost)
        for place, (_, _, response) in zip(one.places, answers, strict=False):
            for depth, position in _positions(place, response):
                law = None if position is None else scored_law(position, settings.sampling, mode, order)
                if law is None or position is None:
                    scoring.lose(row, [depth])
                    continue
                context = scoring.add_law(law, edge_of(position, law, settings.sampling, mode))
                scoring.add(row, depth, place.tokens[depth], context)
    yield scoring


def _positions(place: Place, response: Response | None) -> Iterator[tuple[int, TokenLogprobs | None]]:
    """What was reported at each depth that a request scores."""
    if place.depth is None:
        scores = response.scores if response is not None else None
        for depth in range(len(place.tokens)):
            yield depth, scores[depth] if scores is not None and depth < len(scores) else None
        return
    told = response.completions[0].logprobs if response is not None and response.completions else None
    yield place.depth, told[0] if told else None
