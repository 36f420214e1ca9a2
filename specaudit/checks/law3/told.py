"""What LAW3 found, in words."""

from collections.abc import Sequence

from specaudit.checks.commands import rerun, with_option
from specaudit.checks.law3.settings import DepthSettings
from specaudit.checks.law3.views import TokensView
from specaudit.checks.selfsame import SELF_CONSISTENCY, is_self
from specaudit.laws.edge import rounding
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Betting, Verdict

BY_TOKENS = (
    "the reference reports no logprobs: the bound compares its own draws in the same contexts, in cells of tokens that "
    "the first ones found common, so that what differs within the last cell stays unseen by it",
)


def assumptions(settings: DepthSettings, evidence: Evidence) -> tuple[str, ...]:
    """Return what the verdict takes for granted."""
    target = (
        SELF_CONSISTENCY if is_self(evidence.plan) else "the reference serves the same target, weights and tokenizer"
    )
    return (
        target,
        "the reference's logprobs are those that it samples from",
        rounding(settings.rounding),
        "prompts, sampling parameters and load are like those of interest",
        "the bound pools the contexts of a range: deviations that cancel there stay unseen by it",
    )


def summary(
    verdict: Verdict,
    worst: TokensView,
    settings: DepthSettings,
    early: Betting | None,
    bounded: bool,
    unseen: Sequence[str],
    missing: str,
    whole: bool,
) -> str:
    """Return one plain sentence.

    Args:
        verdict: What is concluded.
        worst: The view that deviates most, or is bounded least.
        settings: The check's.
        early: The bets, where they ended the sample.
        bounded: Every bound is below the tolerance.
        unseen: Ranges of depth in which nothing was scored.
        missing: The verification path that was not taken, or not seen; empty where none is missing.
        whole: The sample is complete.
    """
    if verdict is Verdict.VIOLATES:
        if early is not None:
            return (
                f"Single tokens do not have the target's law, which bets on them showed after "
                f"{early.rejected_after:,}; {worst.name} differ most."
            )
        return (
            f"Single tokens do not have the target's law, most clearly {worst.name}: total variation "
            f"{worst.distance.estimate:.3f} in {worst.bins}, at least {worst.low:.3f}."
        )
    within = (
        f"At every depth up to {settings.max_tokens} tokens the binned law of single tokens is within total variation "
        f"{worst.high:.3f} of the target's"
    )
    if verdict is Verdict.CONFORMS:
        return f"{within}; {settings.tolerance:g} is tolerated."
    if bounded and missing and whole and not unseen:
        return f"{within}, but this says nothing of the verifier: {missing}."
    reasons = []
    if not bounded:
        reasons.append(f"the total variation of {worst.name} is only bounded by {worst.high:.3f}")
    if unseen:
        reasons.append(f"nothing was scored at {', '.join(unseen)}")
    if missing:
        reasons.append(missing)
    return f"A deviation was neither shown nor excluded: {'; '.join(reasons or ['the sample is not complete'])}."


def next_step(check_id: str, verdict: Verdict, evidence: Evidence, *, bounded: bool) -> str:
    """Return the command to try next."""
    if verdict is Verdict.VIOLATES:
        return rerun(evidence.plan, check_id, new_samples=True)
    if verdict is Verdict.CONFORMS:
        return ""
    if bounded and evidence.plan.metrics is None:
        return with_option(evidence.plan, "--metrics", "URL_OF_THE_METRICS_PAGE")
    return rerun(evidence.plan, check_id)
