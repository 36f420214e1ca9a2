"""What a check is: it plans its own requests, and judges evidence. Both are pure."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from specaudit.checks.commands import with_option
from specaudit.checks.sameness import SAME_PROMPTS, prompts_differ
from specaudit.checks.selfsame import NO_COMPLETIONS, is_self
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Betting, Finding, Verdict
from specaudit.model.plan import Plan, Role, Stage
from specaudit.model.request import Sampling
from specaudit.model.suite import CheckSettings
from specaudit.stats.budget import step_level

S = TypeVar("S", bound=CheckSettings)

POWER = 0.9
"""Probability with which the smallest detectable deviation is seen."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """A check's share of the error budget, and where its random numbers come from."""

    alpha: float
    """For calling a healthy engine a violator: the suite's budget divided by the number of planned checks."""
    delta: float
    """For calling a deviation beyond the tolerance conforming: undivided, since all required checks must conform."""
    seed: int
    """Of Monte Carlo draws made while judging; derived from the plan, so that judging again gives the same."""


def budget_of(plan: Plan, check_id: str, *, rejected: int = 0) -> Budget:
    """Return a check's share of an audit's error budget.

    It is split evenly among the planned checks, of which none is ever left out. By Holm's step-down procedure (1979)
    those that are rejected leave their shares to the others.

    Its random numbers follow from the plan's seed alone: the same audit of the same engine is judged with the same
    draws, whenever it is run and however its plan is written down.
    """
    seed = hashlib.sha256(f"{plan.seed} {check_id}".encode()).digest()
    return Budget(
        alpha=step_level(plan.alpha, planned=len(plan.checks), rejected=rejected),
        delta=plan.alpha,
        seed=int.from_bytes(seed[:8], "big"),
    )


_REVEAL = (
    "Let the server return token ids (vLLM: return_token_ids), or token texts by allowing logprobs; or give the "
    "model's own tokenizer: specaudit run --tokenizer tokenizer.json"
)


def incomparable(evidence: Evidence) -> str:
    """Say in a sentence why the arms' tokens cannot be compared; nothing where they can or are not known yet."""
    revealed = {role: found.tokens for role, found in evidence.capabilities.items()}
    silent = [role for role, tokens in revealed.items() if tokens == "none"]
    if silent:
        reveals = "reveals" if len(silent) == 1 else "reveal"
        return f"The {' and the '.join(silent)} {reveals} no single tokens, neither as ids nor in logprobs."
    if len(set(revealed.values())) > 1:
        told = ", ".join(f"the {role} {tokens}" for role, tokens in revealed.items())
        return f"The arms reveal tokens in different forms ({told}), so they cannot be compared."
    undivided = [role for role, found in evidence.capabilities.items() if not found.segments]
    if undivided and evidence.plan.segment != "all":
        return f"It is not told which tokens of the {' and the '.join(undivided)} are reasoning."
    return ""


class Check(ABC, Generic[S]):
    """A check. Its class docstring is its documentation: requirement, null, statistic, assumptions, source.

    A bad engine is a Finding, never an exception.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    settings_type: ClassVar[type[Any]]
    plans_from_answers: ClassVar[bool] = False
    """What it asks next depends on what the subject answered, not only on the reference's answers."""
    couples_arms: ClassVar[bool] = False
    """It asks two arms with the same seeds on purpose."""
    optional_fields: ClassVar[Mapping[str, Any]] = {}
    """Fields of requests that servers may refuse, each with a value to try; capabilities tell which are refused."""
    beside: ClassVar[tuple[Role, ...]] = ()
    """Arms that it asks beside subject and reference."""
    against_itself: ClassVar[bool] = False
    """Whether a subject can be its own reference: true of a check that asks the reference for first tokens only."""

    watched: Betting | None = None
    """What the bets had earned when the next stage was last asked for: shown while collecting, and deciding nothing."""

    def samplings(self, settings: S) -> Iterable[Sampling]:
        """Return parameters that it asks for, so that it can be found out beforehand which of them are refused."""
        found = getattr(settings, "sampling", None)
        return [found] if isinstance(found, Sampling) else []

    @abstractmethod
    def next_stage(self, plan: Plan, settings: S, evidence: Evidence) -> Stage | None:
        """Return the next stage that this check needs, or None when it needs no more.

        A pure function of the plan's header and of the evidence of earlier stages.
        """

    @abstractmethod
    def judge(self, settings: S, evidence: Evidence, budget: Budget) -> Finding:
        """Conclude from the evidence alone."""

    def smallest_detectable(self, plan: Plan, settings: S, evidence: Evidence) -> Deviation | None:
        """Return the smallest deviation that the planned stages will show, or None where it cannot be told.

        A pure function of the same evidence as `next_stage`: what the subject answers is not known yet.
        """
        return None

    def cannot_compare(self, settings: S, evidence: Evidence) -> Finding | None:
        """Return why the two arms' tokens cannot be compared, or None where they can."""
        plan = evidence.plan
        if plan.arm("reference") is None:
            reason = "There is no plain engine of the same target to compare with."
            next_step = with_option(plan, "--reference", "URL_OF_THE_PLAIN_SERVER")
        elif is_self(plan) and not self.against_itself:
            reason, next_step = NO_COMPLETIONS, with_option(plan, "--reference", "URL_OF_THE_PLAIN_SERVER")
        else:
            reason, next_step = incomparable(evidence), _REVEAL
            if not reason:
                reason, next_step = prompts_differ(evidence), SAME_PROMPTS
        return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason, next_step) if reason else None

    def cannot_say(self, settings: S, verdict: Verdict, summary: str, next_step: str = "", **more: Any) -> Finding:
        """Return a finding that is not applicable or inconclusive, with its reason."""
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            next_step=next_step,
            **more,
        )
