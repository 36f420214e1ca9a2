"""Bets on single tokens, which end the sample as soon as they have earned enough."""

from collections.abc import Iterator
from functools import partial

from specaudit.checks.betting import best_of, bet
from specaudit.checks.law1.forced import how_bounded, noise, scored_rounds
from specaudit.checks.law1.pairs import bet_on_pairs
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import DOUBT, SAMPLE, prompt_context, target_edges, target_laws
from specaudit.checks.tokens import ScoredTokens, emissions, exact_alternatives, walk
from specaudit.laws.orders import order_of
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Betting
from specaudit.model.plan import Role


def wager(settings: LawSettings, evidence: Evidence, *, alpha: float, seed: int, grouped: bool) -> Betting | None:
    """Bet on what was collected so far, and return the bet that earned most; None where there is nothing to bet on.

    Bets are on the subject's tokens in every context whose law is known, and unless that is exact, on pairs of
    completions too; they share the budget. A scored law is held against the reference's own tokens first: what speaks
    against them says nothing of the subject.

    Args:
        settings: The check's.
        evidence: What was collected so far.
        alpha: The bets' share of the error budget.
        seed: Of the uniforms that randomise ranks.
        grouped: Whether choices of one request may be copies of each other: their bets are then averaged.
    """
    if how_bounded(settings, evidence) == "forced":
        # Whole completions are scored one by one: copies among them are not bet on at all.
        slack = max(settings.slack, noise(evidence, settings))
        return None if grouped else bet(scored_rounds(settings, evidence, seed), alpha, slack=slack)
    if "reference" in evidence.laws:
        return bet(_tokens(settings, evidence, "subject", seed, grouped), alpha)
    own = bet(_tokens(settings, evidence, "reference", seed, grouped), DOUBT, slack=settings.slack)
    if own is None or own.rejected_after is not None:
        return bet_on_pairs(settings, evidence, alpha=alpha, grouped=grouped)
    return best_of(
        [
            bet(_tokens(settings, evidence, "subject", seed, grouped), alpha / 2, slack=settings.slack),
            bet_on_pairs(settings, evidence, alpha=alpha / 2, grouped=grouped),
        ]
    )


def _tokens(settings: LawSettings, evidence: Evidence, role: Role, seed: int, grouped: bool) -> Iterator[ScoredTokens]:
    laws, edges = target_laws(settings, evidence), target_edges(settings, evidence)
    order = order_of(evidence.capabilities["reference"].engine)
    exact = "reference" in evidence.laws
    drafts, raw = exact_alternatives(evidence, settings.sampling, order) if exact else (None, None)
    first = 0
    for stage in evidence.parts(SAMPLE):
        emitted = emissions(evidence, stage, role, known_as=partial(prompt_context, evidence))
        scoring = walk(laws, emitted, edges=edges, drafts=drafts, raw=raw)
        groups = [one.slot for one in emitted] if grouped else None
        if (scored := scoring.scored(first=first, seed=seed, groups=groups)) is not None:
            yield scored
        first += len(emitted)
