"""LAW1: what is demanded, and what is concluded."""

from collections.abc import Mapping

import msgspec

from specaudit.checks.control import (
    cached_answers,
    no_common_law,
    not_under_control,
    only_characters,
    only_copies,
    reachable,
)
from specaudit.checks.copies import Independence, dependent_choices, first_choices, independence
from specaudit.checks.interface import POWER, Budget, Check, budget_of
from specaudit.checks.law1.detectable import smallest_detectable
from specaudit.checks.law1.forced import how_bounded, noise
from specaudit.checks.law1.judged import JudgedView
from specaudit.checks.law1.looking import Looked, look
from specaudit.checks.law1.requests import next_stage
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import SAMPLE
from specaudit.checks.law1.told import Told, assumptions, next_step, summary
from specaudit.checks.law1.wagers import wager
from specaudit.checks.paths import missing, path_counts
from specaudit.checks.powered import told as chosen
from specaudit.checks.replays import numeric_note
from specaudit.checks.selfsame import is_self
from specaudit.checks.whole_sample import both_p, sample_alpha
from specaudit.checks.windows import coverage, rare_paths
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Draws, Evidence
from specaudit.model.finding import Betting, Finding, Verdict
from specaudit.model.plan import Plan, Role, Stage
from specaudit.stats.equivalence import decide
from specaudit.stats.power import detectable_tv


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

    With `bound = "completions"` all words of a completion are taken together, wherever they begin. Where the law of
    every token is known, in process or by teacher forcing, each token becomes a point of it (randomised
    probability-integral transform), and L points a cell; elsewhere the arms' shares of rank words are compared by
    Wald's statistic, since the words of a completion depend on each other.

    Violates when the bets have earned 1 over their half of the check's error budget, or when the smallest p-value of
    the whole sample is within the other half (with `fixed_n`, within all of it). Conforms when at every depth, or over
    completions, the upper confidence bound of the total variation (noncentral chi-square, plus whatever lumped cells
    and lost answers can hide) is below the tolerance, and drafts were rejected and bonus tokens drawn while the words
    were collected.

    Assumptions: prompts, sampling parameters and load are like those of interest; the reference serves the same
    target. The bound is asymptotic (every expected count at least 5).

    Source: Leviathan et al. 2023, appendix A.1; Gao, Liang, Guestrin 2024 (two-sample tests of models behind an
    interface); Rosenblatt 1952 (the transform); Rao and Scott 1981 (clusters); Ramdas et al. 2023 (betting); Turner,
    Ly, Grünwald 2024 (pairs); Phipson and Smyth 2010; Besag and Clifford 1991.

    Kills: resid-from-target, reuse-uniform, draft0-unverified. Spares: plain decoding, correct speculation.
    """

    id = "LAW1"
    title = "law of the emitted tokens"
    settings_type = LawSettings
    plans_from_answers = True

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
        if found.choices != "independent" and how_bounded(settings, evidence) in ("exact", "forced"):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, dependent_choices(self.id, found.choices))
        betting = _wager(settings, evidence, budget, found)
        if found.choices != "independent":
            draws = {role: first_choices(arm) for role, arm in draws.items()}
        early = betting is not None and betting.rejected_after is not None
        looked = look(settings, evidence, budget, draws, decisive=not early)
        if not looked.bounding:
            return self.cannot_say(
                settings, Verdict.INCONCLUSIVE, "Neither the target's law nor words of the reference are known."
            )
        return self._finding(settings, evidence, budget, draws, looked, betting, found)

    def _finding(
        self,
        settings: LawSettings,
        evidence: Evidence,
        budget: Budget,
        draws: Mapping[Role, Draws],
        looked: Looked,
        betting: Betting | None,
        found: Independence,
    ) -> Finding:
        views, confidence = looked.views, 1 - budget.delta
        lost = any(arm.lost_fraction for arm in draws.values()) or any(view.missing for view in views)
        early = betting is not None and betting.rejected_after is not None
        whole = next_stage(evidence.plan, settings, evidence) is None
        numerics = noise(evidence, settings) if looked.how == "forced" else 0.0
        explained = (lost or numerics > settings.slack) and max(view.low for view in views) <= 0
        decision = decide(
            p_value=both_p(settings, betting, looked.p_value if whole and not explained else 1.0),
            alpha=budget.alpha,
            upper_bound=max(view.high for view in looked.bounding),
            delta=budget.delta,
            tolerance=settings.tolerance,
            smallest_detectable=max(
                (_detectable(view, sample_alpha(settings, budget) / looked.tests) for view in looked.deciding),
                default=1.0,
            ),
        )
        violates = decision.verdict is Verdict.VIOLATES
        taken = coverage(evidence, *evidence.parts(SAMPLE))
        paths = path_counts(evidence, evidence.parts(SAMPLE), taken)
        lacking = only_characters(evidence) or missing(evidence, evidence.parts(SAMPLE), taken, paths)
        worst = (
            max(views, key=lambda view: (view.low, -view.p_value))
            if violates
            else max(looked.bounding, key=lambda view: view.high)
        )
        shown = whole and not lacking and not looked.unseen and found.choices != "copies"
        told = Told(
            verdict=decision.verdict if violates or shown else Verdict.INCONCLUSIVE,
            worst=worst,
            early=betting if early else None,
            bounded=decision.upper_bound < settings.tolerance,
            missing=lacking,
            choices=found.choices,
        )
        record = worst.record(settings.tolerance, confidence)
        return Finding(
            check=self.id,
            verdict=told.verdict,
            required=settings.required,
            summary=summary(settings, told, looked),
            effect=record.effect,
            statistic=msgspec.structs.replace(
                record.statistic,
                p_value=looked.p_value,
                method="smallest p-value of the views that may accuse, times their number",
            ),
            betting=betting,
            alpha=budget.alpha,
            smallest_detectable=decision.smallest_detectable,
            below_tolerance=decision.below_tolerance and whole,
            witness=worst.witness if violates else None,
            views=tuple(view.record(settings.tolerance, confidence) for view in views),
            coverage=paths,
            measured={f"{role} completions lost": float(arm.planned - len(arm.tokens)) for role, arm in draws.items()},
            assumptions=assumptions(settings, looked),
            notes=(
                *numeric_note(numerics, settings.slack),
                *rare_paths(settings.tolerance, taken),
                *chosen(evidence),
                *not_under_control(evidence),
            ),
            exhibits=(worst.cells,),
            next_step=next_step(self.id, told, evidence),
        )


def _detectable(view: JudgedView, alpha: float) -> float:
    """The total variation that a view's test shows with 90 % probability; 1 where it shows none."""
    if not view.dof:
        return 1.0
    return detectable_tv(max(1, int(view.effective_size)), view.dof, alpha=alpha, power=POWER)


def _wager(settings: LawSettings, evidence: Evidence, budget: Budget, found: Independence) -> Betting | None:
    """The bets; None where the whole sample is wanted, or it is not known yet what depends on what."""
    if settings.fixed_n or not found.settled:
        return None
    grouped = found.choices == "copies"
    return wager(settings, evidence, alpha=budget.alpha / 2, seed=budget.seed, grouped=grouped)


def _reachable(settings: LawSettings, evidence: Evidence) -> LawSettings:
    """The settings with parameters that every arm takes."""
    return msgspec.structs.replace(settings, sampling=reachable(settings.sampling, evidence))
