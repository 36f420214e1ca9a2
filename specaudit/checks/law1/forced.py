"""LAW1 by teacher forcing: the reference scores whole completions of the subject, and first its own.

- `LAW1.trust`: the pilot's completions, scored. Where the reference's own tokens contradict what it tells of them, its
  logprobs are not the law that it draws from (llama.cpp b11549 forbids the end of a sequence when asked to ignore it,
  and still reports its logprob), and the subject is held against its words alone.
- `LAW1.score.R`: a round of the subject's completions, scored.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from specaudit.checks.betting import bet
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import DOUBT, PILOT, SAMPLE, SCORE, TRUST, target_laws
from specaudit.checks.memo import once
from specaudit.checks.ranks import points_of
from specaudit.checks.replays import spread
from specaudit.checks.scoring import forced, read_scores, score_stage, scores_of, scoring
from specaudit.checks.tokens import ScoredTokens, emissions, exact_alternatives, walk
from specaudit.laws.orders import order_of
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, Role, Stage
from specaudit.stats.evalues.slack import hidden_tv

CHECK = "LAW1"
_TRUST_PART, _SCORE_PART = 1, 3
"""Of the seeds; the tree's are those of the trust stage, since there is never both."""

_HIDDEN = 1 / 3
"""Share of the tolerance that tokens at the edge of the filters may hide: were it more, the reference's own words,
which have no such edge, would take fewer tokens to the same bound."""

_LARGER = 2.0
"""How many times as far apart two scorings of one context are taken to be in the sample as they were in the pilot."""

How = Literal["depths", "exact", "forced", "sampled"]
"""What the bound is made of: words by depth, or all words of a completion, and then how their law is known."""


def how_bounded(settings: LawSettings, evidence: Evidence) -> How:
    """Return how the words of the sample are bounded."""
    if settings.bound == "depths":
        return "depths"
    if "reference" in evidence.laws:
        return "exact"
    if scoring(settings.sampling, evidence) != "forced":
        return "sampled"
    if hidden_at_edges(evidence, settings) > _HIDDEN * settings.tolerance:
        return "sampled"
    return "forced" if _believed(evidence, settings) else "sampled"


@once
def hidden_at_edges(evidence: Evidence, settings: LawSettings) -> float:
    """Return what tokens at the edge of the filters hide of a word's total variation, in the pilot's contexts.

    0 where these were not scored.
    """
    if TRUST not in evidence.stages:
        return 0.0
    scored = _scored(evidence, settings, PILOT, TRUST, "reference", first=0, seed=0)
    hidden = [points_of(one.known).hidden for one in scored if one.known is not None]
    return settings.word_length * float(np.concatenate(hidden).mean()) if hidden else 0.0


@once
def _believed(evidence: Evidence, settings: LawSettings) -> bool:
    """Nothing that the reference itself emitted contradicts its logprobs, as far as these were asked for."""
    if TRUST not in evidence.stages:
        return True
    own = bet(_scored(evidence, settings, PILOT, TRUST, "reference", first=0, seed=0), DOUBT, slack=settings.slack)
    return own is not None and own.rejected_after is None


@once
def noise(evidence: Evidence, settings: LawSettings) -> float:
    """Return by how much the reference's scorings of one context differ, in nats; 0 where it scored none."""
    rounds = enumerate(evidence.parts(SAMPLE))
    scored: list[tuple[str, str, Role]] = [(stage, f"{SCORE}.{number}", "subject") for number, stage in rounds]
    return _spread(evidence, settings, [(PILOT, TRUST, "reference"), *scored])


@once
def hidden_by_plan(evidence: Evidence, settings: LawSettings) -> float:
    """Return what the plan sets aside of the tolerance: what edge tokens and numerics will hide of a word.

    The bound adds the largest difference of all scorings, which are many more than the pilot's, so that numerics count
    `_LARGER` times. What would leave nothing is not set aside: then no sample is large enough.
    """
    if TRUST not in evidence.stages:
        return 0.0
    numerics = _LARGER * _spread(evidence, settings, [(PILOT, TRUST, "reference")])
    hidden = hidden_at_edges(evidence, settings)
    together = hidden + settings.word_length * hidden_tv(numerics)
    return together if together < settings.tolerance else hidden


def _spread(evidence: Evidence, settings: LawSettings, scored: Sequence[tuple[str, str, Role]]) -> float:
    """By how much scorings of one context differ in these stages, each with that of the completions it scores."""
    rounds = (
        (
            forced(emissions(evidence, stage, role)),
            scores_of(evidence, score),
        )
        for stage, score, role in scored
        if score in evidence.stages
    )
    return spread(settings.sampling, evidence.capabilities["reference"], rounds, settings.rounding)


def trust_stage(plan: Plan, settings: LawSettings, evidence: Evidence) -> Stage | None:
    """Return the requests that score the pilot's own completions."""
    emitted = forced(emissions(evidence, PILOT, "reference"))
    return score_stage(plan, CHECK, TRUST, settings.sampling, evidence, emitted, how="forced", part=_TRUST_PART)


def next_score(plan: Plan, settings: LawSettings, evidence: Evidence) -> Stage | None:
    """Return the requests that score the last round of the sample, unless they were asked or there are none."""
    number = len(evidence.parts(SAMPLE)) - 1
    if number < 0 or f"{SCORE}.{number}" in evidence.stages:
        return None
    emitted = forced(emissions(evidence, f"{SAMPLE}.{number}", "subject"))
    asked = sum(evidence.stages[name].size for name in evidence.parts(SCORE))
    name = f"{SCORE}.{number}"
    return score_stage(
        plan, CHECK, name, settings.sampling, evidence, emitted, how="forced", part=_SCORE_PART, asked=asked
    )


def scored_rounds(settings: LawSettings, evidence: Evidence, seed: int) -> Iterator[ScoredTokens]:
    """Return every round of the subject's words with its laws, exact or forced."""
    first = 0
    for number, stage in enumerate(evidence.parts(SAMPLE)):
        if "reference" in evidence.laws:
            order = order_of(evidence.capabilities["reference"].engine)
            drafts, raw = exact_alternatives(evidence, settings.sampling, order)
            emitted = emissions(evidence, stage, "subject")
            yield walk(target_laws(settings, evidence), emitted, drafts=drafts, raw=raw).scored(first=first, seed=seed)
        else:
            score = f"{SCORE}.{number}"
            yield from _scored(evidence, settings, stage, score, "subject", first=first, seed=seed)
        first += len(emissions(evidence, stage, "subject"))


def _scored(
    evidence: Evidence, settings: LawSettings, stage: str, score: str, role: Role, *, first: int, seed: int
) -> Iterator[ScoredTokens]:
    answers = scores_of(evidence, score)
    completions = forced(emissions(evidence, stage, role))
    reference = evidence.capabilities["reference"]
    for part in read_scores(settings.sampling, reference, completions, answers, settings.rounding):
        yield part.scored(first=first, seed=seed)
