"""SED3: the same seed with and without speculation."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec
import numpy as np
from scipy.special import betaincinv

from specaudit.checks.answers import Comparison, Place, compare_places
from specaudit.checks.commands import rerun, with_option
from specaudit.checks.control import no_seeds, not_under_control, reachable
from specaudit.checks.coupling import Coupling, coupling
from specaudit.checks.interface import POWER, Budget, Check, budget_of, incomparable
from specaudit.checks.seeds import first_seed
from specaudit.checks.selfsame import is_self
from specaudit.checks.shares import decided, share
from specaudit.checks.windows import coverage, missing_path, paths_taken
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Statistic, Verdict
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import Request, Sampling
from specaudit.model.suite import CheckSettings
from specaudit.prompts.choose import choose_prompts
from specaudit.stats.intervals import excess_p

PILOT, PAIRS = "SED3.pilot", "SED3.pairs"

_SHARE_OF = "share of answers that speculation changed"

_FILTERS: tuple[dict[str, float | int], ...] = (
    {},
    {"temperature": 0.7, "top_p": 0.9},
    {"temperature": 1.3, "top_k": 8},
)
"""What requests change of the sampling parameters, taking turns."""


class CouplingSettings(CheckSettings, frozen=True, kw_only=True):
    """What `[checks.SED3]` of a suite may say."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.15
    """Share of answers that speculation may change."""
    prompts: Annotated[int, msgspec.Meta(ge=8, le=4096)] = 64
    max_tokens: Annotated[int, msgspec.Meta(ge=2)] = 48
    coupling: Literal["found", "declared"] = "found"
    """Whether the engine emits the target's own draws is found out by a pilot, or declared by whoever knows it."""
    pilot: Annotated[int, msgspec.Meta(ge=16, le=4096)] = 48
    """Prompts of the pilot; they and their seeds are used for nothing else."""
    pilot_tokens: Annotated[int, msgspec.Meta(ge=4)] = 8
    sampling: Sampling = msgspec.field(default_factory=Sampling)


class Coupled(Check[CouplingSettings]):
    """SED3 coupled engines: same seed, same tokens with and without speculation.

    Requirement: an engine that emits the target's own draws, each with the random number of its position, answers the
    same request with the same seed alike with and without speculation, at any temperature.

    Null hypothesis: the subject emits the plain target's draws; what differs are near ties, and no more often than
    between two runs of the plain target.

    Statistic: whether the engine is coupled at all is found out by a pilot, with prompts and seeds that are used for
    nothing else: short answers, asked one at a time. It is where most answers agree with the plain target's (lower
    Clopper-Pearson bound above a half) and tokens behind the first agree far more often than with other seeds
    (Fisher's exact test); or it is declared, `coupling = "declared"`. Then longer answers, under several filters and
    at the audit's concurrency, are compared: violates when more differ than between two runs of the plain target
    (Fisher's exact test), and by a single one where the law is exactly known. Conforms when the Clopper-Pearson upper
    bound of the share that differs is below the tolerance, and drafts were rejected and bonus tokens drawn. Not
    applicable where no coupling is shown: rejection sampling has the right law with other draws.

    Assumptions: an engine that agrees in most answers of the pilot is one that emits the target's own draws.

    Source: Clopper and Pearson 1934; Fisher 1935; llama.cpp, `common_sampler_sample_and_accept_n`.

    Kills: bonus-coin-reused, and match-then-redraw where coupling is declared. Spares: sampler-match, correct
    rejection sampling.
    """

    id = "SED3"
    title = "coupled engines: same seed, same tokens with and without speculation"
    settings_type = CouplingSettings
    couples_arms = True

    def next_stage(self, plan: Plan, settings: CouplingSettings, evidence: Evidence) -> Stage | None:
        """Ask both arms alike: a few short answers, then the longer ones, and the plain arm a second time."""
        if "reference" not in evidence.capabilities or incomparable(evidence) or is_self(plan) or _why_not(evidence):
            return None
        if PAIRS in evidence.stages:
            return None
        # One choice of all prompts, so that those of the pilot are in no pair.
        prompts = choose_prompts(
            settings.pilot + settings.prompts, list(evidence.capabilities.values()), plan.seed + 10
        )
        if settings.coupling == "found" and PILOT not in evidence.stages:
            blocks = tuple((one,) for one in _pilot(plan, settings, evidence))
            return Stage(name=PILOT, blocks=blocks, prompts=prompts[: settings.pilot])
        prompts = prompts[settings.pilot :]
        scrape = evidence.capabilities["subject"].counters
        return Stage(name=PAIRS, blocks=_pairs(plan, settings, evidence), prompts=prompts, scrape=scrape)

    def smallest_detectable(self, plan: Plan, settings: CouplingSettings, evidence: Evidence) -> Deviation | None:
        """Return the share that is seen with 90 % probability where the plain target repeats itself."""
        if PAIRS not in evidence.stages:
            return None
        count, alpha = settings.prompts, budget_of(plan, self.id).alpha
        needed = next((n for n in range(1, count) if excess_p(n, count, 0, count) <= alpha), count)
        return Deviation(name=_SHARE_OF, value=float(betaincinv(needed, count - needed + 1, POWER)))

    def judge(self, settings: CouplingSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Count the answers that speculation changed, where it is to change none."""
        if (cannot := self.cannot_compare(settings, evidence)) is not None:
            return cannot
        if reason := _why_not(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        if settings.coupling == "found":
            if PILOT not in evidence.stages:
                return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No answers were collected.")
            shown = coupling(evidence, _pilot_places(settings), budget.alpha)
            if shown.verdict != "coupled":
                verdict = Verdict.INCONCLUSIVE if shown.verdict == "unknown" else Verdict.NOT_APPLICABLE
                return self.cannot_say(settings, verdict, shown.told, measured=_measured(shown))
        else:
            shown = None
        if PAIRS not in evidence.stages:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No answers were collected.")
        found, floor = _compared(settings, evidence)
        if not found.pairs:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No request was answered by both arms.")
        return self._finding(settings, evidence, budget, found, floor, shown)

    def _finding(
        self,
        settings: CouplingSettings,
        evidence: Evidence,
        budget: Budget,
        found: Comparison,
        floor: Comparison,
        shown: Coupling | None,
    ) -> Finding:
        effect = share(
            _SHARE_OF,
            found.different,
            found.pairs,
            lost=found.lost,
            alpha=budget.alpha,
            delta=budget.delta,
            tolerance=settings.tolerance,
        )
        # What is known exactly is computed without noise: a single difference is none.
        exact = "reference" in evidence.laws
        p_value = excess_p(found.different, found.pairs, floor.different, floor.pairs) if floor.pairs else None
        violates = found.different > 0 if exact else p_value is not None and p_value <= budget.alpha
        bounded = decided(effect, settings.tolerance) is Verdict.CONFORMS
        taken = coverage(evidence, PAIRS)
        missing = missing_path(evidence, [PAIRS], taken)
        conforms = bounded and not missing
        verdict = Verdict.VIOLATES if violates else Verdict.CONFORMS if conforms else Verdict.INCONCLUSIVE
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=_summary(verdict, found, floor, missing if bounded else ""),
            effect=effect,
            statistic=Statistic(
                name="answers that differ",
                value=float(found.different),
                p_value=p_value,
                method=f"Fisher's exact test against {floor.different} of {floor.pairs} between two plain runs",
            ),
            alpha=budget.alpha,
            below_tolerance=violates and bounded,
            witness=found.witness,
            coverage=paths_taken(taken),
            measured={
                "plain against plain": float(floor.pairs),
                "of them different": float(floor.different),
                **(_measured(shown) if shown is not None else {}),
            },
            assumptions=(_DECLARED if shown is None else _FOUND, "the two arms were as loaded as each other"),
            notes=not_under_control(evidence),
            next_step=_next_step(verdict, evidence, missing=bounded and bool(missing)),
        )


_FOUND = "an engine that agrees in most answers of the pilot emits the target's own draws"
_DECLARED = "the engine emits the target's own draws, as the suite declares"


def _why_not(evidence: Evidence) -> str:
    """Say why the arms cannot be asked with the same seeds; nothing where they can."""
    if reason := no_seeds(evidence):
        return reason
    reference = evidence.capabilities.get("reference")
    if reference is not None and ("seed" in reference.refused or reference.repeats == "always"):
        return "The reference cannot be asked with seeds."
    return ""


def _request(settings: CouplingSettings, evidence: Evidence, seed: int, max_tokens: int, number: int) -> Request:
    filtered = msgspec.structs.replace(settings.sampling, **_FILTERS[number])
    return Request(prompt=(), sampling=reachable(filtered, evidence), seed=seed, max_tokens=max_tokens)


def _pilot(plan: Plan, settings: CouplingSettings, evidence: Evidence) -> Iterator[PlannedRequest]:
    """For each prompt: the subject and the plain arm with one seed, the plain arm with another."""
    same, other = (first_seed(plan, Coupled.id, "subject", part) for part in (1, 2))
    for index in range(settings.pilot):
        asked: tuple[tuple[Role, int], ...] = (("subject", same), ("reference", same), ("reference", other))
        for role, seed in asked:
            request = _request(settings, evidence, seed + index, settings.pilot_tokens, 0)
            yield PlannedRequest(arm=role, prompt_index=index, request=request)


def _pilot_places(settings: CouplingSettings) -> list[tuple[Place, Place, Place]]:
    """Where each prompt's answers stand: the subject's, the plain arm's, and the latter's with another seed."""
    return [((PILOT, 3 * index), (PILOT, 3 * index + 1), (PILOT, 3 * index + 2)) for index in range(settings.pilot)]


def _pairs(plan: Plan, settings: CouplingSettings, evidence: Evidence) -> tuple[tuple[PlannedRequest, ...], ...]:
    """The plain arm, the subject, and the plain arm again in another order, so that it has other neighbours."""
    first = first_seed(plan, Coupled.id, "subject")
    requests = [
        _request(settings, evidence, first + index, settings.max_tokens, index % len(_FILTERS))
        for index in range(settings.prompts)
    ]
    order = _order(plan, settings)
    asked: tuple[tuple[Role, Sequence[int]], ...] = (
        ("reference", range(settings.prompts)),
        ("subject", range(settings.prompts)),
        ("replay", order),
    )
    return tuple(
        tuple(PlannedRequest(arm=role, prompt_index=index, request=requests[index]) for index in indices)
        for role, indices in asked
    )


def _order(plan: Plan, settings: CouplingSettings) -> list[int]:
    """The order in which the plain arm is asked again."""
    return [int(index) for index in np.random.default_rng([plan.seed, 11]).permutation(settings.prompts)]


def _compared(settings: CouplingSettings, evidence: Evidence) -> tuple[Comparison, Comparison]:
    """The subject against the plain arm, and the plain arm against itself."""
    count = settings.prompts
    again = {index: 2 * count + place for place, index in enumerate(_order(evidence.plan, settings))}
    subject = (((PAIRS, count + index), (PAIRS, index)) for index in range(count))
    replay = (((PAIRS, again[index]), (PAIRS, index)) for index in range(count))
    return compare_places(evidence, subject), compare_places(evidence, replay)


def _measured(shown: Coupling) -> dict[str, float]:
    return {"pilot answers": float(shown.pairs), "of them equal": float(shown.equal)}


def _summary(verdict: Verdict, found: Comparison, floor: Comparison, missing: str) -> str:
    told = f"{found.different} of {found.pairs} answers differ from the plain target's with the same seed"
    plain = f"{floor.different} of {floor.pairs} between two runs of the plain target"
    if verdict is Verdict.VIOLATES:
        return f"The engine emits the target's own draws, and yet {told}; {plain} do."
    if verdict is Verdict.CONFORMS:
        return f"{told}; {plain} do."
    return f"{told}, but this says nothing of the verifier: {missing}." if missing else f"{told}; {plain} do."


def _next_step(verdict: Verdict, evidence: Evidence, *, missing: bool) -> str:
    if verdict is Verdict.CONFORMS:
        return ""
    if verdict is Verdict.INCONCLUSIVE and missing and evidence.plan.metrics is None:
        return with_option(evidence.plan, "--metrics", "URL_OF_THE_METRICS_PAGE")
    return rerun(evidence.plan, Coupled.id)
