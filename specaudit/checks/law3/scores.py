"""The subject's tokens, each beside the law it was to be drawn from."""

from collections.abc import Iterator, Sequence

from specaudit.checks.law3.requests import SAMPLE, SCORE, scorable
from specaudit.checks.law3.settings import DepthSettings
from specaudit.checks.memo import once
from specaudit.checks.replays import spread
from specaudit.checks.scoring import How, read_scores, scores_of
from specaudit.checks.tokens import ScoredTokens, Scoring, emissions, exact_alternatives, walk
from specaudit.laws.contexts import exact_laws
from specaudit.laws.orders import order_of
from specaudit.model.evidence import Evidence


def scored_rounds(settings: DepthSettings, evidence: Evidence, how: How, seed: int) -> Sequence[ScoredTokens]:
    """Return every round, in parts that are not too large; what was lost of it is lost, were it all.

    Args:
        settings: The check's.
        evidence: All of it.
        how: How the laws are known.
        seed: Of the uniforms that randomise ranks.
    """
    return _scored(evidence, settings, how, seed)


@once
def _scored(evidence: Evidence, settings: DepthSettings, how: How, seed: int) -> tuple[ScoredTokens, ...]:
    """Scored once: bets are made on all of it, and ranges and paths are judged by it."""
    return tuple(_scoring(evidence, settings, how, seed))


def _scoring(evidence: Evidence, settings: DepthSettings, how: How, seed: int) -> Iterator[ScoredTokens]:
    first = 0
    for number in range(len(evidence.parts(SAMPLE))):
        parts = _exact(settings, evidence, number) if how == "exact" else _asked(settings, evidence, how, number)
        for scoring in parts:
            yield scoring.scored(first=first, seed=seed, stage=f"{SAMPLE}.{number}")
        first += len(emissions(evidence, f"{SAMPLE}.{number}", "subject"))


@once
def noise(evidence: Evidence, settings: DepthSettings, how: How) -> float:
    """Return by how much the reference's scorings of one context differ, in nats; 0 where it was not asked for any."""
    if how not in ("forced", "single"):
        return 0.0
    rounds = (
        (scorable(evidence.plan, settings, evidence, how, number), scores_of(evidence, f"{SCORE}.{number}"))
        for number in range(len(evidence.parts(SAMPLE)))
    )
    return spread(settings.sampling, evidence.capabilities["reference"], rounds, settings.rounding)


def _exact(settings: DepthSettings, evidence: Evidence, number: int) -> Iterator[Scoring]:
    """Tokens under the laws that the reference revealed."""
    order = order_of(evidence.capabilities["reference"].engine)
    laws = exact_laws(evidence.laws["reference"], settings.sampling, order)
    emitted = emissions(evidence, f"{SAMPLE}.{number}", "subject")
    drafts, raw = exact_alternatives(evidence, settings.sampling, order)
    yield walk(laws, emitted, drafts=drafts, raw=raw)


def _asked(settings: DepthSettings, evidence: Evidence, how: How, number: int) -> Iterator[Scoring]:
    """Tokens under the laws that the reference's logprobs tell."""
    completions = scorable(evidence.plan, settings, evidence, how, number)
    reference, answers = evidence.capabilities["reference"], scores_of(evidence, f"{SCORE}.{number}")
    return read_scores(settings.sampling, reference, completions, answers, settings.rounding)
