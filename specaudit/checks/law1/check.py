"""LAW1: what is demanded, and what is concluded."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil

import msgspec
import numpy as np

from specaudit.checks.commands import rerun, with_option
from specaudit.checks.interface import Budget, Check
from specaudit.checks.law1.requests import next_stage
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import SAMPLE, KnownWords, known_words, prompt_contexts, token_classes, word_depths
from specaudit.checks.law1.views import DESCRIPTIVE_DRAWS, JudgedView, Levels, view_between, view_with_law
from specaudit.checks.windows import coverage, nothing_drafted
from specaudit.counters.acceptance import Acceptance
from specaudit.model.evidence import END, Draws, Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Plan, Role, Stage
from specaudit.stats.intervals import excess_p
from specaudit.stats.power import detectable_tv

DOUBT = 0.05
"""p-value of the reference's own words up to which the law that its logprobs tell is not believed."""


class EmittedLaw(Check[LawSettings]):
    """LAW1 law of the emitted tokens.

    Requirement: with sampling, the subject's completions are distributed as the plain target's.

    Null hypothesis: completions are independent, and the words of L tokens that begin at each of several depths
    have the law that the target gives them under the same sampling parameters.

    Statistic: Pearson's chi-square and total variation of the joint histogram of words, one per depth. One-sample
    where the law is known: exact (revealed by an engine in process) or scored (from the reference's logprobs in
    every context, unless its own words contradict them); two-sample against the reference's own words elsewhere, in
    cells chosen on a pilot. p-values by Monte Carlo or permutation, divided among the depths.

    Violates when the smallest p-value is within the check's share of the error budget. Conforms when at every depth
    the upper confidence bound of the total variation (noncentral chi-square, plus whatever lumped cells and lost
    answers can hide) is below the tolerance, and drafts were rejected and bonus tokens drawn while the words were
    collected.

    Assumptions: prompts, sampling parameters and load are like those of interest; the reference serves the same
    target. The bound is asymptotic (every expected count at least 5).

    Source: Leviathan et al. 2023, appendix A.1; Gao, Liang, Guestrin 2024 (two-sample tests of models behind an
    interface); Phipson and Smyth 2010; Besag and Clifford 1991.

    Kills: resid-from-target, reuse-uniform, draft0-unverified. Spares: plain decoding, correct speculation.
    """

    id = "LAW1"
    title = "law of the emitted tokens"
    settings_type = LawSettings

    def next_stage(self, plan: Plan, settings: LawSettings, evidence: Evidence) -> Stage | None:
        """Ask for the target's law, then for words."""
        return next_stage(plan, settings, evidence)

    def judge(self, settings: LawSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Judge every depth, and conclude from all of them."""
        if (cannot := self.cannot_compare(settings, evidence)) is not None:
            return cannot
        if SAMPLE not in evidence.stages:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No words were collected.")
        draws = evidence.draws(SAMPLE)
        if any(not len(arm.tokens) for arm in draws.values()):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No completion came back whole and with its tokens.")
        copies = any(_copies(arm, budget.alpha / len(draws)) for arm in draws.values())
        if copies:
            draws = {role: _first_choices(arm) for role, arm in draws.items()}
        views = _views(settings, evidence, budget, draws)
        if not views:
            return self.cannot_say(
                settings, Verdict.INCONCLUSIVE, "Neither the target's law nor words of the reference are known."
            )
        return self._finding(settings, evidence, budget, draws, views, copies)

    def _finding(
        self,
        settings: LawSettings,
        evidence: Evidence,
        budget: Budget,
        draws: Mapping[Role, Draws],
        views: list[JudgedView],
        copies: bool,
    ) -> Finding:
        p_value = min(1.0, len(views) * min(view.p_value for view in views))
        lost = any(arm.lost_fraction for arm in draws.values())
        violates = p_value <= budget.alpha and (not lost or max(view.low for view in views) > 0)
        bounded = max(view.high for view in views) <= settings.tolerance
        planned = set(word_depths(settings, evidence.capabilities["subject"]))
        unseen = sorted(planned - {view.depth for view in views})
        taken = coverage(evidence, SAMPLE)
        missing = _missing_path(evidence, taken)
        worst = max(views, key=lambda view: (view.low, -view.p_value) if violates else (view.high, 0.0))
        if violates:
            verdict = Verdict.VIOLATES
        elif bounded and not missing and not unseen and not copies:
            verdict = Verdict.CONFORMS
        else:
            verdict = Verdict.INCONCLUSIVE
        in_classes = any("classes" in view.level for view in views)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=_summary(settings, verdict, worst, bounded, missing, copies, unseen, in_classes),
            effect=worst.record(settings, 1 - budget.delta).effect,
            statistic=msgspec.structs.replace(
                worst.record(settings, 1 - budget.delta).statistic,
                p_value=p_value,
                method="smallest Monte Carlo p-value over depths, times their number",
            ),
            alpha=budget.alpha,
            smallest_detectable=max(_detectable(view, budget.alpha / len(views)) for view in views),
            below_tolerance=violates and bounded,
            witness=worst.witness if violates else None,
            views=tuple(view.record(settings, 1 - budget.delta) for view in views),
            coverage={
                "steps that rejected a draft": taken.rejecting_steps if taken else None,
                "bonus tokens drawn": taken.bonus_rows if taken else None,
                "drafted steps": taken.drafts if taken else None,
            },
            measured={f"{role} completions lost": float(arm.planned - len(arm.tokens)) for role, arm in draws.items()},
            assumptions=_assumptions(views),
            notes=_rare_paths(settings, taken),
            next_step=_next_step(verdict, evidence, bounded=bounded, copies=copies),
        )


def _views(settings: LawSettings, evidence: Evidence, budget: Budget, draws: Mapping[Role, Draws]) -> list[JudgedView]:
    """Judge every depth with the best law that is known for it; leave out depths with none."""
    depths = word_depths(settings, evidence.capabilities["subject"])
    contexts = prompt_contexts(evidence)
    rng = np.random.default_rng(budget.seed)
    alpha = budget.alpha / len(depths)
    levels = Levels(delta=budget.delta, alpha=alpha, draws=ceil(10 / alpha), rng=rng)
    views: list[JudgedView] = []
    for depth in depths:
        if any(view.p_value <= levels.alpha for view in views):
            levels = replace(levels, draws=DESCRIPTIVE_DRAWS)  # the check violates already
        known = known_words(settings, evidence, contexts, depth)
        if known is not None and known.level == "exact":
            views.append(view_with_law(settings, draws["subject"], depth, known, levels))
            continue
        classes = token_classes(settings, evidence, depth)
        if classes is None or "reference" not in draws:
            continue
        view = view_between(settings, draws["subject"], draws["reference"], depth, classes, levels)
        if known is not None and _is_its_law(settings, draws, depth, known, rng):
            view = _bounded_by_law(settings, draws["subject"], depth, known, levels, view)
        views.append(view)
    return views


def _bounded_by_law(
    settings: LawSettings, subject: Draws, depth: int, known: KnownWords, levels: Levels, view: JudgedView
) -> JudgedView:
    """A view whose distance is measured from a scored law, which takes fewer tokens to bound.

    Whether it deviates is still decided on the reference's own words: a law that logprobs tell wrongly, by less than
    the reference's words can show, must not accuse a subject that follows it.
    """
    descriptive = replace(levels, draws=DESCRIPTIVE_DRAWS)
    scored = view_with_law(settings, subject, depth, known, descriptive)
    return replace(scored, p_value=view.p_value, low=view.low, witness=view.witness)


def _is_its_law(
    settings: LawSettings, draws: Mapping[Role, Draws], depth: int, known: KnownWords, rng: np.random.Generator
) -> bool:
    """True if nothing speaks against the reference's drawing from the law that its logprobs tell.

    Some engines' logprobs are not the law they draw from: llama.cpp (b11549) forbids the end of a sequence when asked
    to ignore it, and still reports its logprob; where completions end early, logprobs do not speak of the end. Where
    the reference's own words raise a doubt (p at most .05), the subject is held against these alone.
    """
    if any((arm.tokens == END).any() for arm in draws.values()):
        return False
    levels = Levels(delta=DOUBT, alpha=DOUBT, draws=DESCRIPTIVE_DRAWS, rng=rng)
    return view_with_law(settings, draws["reference"], depth, known, levels).p_value > DOUBT


def _copies(draws: Draws, alpha: float) -> bool:
    """True if neighbouring choices of one request are equal more often than choices of different requests.

    Both kinds of pairs share their prompt, and no completion stands in two pairs: Fisher's test wants its trials
    independent and alike.
    """
    half = len(draws.tokens) // 2
    neighbours = np.arange(0, half - 1, 2)
    within = neighbours[draws.slot[neighbours] == draws.slot[neighbours + 1]]
    # By prompt, then with the requests of a prompt taking turns, so that neighbours come from different requests.
    rest = np.arange(half, len(draws.tokens))
    turn = np.arange(len(rest)) - np.searchsorted(draws.slot[rest], draws.slot[rest])
    rest = rest[np.lexsort((draws.slot[rest], turn, draws.prompt_index[rest]))]
    first, second = rest[: len(rest) // 2 * 2 : 2], rest[1::2]
    strangers = (draws.slot[first] != draws.slot[second]) & (draws.prompt_index[first] == draws.prompt_index[second])
    first, second = first[strangers], second[strangers]
    if not len(within) or not len(first):
        return False
    equal_within = (draws.tokens[within] == draws.tokens[within + 1]).all(axis=1).sum()
    equal_across = (draws.tokens[first] == draws.tokens[second]).all(axis=1).sum()
    return excess_p(int(equal_within), len(within), int(equal_across), len(first)) <= alpha


def _first_choices(draws: Draws) -> Draws:
    """One completion per request: choices of one request may be copies of each other."""
    first = np.unique(draws.slot, return_index=True)[1]
    return replace(
        draws,
        tokens=draws.tokens[first],
        prompt_index=draws.prompt_index[first],
        slot=draws.slot[first],
        planned=max(len(first), round(len(first) / (1 - draws.lost_fraction))),
    )


def _missing_path(evidence: Evidence, taken: Acceptance | None) -> str:
    """Name the verification path without which a bounded law says nothing of the verifier."""
    if missing := nothing_drafted(evidence, SAMPLE, taken):
        return missing
    if taken is None or not taken.rejecting_steps:
        return "no draft was rejected"
    return "" if taken.bonus_rows else "no bonus token was drawn"


def _summary(
    settings: LawSettings,
    verdict: Verdict,
    worst: JudgedView,
    bounded: bool,
    missing: str,
    copies: bool,
    unseen: list[int],
    in_classes: bool,
) -> str:
    words = f"{settings.word_length}-token words"
    prompts = f"{settings.prompts} prompt{'s' if settings.prompts > 1 else ''}"
    scope = f" on {prompts}, tokens taken in {settings.classes} classes" if in_classes else f" on {prompts}"
    if verdict is Verdict.VIOLATES:
        return (
            f"The {words} from depth {worst.depth} do not have the target's law: total variation "
            f"{worst.distance.estimate:.3f}, at least {worst.low:.3f}."
        )
    if verdict is Verdict.CONFORMS:
        return (
            f"At every depth the {words} are within total variation {worst.high:.3f} of the target's law{scope}; "
            f"{settings.tolerance:g} is tolerated."
        )
    if bounded and missing and not copies and not unseen:
        return (
            f"The {words} are within total variation {worst.high:.3f} of the target's law, but this says nothing of "
            f"the verifier: {missing}."
        )
    reasons = []
    if copies:
        reasons.append("choices of one request are copies of each other, so only the first of each was counted")
    if not bounded:
        reasons.append(f"the total variation at depth {worst.depth} is only bounded by {worst.high:.3f}")
    if unseen:
        reasons.append(f"no law is known for the words from depth {', '.join(map(str, unseen))}")
    if missing:
        reasons.append(missing)
    return f"A deviation was neither shown nor excluded: {'; '.join(reasons)}."


def _rare_paths(settings: LawSettings, taken: Acceptance | None) -> tuple[str, ...]:
    """Paths that were taken too rarely for a fault on them alone to reach the tolerance."""
    if taken is None:
        return ()
    paths = {"rejected a draft": taken.rejecting_steps, "drew a bonus token": taken.bonus_rows}
    return tuple(
        f"only {count / taken.drafts:.1%} of the drafted steps {what}, so a fault there alone could hide below the "
        "tolerance"
        for what, count in paths.items()
        if 0 < count < settings.tolerance * taken.drafts
    )


def _next_step(verdict: Verdict, evidence: Evidence, *, bounded: bool, copies: bool) -> str:
    if verdict is Verdict.VIOLATES:
        return rerun(evidence.plan, EmittedLaw.id, new_samples=True)
    if verdict is Verdict.CONFORMS:
        return ""
    if copies:
        return "Ask for one completion per request: set choices = 1 under [checks.LAW1] of the suite"
    if not bounded:
        return "Raise max_completions in the suite, or lower top_k so that words have fewer cells"
    if evidence.plan.metrics is None:
        return with_option(evidence.plan, "--metrics", "URL_OF_THE_METRICS_PAGE")
    return "Is speculation on, and is the metrics page the subject's own?"


def _detectable(view: JudgedView, alpha: float) -> float:
    if not view.test.dof:
        return 1.0
    return detectable_tv(max(1, int(view.test.effective_size)), view.test.dof, alpha=alpha, power=0.9)


def _assumptions(views: list[JudgedView]) -> tuple[str, ...]:
    common = (
        "the reference serves the same target, weights and tokenizer",
        "prompts, sampling parameters and load are like those of interest",
        "faults rarer than 3/n of the completions stay unseen",
    )
    scored = ("the reference's logprobs are those that it samples from",)
    classes = ("where tokens are put in classes, a deviation within a class stays unseen",)
    levels = {view.level for view in views}
    return (
        common
        + (scored if "scored" in levels else ())
        + (classes if any("classes" in level for level in levels) else ())
    )
