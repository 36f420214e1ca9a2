"""LAW3: what is demanded, and what is concluded."""

from collections.abc import Sequence

import msgspec

from specaudit.checks.betting import bet
from specaudit.checks.control import cached_answers, not_under_control, only_copies, reachable
from specaudit.checks.copies import Independence, dependent_choices, independence
from specaudit.checks.interface import POWER, Budget, Check, budget_of, incomparable
from specaudit.checks.law3.by_path import planned_paths, tokens_by_path
from specaudit.checks.law3.depths import BINS, ranges
from specaudit.checks.law3.drawn import bet_on_draws, judge_drawn, paired_rounds
from specaudit.checks.law3.requests import CHECK, SAMPLE, SCORE, sample_groups, sample_stage, score_stage
from specaudit.checks.law3.scores import noise, scored_rounds
from specaudit.checks.law3.settings import DepthSettings
from specaudit.checks.law3.told import BY_TOKENS, assumptions, next_step, summary
from specaudit.checks.law3.views import TokensView, judge_path, judge_range
from specaudit.checks.paths import missing, path_counts
from specaudit.checks.powered import told as chosen
from specaudit.checks.replays import numeric_note
from specaudit.checks.scoring import How, scoring, why_not
from specaudit.checks.whole_sample import Levels, both_p, detectable, sample_alpha
from specaudit.checks.windows import coverage, rare_paths
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Betting, Finding, Verdict
from specaudit.model.plan import Plan, Stage
from specaudit.stats.equivalence import decide
from specaudit.stats.evalues.slack import hidden_tv
from specaudit.stats.power import detectable_tv


class LawByDepth(Check[DepthSettings]):
    """LAW3 law of single tokens by depth.

    Requirement: with sampling, every emitted token is distributed as the plain target's next token in its own
    context, however deep in the completion it stands and however long the prompt is.

    Null hypothesis: given everything before it, each token has the law that the target gives it under the same
    sampling parameters.

    Statistic: each token becomes the point F(x-) + u p(x) of the target's cumulative law in its context, most likely
    tokens first (randomised probability-integral transform); by ranges of depth the points are counted in 16 bins, for
    Pearson's chi-square and the total variation; so they are by verification path, where every completion tells its
    steps: position of the step that was reached, bonus row, undrafted step, first token after a step that rejected.
    A portfolio of bets on known faults, generic leans and ranks is
    folded in as completions come, and ends the sample early where it has earned enough. The law is exact (revealed by
    an engine in process) or scored by the reference in the subject's own contexts: by teacher forcing, or one token a
    request. Where the reference reports no logprobs it draws a token in the same context, beside the subject's: the
    bound is then Wald's, of paired differences, in cells of tokens that the first ones found common.

    Violates when the bets have earned more than 1 over their half of the check's error budget, or when the whole
    sample's smallest p-value is within the other half. Conforms when in every range the upper confidence bound of the
    total variation, plus whatever edge tokens and lost answers can hide, is below the tolerance, and drafts were
    rejected and bonus tokens drawn.

    Assumptions: the reference serves the same target; its logprobs are those that it samples from. The bins pool
    contexts: deviations that cancel over the contexts of a range stay unseen by the bound, though not by the bets.

    Source: Leviathan et al. 2023; Ramdas et al. 2023 (game-theoretic statistics); Rosenblatt 1952 (the transform).

    Kills: resid-from-target, late-kv. Spares: plain decoding, correct speculation.
    """

    id = CHECK
    title = "law of single tokens by depth"
    settings_type = DepthSettings
    against_itself = True
    plans_from_answers = True

    def next_stage(self, plan: Plan, settings: DepthSettings, evidence: Evidence) -> Stage | None:
        """Ask for a round of completions, then for their laws, until enough was seen."""
        if "reference" not in evidence.capabilities or incomparable(evidence) or only_copies(evidence):
            return None
        settings = _reachable(settings, evidence)
        how = scoring(settings.sampling, evidence)
        if how is None:
            return None
        rounds = len(evidence.parts(SAMPLE))
        if how != "exact" and rounds and f"{SCORE}.{rounds - 1}" not in evidence.stages:
            stage = score_stage(plan, settings, evidence, how)
            if stage is not None:
                return stage
        if rounds:
            budget = budget_of(plan, CHECK)
            found = _independence(evidence, budget)
            betting = self.watched = _bet(settings, evidence, how, budget, found)
            if found.copied or (betting is not None and betting.rejected_after is not None):
                return None
        return sample_stage(plan, settings, evidence, how)

    def smallest_detectable(self, plan: Plan, settings: DepthSettings, evidence: Evidence) -> Deviation | None:
        """Return the total variation that the whole sample's test shows in whatever range it stands."""
        how = scoring(settings.sampling, evidence) if evidence.parts(SAMPLE) else None
        if how is None:
            return None
        wanted = sample_groups(plan, settings, how)
        alpha = sample_alpha(settings, budget_of(plan, CHECK)) / _tests(settings, evidence, how)
        tokens = min(group.completions * group.scored for group in wanted)
        return Deviation(name="total variation", value=detectable_tv(tokens, BINS - 1, alpha=alpha, power=POWER))

    def judge(self, settings: DepthSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Judge every range of depths, and conclude from all of them."""
        if (cannot := self.cannot_compare(settings, evidence)) is not None:
            return cannot
        if reason := only_copies(evidence):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, reason)
        if "reference" not in evidence.capabilities:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No completions were collected.")
        settings = _reachable(settings, evidence)
        how = scoring(settings.sampling, evidence)
        if how is None:
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, why_not(settings.sampling, evidence))
        if not evidence.parts(SAMPLE):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No completions were collected.")
        found = _independence(evidence, budget)
        if reason := _dependent(evidence, found):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, reason)
        betting = _bet(settings, evidence, how, budget, found)
        early = betting is not None and betting.rejected_after is not None
        views = _views(settings, evidence, how, budget, decisive=not early)
        if not any(view.depths is not None for view in views):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No token was scored.")
        return self._finding(settings, evidence, budget, how, views, betting)

    def _finding(
        self,
        settings: DepthSettings,
        evidence: Evidence,
        budget: Budget,
        how: How,
        views: Sequence[TokensView],
        betting: Betting | None,
    ) -> Finding:
        planned = ranges(settings.max_tokens)
        early = betting is not None and betting.rejected_after is not None
        whole = sample_stage(evidence.plan, settings, evidence, how) is None
        tests = _tests(settings, evidence, how)
        p_value = min(1.0, tests * min(view.p_value for view in views))
        bounding = [view for view in views if view.depths is not None]
        numerics = noise(evidence, settings, how)
        doubted = numerics > settings.slack or any(view.missing for view in views)
        explained = doubted and max(view.low for view in views) <= 0
        decision = decide(
            p_value=both_p(settings, betting, p_value if whole and not explained else 1.0),
            alpha=budget.alpha,
            upper_bound=max(view.high for view in bounding),
            delta=budget.delta,
            tolerance=settings.tolerance,
            smallest_detectable=max(detectable(view.test, sample_alpha(settings, budget) / tests) for view in views),
        )
        unseen = [one.name for one in planned if one not in {view.depths for view in views}]
        bounded = decision.upper_bound < settings.tolerance
        taken = coverage(evidence, *evidence.parts(SAMPLE))
        paths = path_counts(evidence, evidence.parts(SAMPLE), taken)
        lacking = missing(evidence, evidence.parts(SAMPLE), taken, paths)
        violates = decision.verdict is Verdict.VIOLATES
        worst = (
            max(views, key=lambda view: (view.low, -view.p_value))
            if violates
            else max(bounding, key=lambda view: view.high)
        )
        shown = whole and not unseen and not lacking
        verdict = decision.verdict if violates or shown else Verdict.INCONCLUSIVE
        notes = (
            *numeric_note(numerics, settings.slack),
            *rare_paths(settings.tolerance, taken),
            *chosen(evidence),
            *not_under_control(evidence),
        )
        record = worst.record(settings.tolerance, 1 - budget.delta)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary(verdict, worst, settings, betting if early else None, bounded, unseen, lacking, whole),
            effect=record.effect,
            statistic=msgspec.structs.replace(
                record.statistic,
                p_value=p_value,
                method="smallest Monte Carlo p-value over ranges of depth and paths, times their number",
            ),
            betting=betting,
            alpha=budget.alpha,
            smallest_detectable=decision.smallest_detectable,
            below_tolerance=decision.below_tolerance and whole,
            witness=worst.witness if violates else None,
            views=tuple(view.record(settings.tolerance, 1 - budget.delta) for view in views),
            coverage=paths,
            measured={"tokens scored": float(sum(view.test.effective_size for view in bounding))},
            assumptions=assumptions(settings, evidence),
            notes=(*BY_TOKENS, *notes) if how == "drawn" else notes,
            exhibits=(worst.cells,),
            next_step=next_step(self.id, verdict, evidence, bounded=bounded),
        )


def _independence(evidence: Evidence, budget: Budget) -> Independence:
    return independence(evidence.draws(*evidence.parts(SAMPLE)), budget.alpha)


def _bet(settings: DepthSettings, evidence: Evidence, how: How, budget: Budget, found: Independence) -> Betting | None:
    """The bets; None where the whole sample is wanted, or there is nothing yet that may be bet on."""
    if settings.fixed_n or found.choices == "copies" or not found.settled:
        return None
    if how == "drawn":
        return bet_on_draws(paired_rounds(settings, evidence), budget.alpha / 2)
    slack = 0.0 if how == "exact" else max(settings.slack, noise(evidence, settings, how))
    return bet(scored_rounds(settings, evidence, how, budget.seed), budget.alpha / 2, slack=slack)


def _reachable(settings: DepthSettings, evidence: Evidence) -> DepthSettings:
    """The settings with parameters that every arm takes."""
    return msgspec.structs.replace(settings, sampling=reachable(settings.sampling, evidence))


def _dependent(evidence: Evidence, found: Independence) -> str:
    """Say why the subject's completions are no independent draws; nothing where they are."""
    if reason := cached_answers(evidence, evidence.parts(SAMPLE)) or found.copied:
        return reason
    return dependent_choices(CHECK, found.choices)


def _tests(settings: DepthSettings, evidence: Evidence, how: How) -> int:
    """How many p-values may accuse, at most: one for each range of depths, and for each path that could be told."""
    return len(ranges(settings.max_tokens)) + (0 if how == "drawn" else len(planned_paths(evidence)))


def _views(
    settings: DepthSettings, evidence: Evidence, how: How, budget: Budget, *, decisive: bool
) -> list[TokensView]:
    alpha = sample_alpha(settings, budget) / _tests(settings, evidence, how)
    numeric = hidden_tv(noise(evidence, settings, how))
    levels = Levels.of_view(alpha, budget, decisive=decisive, numeric=numeric)
    depths = ranges(settings.max_tokens)
    if how == "drawn":
        paired = list(paired_rounds(settings, evidence))
        return [view for one in depths if (view := judge_drawn(one, paired, levels)) is not None]
    rounds = list(scored_rounds(settings, evidence, how, budget.seed))
    law = "exact" if how == "exact" else "scored"
    found = [judge_range(one, rounds, law, levels) for one in depths]
    by_path = (tokens_by_path(evidence, rounds) if planned_paths(evidence) else None) or {}
    found += [judge_path(path, masks, rounds, law, levels) for path, masks in by_path.items()]
    return [view for view in found if view is not None]
