"""LAW1: what is demanded, and what is concluded."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil

import msgspec
import numpy as np

from specaudit.checks.commands import rerun, with_option
from specaudit.checks.control import cached_answers, no_common_law, not_under_control, only_copies, reachable
from specaudit.checks.copies import Choices, Independence, first_choices, independence
from specaudit.checks.interface import Budget, Check, budget_of
from specaudit.checks.law1.detectable import smallest_detectable
from specaudit.checks.law1.requests import next_stage
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import SAMPLE, KnownWords, known_words, prompt_contexts, token_classes, word_depths
from specaudit.checks.law1.views import JudgedView, Levels, view_between, view_with_law
from specaudit.checks.law1.wagers import DOUBT, wager
from specaudit.checks.selfsame import is_self
from specaudit.checks.whole_sample import DESCRIPTIVE_DRAWS, both_p, detectable, sample_alpha
from specaudit.checks.windows import coverage, missing_path, paths_taken, rare_paths
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import END, Draws, Evidence
from specaudit.model.finding import Betting, Finding, Verdict
from specaudit.model.plan import Plan, Role, Stage
from specaudit.stats.equivalence import decide


class EmittedLaw(Check[LawSettings]):
    """LAW1 law of the emitted tokens.

    Requirement: with sampling, the subject's completions are distributed as the plain target's.

    Null hypothesis: completions are independent, and the words of L tokens that begin at each of several depths
    have the law that the target gives them under the same sampling parameters.

    Statistic: Pearson's chi-square and total variation of the joint histogram of words, one per depth. One-sample
    where the law is known: exact (revealed by an engine in process) or scored (from the reference's logprobs in
    every context, unless its own words contradict them); two-sample against the reference's own words elsewhere, in
    cells chosen on a pilot. p-values by Monte Carlo or permutation, divided among the depths. While the words come
    in, a portfolio of bets on known faults, generic leans and ranks is folded over their single tokens, and over pairs
    of completions where no law is known; it ends the sample as soon as it has earned enough.

    Violates when the bets have earned 1 over their half of the check's error budget, or when the smallest p-value of
    the whole sample is within the other half (with `fixed_n`, within all of it). Conforms when at every depth
    the upper confidence bound of the total variation (noncentral chi-square, plus whatever lumped cells and lost
    answers can hide) is below the tolerance, and drafts were rejected and bonus tokens drawn while the words were
    collected.

    Assumptions: prompts, sampling parameters and load are like those of interest; the reference serves the same
    target. The bound is asymptotic (every expected count at least 5).

    Source: Leviathan et al. 2023, appendix A.1; Gao, Liang, Guestrin 2024 (two-sample tests of models behind an
    interface); Ramdas et al. 2023 (betting); Turner, Ly, Grünwald 2024 (pairs); Phipson and Smyth 2010; Besag and
    Clifford 1991.

    Kills: resid-from-target, reuse-uniform, draft0-unverified. Spares: plain decoding, correct speculation.
    """

    id = "LAW1"
    title = "law of the emitted tokens"
    settings_type = LawSettings

    def next_stage(self, plan: Plan, settings: LawSettings, evidence: Evidence) -> Stage | None:
        """Ask for the target's law, then for words, until the bets have earned enough."""
        if is_self(plan) or no_common_law(evidence) or only_copies(evidence):
            return None
        settings = _reachable(settings, evidence)
        if evidence.parts(SAMPLE):
            budget = budget_of(plan, self.id)
            found = independence(evidence.draws(*evidence.parts(SAMPLE)), budget.alpha)
            betting = self.watched = _wager(settings, evidence, budget, found)
            if found.copied or (betting is not None and betting.rejected_after is not None):
                return None
        return next_stage(plan, settings, evidence)

    def smallest_detectable(self, plan: Plan, settings: LawSettings, evidence: Evidence) -> Deviation | None:
        """Return the total variation that the planned sample shows with 90 % probability."""
        return smallest_detectable(plan, settings, evidence)

    def judge(self, settings: LawSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Judge every depth, and conclude from all of them."""
        if (cannot := self.cannot_compare(settings, evidence)) is not None:
            return cannot
        if reason := no_common_law(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        if reason := only_copies(evidence):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, reason)
        settings = _reachable(settings, evidence)
        if not evidence.parts(SAMPLE):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No words were collected.")
        draws = evidence.draws(*evidence.parts(SAMPLE))
        if "subject" not in draws or any(not len(arm.tokens) for arm in draws.values()):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No completion came back whole and with its tokens.")
        found = independence(draws, budget.alpha)
        if reason := cached_answers(evidence, evidence.parts(SAMPLE)) or found.copied:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, reason)
        betting = _wager(settings, evidence, budget, found)
        if found.choices != "independent":
            draws = {role: first_choices(arm) for role, arm in draws.items()}
        early = betting is not None and betting.rejected_after is not None
        views = _views(settings, evidence, budget, draws, decisive=not early)
        if not views:
            return self.cannot_say(
                settings, Verdict.INCONCLUSIVE, "Neither the target's law nor words of the reference are known."
            )
        return self._finding(settings, evidence, budget, draws, views, betting, found)

    def _finding(
        self,
        settings: LawSettings,
        evidence: Evidence,
        budget: Budget,
        draws: Mapping[Role, Draws],
        views: list[JudgedView],
        betting: Betting | None,
        found: Independence,
    ) -> Finding:
        planned = set(word_depths(settings, evidence.capabilities["subject"]))
        p_value = min(1.0, len(planned) * min(view.p_value for view in views))
        lost = any(arm.lost_fraction for arm in draws.values())
        early = betting is not None and betting.rejected_after is not None
        whole = next_stage(evidence.plan, settings, evidence) is None
        explained = lost and max(view.low for view in views) <= 0
        decision = decide(
            p_value=both_p(settings, betting, p_value if whole and not explained else 1.0),
            alpha=budget.alpha,
            upper_bound=max(view.high for view in views),
            delta=budget.delta,
            tolerance=settings.tolerance,
            smallest_detectable=max(
                detectable(view.test, sample_alpha(settings, budget) / len(planned)) for view in views
            ),
        )
        violates = decision.verdict is Verdict.VIOLATES
        bounded = decision.upper_bound < settings.tolerance
        unseen = sorted(planned - {view.depth for view in views})
        taken = coverage(evidence, *evidence.parts(SAMPLE))
        missing = missing_path(evidence, evidence.parts(SAMPLE), taken)
        worst = max(views, key=lambda view: (view.low, -view.p_value) if violates else (view.high, 0.0))
        shown = whole and not missing and not unseen and found.choices != "copies"
        verdict = decision.verdict if violates or shown else Verdict.INCONCLUSIVE
        in_classes = any("classes" in view.level for view in views)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=_summary(
                settings,
                verdict,
                worst,
                betting if early else None,
                bounded,
                missing,
                found.choices,
                unseen,
                in_classes,
            ),
            effect=worst.record(settings, 1 - budget.delta).effect,
            statistic=msgspec.structs.replace(
                worst.record(settings, 1 - budget.delta).statistic,
                p_value=p_value,
                method="smallest Monte Carlo p-value over depths, times their number",
            ),
            betting=betting,
            alpha=budget.alpha,
            smallest_detectable=decision.smallest_detectable,
            below_tolerance=decision.below_tolerance and whole,
            witness=worst.witness if violates else None,
            views=tuple(view.record(settings, 1 - budget.delta) for view in views),
            coverage=paths_taken(taken),
            measured={f"{role} completions lost": float(arm.planned - len(arm.tokens)) for role, arm in draws.items()},
            assumptions=_assumptions(views),
            notes=(*rare_paths(settings.tolerance, taken), *not_under_control(evidence)),
            exhibits=(worst.cells,),
            next_step=_next_step(verdict, evidence, bounded=bounded, choices=found.choices),
        )


def _wager(settings: LawSettings, evidence: Evidence, budget: Budget, found: Independence) -> Betting | None:
    """The bets; None where the whole sample is wanted, or it is not known yet what depends on what."""
    if settings.fixed_n or not found.settled:
        return None
    grouped = found.choices == "copies"
    return wager(settings, evidence, alpha=budget.alpha / 2, seed=budget.seed, grouped=grouped)


def _reachable(settings: LawSettings, evidence: Evidence) -> LawSettings:
    """The settings with parameters that every arm takes."""
    return msgspec.structs.replace(settings, sampling=reachable(settings.sampling, evidence))


def _views(
    settings: LawSettings, evidence: Evidence, budget: Budget, draws: Mapping[Role, Draws], *, decisive: bool
) -> list[JudgedView]:
    """Judge every depth with the best law that is known for it; leave out depths with none.

    The p-values of an audit that was decided before the planned size decide nothing any more.
    """
    depths = word_depths(settings, evidence.capabilities["subject"])
    contexts = prompt_contexts(evidence)
    rng = np.random.default_rng(budget.seed)
    alpha = sample_alpha(settings, budget) / len(depths)
    draw = ceil(10 / alpha) if decisive else DESCRIPTIVE_DRAWS
    levels = Levels(delta=budget.delta, alpha=alpha, draws=draw, rng=rng, early=not decisive)
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


def _summary(
    settings: LawSettings,
    verdict: Verdict,
    worst: JudgedView,
    early: Betting | None,
    bounded: bool,
    missing: str,
    choices: Choices,
    unseen: list[int],
    in_classes: bool,
) -> str:
    words = f"{settings.word_length}-token words"
    prompts = f"{settings.prompts} prompt{'s' if settings.prompts > 1 else ''}"
    scope = f" on {prompts}, tokens taken in {settings.classes} classes" if in_classes else f" on {prompts}"
    if verdict is Verdict.VIOLATES:
        if early is not None:
            return (
                f"Tokens do not have the target's law, which bets on them showed after {early.rejected_after:,}; the "
                f"{words} from depth {worst.depth} differ most."
            )
        return (
            f"The {words} from depth {worst.depth} do not have the target's law: total variation "
            f"{worst.distance.estimate:.3f}, at least {worst.low:.3f}."
        )
    if verdict is Verdict.CONFORMS:
        return (
            f"At every depth the {words} are within total variation {worst.high:.3f} of the target's law{scope}; "
            f"{settings.tolerance:g} is tolerated."
        )
    if bounded and missing and choices != "copies" and not unseen:
        return (
            f"The {words} are within total variation {worst.high:.3f} of the target's law, but this says nothing of "
            f"the verifier: {missing}."
        )
    reasons = []
    if choices != "independent":
        are = "are" if choices == "copies" else "cannot be told from"
        reasons.append(f"choices of one request {are} copies of each other, so only the first of each was counted")
    if not bounded:
        reasons.append(f"the total variation at depth {worst.depth} is only bounded by {worst.high:.3f}")
    if unseen:
        reasons.append(f"no law is known for the words from depth {', '.join(map(str, unseen))}")
    if missing:
        reasons.append(missing)
    return f"A deviation was neither shown nor excluded: {'; '.join(reasons)}."


def _next_step(verdict: Verdict, evidence: Evidence, *, bounded: bool, choices: Choices) -> str:
    if verdict is Verdict.VIOLATES:
        return rerun(evidence.plan, EmittedLaw.id, new_samples=True)
    if verdict is Verdict.CONFORMS:
        return ""
    if choices != "independent":
        return "Ask for one completion per request: set choices = 1 under [checks.LAW1] of the suite"
    if not bounded:
        return "Raise max_completions in the suite, or lower top_k so that words have fewer cells"
    if evidence.plan.metrics is None:
        return with_option(evidence.plan, "--metrics", "URL_OF_THE_METRICS_PAGE")
    return "Is speculation on, and is the metrics page the subject's own?"


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
