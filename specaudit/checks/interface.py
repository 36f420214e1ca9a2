"""What a check is: it plans its own requests, and judges evidence. Both are pure."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from specaudit.checks.commands import with_option
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Plan, Stage
from specaudit.model.suite import CheckSettings

S = TypeVar("S", bound=CheckSettings)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """A check's share of the error budget, and where its random numbers come from."""

    alpha: float
    """For calling a healthy engine a violator: the suite's budget divided by the number of planned checks."""
    delta: float
    """For calling a deviation beyond the tolerance conforming: undivided, since all required checks must conform."""
    seed: int
    """Of Monte Carlo draws made while judging; derived from the plan, so that judging again gives the same."""


_REVEAL = "Let the server return token ids (vLLM: return_token_ids), or token texts by allowing logprobs"


def incomparable(evidence: Evidence) -> str:
    """Say in a sentence why the arms' tokens cannot be compared; nothing where they can or are not known yet."""
    revealed = {role: found.tokens for role, found in evidence.capabilities.items()}
    silent = [role for role, tokens in revealed.items() if tokens == "none"]
    if silent:
        return f"The {' and the '.join(silent)} reveals no single tokens, neither as ids nor in logprobs."
    if len(set(revealed.values())) > 1:
        told = ", ".join(f"the {role} {tokens}" for role, tokens in revealed.items())
        return f"The arms reveal tokens in different forms ({told}), so they cannot be compared."
    return ""


class Check(ABC, Generic[S]):
    """A check. Its class docstring is its documentation: requirement, null, statistic, assumptions, source.

    A bad engine is a Finding, never an exception.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    settings_type: ClassVar[type[Any]]

    @abstractmethod
    def next_stage(self, plan: Plan, settings: S, evidence: Evidence) -> Stage | None:
        """Return the next stage that this check needs, or None when it needs no more.

        A pure function of the plan's header and of the evidence of earlier stages.
        """

    @abstractmethod
    def judge(self, settings: S, evidence: Evidence, budget: Budget) -> Finding:
        """Conclude from the evidence alone."""

    def cannot_compare(self, settings: S, evidence: Evidence) -> Finding | None:
        """Return why the two arms' tokens cannot be compared, or None where they can."""
        plan = evidence.plan
        if plan.arm("reference") is None:
            reason = "There is no plain engine of the same target to compare with."
            next_step = with_option(plan, "--reference", "URL_OF_THE_PLAIN_SERVER")
        else:
            reason, next_step = incomparable(evidence), _REVEAL
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
