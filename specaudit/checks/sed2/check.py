"""SED2: what is demanded, and what is concluded."""

from collections.abc import Iterator, Sequence

from specaudit.checks.answers import Comparison, compare_places
from specaudit.checks.commands import rerun, with_option
from specaudit.checks.company import LEAST_IN_FLIGHT
from specaudit.checks.control import no_seeds
from specaudit.checks.interface import POWER, Budget, Check, budget_of
from specaudit.checks.sed2.requests import (
    AGAIN,
    ALONE,
    CHECK,
    COMPANY,
    BatchSettings,
    Kind,
    compared,
    in_flight_beside,
    is_exact,
    kinds_of,
    stage,
    twice_alone,
)
from specaudit.checks.shares import decided, share
from specaudit.checks.windows import coverage
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Finding, Statistic, Verdict, View
from specaudit.model.plan import Plan, Stage
from specaudit.stats.intervals import excess_p
from specaudit.stats.power import detectable_share


class OwnBatch(Check[BatchSettings]):
    """SED2 a request does not depend on its batch.

    Requirement: a request with a seed, or at temperature 0, is answered with the same tokens alone and in whatever
    batch: beside requests of other lengths, parameters and numbers of choices, some of which draft less than others.

    Null hypothesis: a request's answer is a function of the request and its seed; what else the server computes at
    the time decides no more than near ties, and those no more often than in plain decoding.

    Statistic: each request is asked alone, alone again, and among neighbours; the share of requests that are answered
    otherwise in company, sampled and greedy ones by themselves, with Clopper-Pearson bounds. Violates when the lower
    bound exceeds the tolerance and, where there is a plain arm to ask the same, its share is exceeded too (Fisher's
    exact test at the same level); without any tolerance where the law is exactly known, since then there is no
    numeric noise. Conforms when the upper bounds are below the tolerance. Not applicable when already the requests
    that are asked alone twice are answered differently beyond the tolerance: seeds are not honoured at all, see SED1.

    Assumptions: requests in flight at once share a batch; the server serves nobody else meanwhile.

    Source: Clopper and Pearson 1934; Fisher 1935; sgl-project/sglang issue 33395, vllm-project/vllm issue 14645.

    Kills: seed-depends-on-batch, batch-row-permuted, greedy-sentinel-mismatch, fp8-batch-scale; q-row-misaligned
    where the law is exactly known. Spares: plain decoding, correct speculation, preemption.
    """

    id = CHECK
    title = "a request does not depend on its batch"
    settings_type = BatchSettings

    def next_stage(self, plan: Plan, settings: BatchSettings, evidence: Evidence) -> Stage | None:
        """Ask every request alone, alone again, and in company."""
        if "subject" not in evidence.capabilities or no_seeds(evidence):
            return None
        company = () if plan.concurrency < LEAST_IN_FLIGHT else (COMPANY,)
        name = next((one for one in (ALONE, AGAIN, *company) if one not in evidence.stages), None)
        return None if name is None else stage(plan, settings, evidence, name)

    def smallest_detectable(self, plan: Plan, settings: BatchSettings, evidence: Evidence) -> Deviation | None:
        """Return the share of sampled requests that is seen above the tolerance with 90 % probability."""
        if COMPANY not in evidence.stages:
            return None
        alpha = budget_of(plan, self.id).alpha / len(kinds_of(evidence))
        value = detectable_share(settings.prompts, settings.tolerance, alpha=alpha, power=POWER)
        return Deviation(name="share of requests that depend on their batch", value=value)

    def judge(self, settings: BatchSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Count the requests that are answered otherwise in company."""
        if reason := no_seeds(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        if ALONE not in evidence.stages or AGAIN not in evidence.stages:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No request was asked alone.")
        again = compare_places(evidence, twice_alone(settings, evidence))
        if not again.pairs:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No request was answered both times.")
        floor = _share(again, settings, budget, alpha=budget.alpha)
        if decided(floor, settings.tolerance) is Verdict.VIOLATES:
            return self.cannot_say(
                settings,
                Verdict.NOT_APPLICABLE,
                f"Seeds are not honoured: {again.different} of {again.pairs} requests were answered differently when "
                "asked alone again, so that nothing is to be said of their batch.",
                "specaudit explain SED1",
            )
        if COMPANY not in evidence.stages:
            return self._never_in_company(settings, evidence)
        kinds = [kind for kind in compared(settings, evidence) if kind.company.pairs]
        if len(kinds) < len(kinds_of(evidence)):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No request in company was answered.")
        return self._finding(settings, evidence, budget, kinds, again)

    def _never_in_company(self, settings: BatchSettings, evidence: Evidence) -> Finding:
        if evidence.plan.concurrency >= LEAST_IN_FLIGHT:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No request was asked in company.")
        return self.cannot_say(
            settings,
            Verdict.INCONCLUSIVE,
            "Requests were sent one at a time, so that none ever stood beside another.",
            with_option(evidence.plan, "--concurrency", "8"),
        )

    def _finding(
        self,
        settings: BatchSettings,
        evidence: Evidence,
        budget: Budget,
        kinds: Sequence[Kind],
        again: Comparison,
    ) -> Finding:
        alpha = budget.alpha / len(kinds)
        exact = is_exact(evidence)
        found = [(kind, _share(kind.company, settings, budget, alpha=alpha)) for kind in kinds]
        guilty = [one for one in found if _shown(one, settings, alpha, exact=exact)]
        bounded = all(decided(effect, settings.tolerance) is Verdict.CONFORMS for _, effect in found)
        beside = in_flight_beside(evidence)
        verdict = Verdict.VIOLATES if guilty else Verdict.INCONCLUSIVE
        if not guilty and bounded and beside != 0:
            verdict = Verdict.CONFORMS
        kind, effect = max(guilty or found, key=lambda one: one[1].high or 0.0)
        taken = coverage(evidence, COMPANY)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=_summary(verdict, kind, found),
            effect=effect,
            alpha=budget.alpha,
            witness=kind.company.witness,
            views=tuple(_view(kind, effect) for kind, effect in found),
            coverage={
                "requests in flight beside others": beside,
                "drafted steps in company": taken.drafts if taken else None,
            },
            measured={
                "requests alone twice": float(again.pairs),
                "answered differently alone": float(again.different),
            },
            assumptions=_ASSUMPTIONS,
            notes=tuple(_notes(evidence, kinds, beside, nothing_drafted=taken is not None and not taken.drafts)),
            next_step=rerun(evidence.plan, self.id) if verdict is not Verdict.CONFORMS else "",
        )


_ASSUMPTIONS = ("requests in flight at once share a batch", "the server serves nobody else meanwhile")


def _share(found: Comparison, settings: BatchSettings, budget: Budget, *, alpha: float) -> Effect:
    return share(
        "share of requests that depend on their batch",
        found.different,
        found.pairs,
        lost=found.lost,
        alpha=alpha,
        delta=budget.delta,
        tolerance=settings.tolerance,
    )


def _shown(one: tuple[Kind, Effect], settings: BatchSettings, alpha: float, *, exact: bool) -> bool:
    """Whether it is shown that requests of a kind depend on their batch, more than near ties make them."""
    kind, effect = one
    if exact and kind.company.different:
        return True
    return decided(effect, settings.tolerance) is Verdict.VIOLATES and _excess(kind) <= alpha


def _excess(kind: Kind) -> float:
    """The p-value of the subject depending on its batch no more than the plain target; 0 where there is none."""
    ours, theirs = kind.company, kind.plain
    return 0.0 if theirs is None else excess_p(ours.different, ours.pairs, theirs.different, theirs.pairs)


def _summary(verdict: Verdict, kind: Kind, found: Sequence[tuple[Kind, Effect]]) -> str:
    told = " and ".join(f"{one.company.different} of {one.company.pairs} {one.name}" for one, _ in found)
    if verdict is Verdict.VIOLATES:
        return f"The batch decides what is answered: in company {told} requests were answered differently than alone."
    counted = f"In company {told} requests were answered differently than alone"
    if verdict is Verdict.INCONCLUSIVE and kind.plain is not None and kind.plain.different:
        return (
            f"{counted}; of the plain target's it were {kind.plain.different} of {kind.plain.pairs}, so that this may "
            "be the numeric noise of batches."
        )
    return f"{counted}."


def _view(kind: Kind, effect: Effect) -> View:
    plain = kind.plain
    return View(
        name=f"{kind.name} requests",
        samples=kind.company.pairs,
        law="none",
        effect=effect,
        statistic=Statistic(
            name="answered differently by the plain target",
            value=None if plain is None else float(plain.different),
            p_value=None if plain is None else _excess(kind),
            method="" if plain is None else f"Fisher's exact test against {plain.pairs} requests of the plain target",
        ),
    )


def _notes(evidence: Evidence, kinds: Sequence[Kind], beside: int | None, *, nothing_drafted: bool) -> Iterator[str]:
    if beside == 0:
        yield "no request was in flight beside another, so none had company"
    if nothing_drafted or evidence.capabilities["subject"].draft_tokens == 0:
        yield "nothing was drafted in company, so this says nothing of ragged drafts"
    if not is_exact(evidence) and all(kind.plain is None for kind in kinds):
        yield "without a plain arm, the numeric noise of batches is only covered by the tolerance"
