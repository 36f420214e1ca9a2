"""LAW4: independent draws."""

from typing import Annotated

import msgspec

from specaudit.checks.commands import rerun
from specaudit.checks.copies import between_choices, between_requests
from specaudit.checks.interface import Budget, Check
from specaudit.checks.seeds import first_seed
from specaudit.checks.shares import decided, share
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Statistic, Verdict
from specaudit.model.plan import Plan, PlannedRequest, Stage
from specaudit.model.request import Request, Sampling
from specaudit.model.suite import CheckSettings
from specaudit.prompts.choose import choose_prompts

_STAGE = "LAW4"


class IndependenceSettings(CheckSettings, frozen=True, kw_only=True):
    """What `[checks.LAW4]` of a suite may say."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.1
    """Share of pairs of requests that may have equal answers, by copying or by chance."""
    prompts: Annotated[int, msgspec.Meta(ge=1, le=64)] = 2
    requests: Annotated[int, msgspec.Meta(ge=8, le=4096)] = 256
    """In all, an even number for each prompt."""
    choices: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    max_tokens: Annotated[int, msgspec.Meta(ge=8)] = 24
    """Long enough that independent answers are hardly ever equal."""
    sampling: Sampling = msgspec.field(default_factory=Sampling)


class Independence(Check[IndependenceSettings]):
    """LAW4 independence across draws, choices and requests.

    Requirement: answers to requests with different seeds, and the choices of one request, are independent draws.

    Null hypothesis: answers to one prompt are independent and of one law, whichever request and choice they are.

    Statistic: choice i of one request is held against choice i of another with the same prompt, and against choice j:
    independent draws agree as often in both ways; so do choices of one request and choices of two (Fisher's exact
    tests, half of the budget each). Violates when either is rejected, whatever the answers were that got lost.
    Conforms when the Clopper-Pearson upper bound of the share of equal answers, with what was lost among them, is below
    the tolerance. Where an engine gives fewer than 4 choices, second halves of answers are held against each other
    instead: that shows copies too, but a law which hardly branches late looks like them, so that the check is
    inconclusive then.

    Assumptions: copies are exact; streams that are merely correlated stay unseen.

    Source: Fisher 1935; Clopper and Pearson 1934.

    Kills: response caches, engines that copy one choice n times. Spares: plain decoding, correct speculation.
    """

    id = "LAW4"
    title = "independence across draws, choices and requests"
    settings_type = IndependenceSettings

    def next_stage(self, plan: Plan, settings: IndependenceSettings, evidence: Evidence) -> Stage | None:
        """Ask the same prompts again and again, with other seeds."""
        subject = evidence.capabilities.get("subject")
        if subject is None or _STAGE in evidence.stages or subject.tokens == "none":
            return None
        choices = min(settings.choices, subject.max_choices)
        prompts = choose_prompts(settings.prompts, [subject], plan.seed + 6, plan.suite.prompts.sets)
        requests = tuple(
            PlannedRequest(
                arm="subject",
                prompt_index=index % len(prompts),
                request=Request(
                    prompt=(),
                    sampling=settings.sampling,
                    seed=first_seed(plan, self.id, "subject") + index * choices,
                    n=choices,
                    max_tokens=settings.max_tokens,
                ),
            )
            for index in range(settings.requests)
        )
        return Stage(name=_STAGE, blocks=(requests,), prompts=prompts)

    def judge(self, settings: IndependenceSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Look for answers that are copies of each other."""
        subject = evidence.capabilities.get("subject")
        if subject is not None and subject.tokens == "none":
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, "The subject reveals no single tokens.")
        draws = evidence.draws(_STAGE).get("subject") if _STAGE in evidence.stages else None
        if draws is None or not len(draws.tokens):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No answer came back whole and with its tokens.")
        lost = draws.planned - len(draws.tokens)
        requests, choices = between_requests(draws, lost=lost), between_choices(draws, lost=lost)
        if not requests.pairs:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No two answers to one prompt came back.")
        within = 2 * choices.p_value <= budget.alpha
        across = 2 * requests.p_value <= budget.alpha
        effect = share(
            "share of pairs with equal answers",
            requests.equal,
            requests.pairs,
            lost=lost,
            delta=budget.delta,
            tolerance=settings.tolerance,
        )
        equal = f"{requests.equal} of {requests.pairs} pairs of requests"
        if within:
            verdict, summary = Verdict.VIOLATES, "Choices of one request are copies of each other."
        elif across and requests.exact:
            verdict, summary = Verdict.VIOLATES, f"Answers are copies of each other: {equal} agree."
        elif across:
            verdict = Verdict.INCONCLUSIVE
            summary = f"Answers look like copies of each other, unless the law hardly branches: {equal} agree."
        else:
            verdict, summary = decided(effect, settings.tolerance), f"{equal} with other seeds had equal answers."
        exact_p = [one.p_value for one in (requests, choices) if one.exact]
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=effect,
            statistic=Statistic(
                name="equal pairs",
                value=float(requests.equal),
                p_value=min(1.0, 2 * min(exact_p)),
                method="twice the smaller p-value of Fisher's exact tests",
            ),
            alpha=budget.alpha,
            assumptions=("copies are exact; streams that are merely correlated stay unseen",),
            next_step=rerun(evidence.plan, self.id) if verdict is not Verdict.CONFORMS else "",
        )
