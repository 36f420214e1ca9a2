"""The smallest deviation that LAW1's planned sample will show."""

import numpy as np

from specaudit.checks.interface import POWER, budget_of
from specaudit.checks.law1.forced import how_bounded
from specaudit.checks.law1.looking import tests_of
from specaudit.checks.law1.pooled import bins_of
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import (
    SAMPLE,
    completion_length,
    known_words,
    prompt_contexts,
    token_classes,
    word_depths,
)
from specaudit.checks.whole_sample import sample_alpha
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan
from specaudit.stats.chisquare import MIN_EXPECTED
from specaudit.stats.power import detectable_tv


def smallest_detectable(plan: Plan, settings: LawSettings, evidence: Evidence) -> Deviation | None:
    """Return the total variation that is seen with 90 % probability, at whatever depth or over a completion.

    Where the law is exact the test has one sample; elsewhere the reference's own words decide whether there is a
    deviation, and the pilot tells how many cells they fill.
    """
    planned = [slot.request.n for name in evidence.parts(SAMPLE) for slot in evidence.stages[name].slots()]
    if not planned:
        return None
    subject, how = evidence.capabilities["subject"], how_bounded(settings, evidence)
    depths, share = word_depths(settings, subject), sample_alpha(settings, budget_of(plan, "LAW1"))
    alpha = share / tests_of(how, len(depths))
    exact = "reference" in evidence.laws
    completions = sum(planned) // (1 if exact or how == "forced" else 2)
    if how in ("exact", "forced"):
        words = completions * (completion_length(settings, subject) // settings.word_length)
        cells = bins_of(settings) ** settings.word_length
        return Deviation(name="total variation", value=detectable_tv(words, cells - 1, alpha=alpha, power=POWER))
    values = [
        detectable_tv(completions, cells - 1, alpha=alpha, power=POWER, samples=1 if exact else 2)
        for depth in depths
        if (cells := _cells(settings, evidence, depth, completions)) > 1
    ]
    return Deviation(name="total variation", value=max(values)) if values else None


def _cells(settings: LawSettings, evidence: Evidence, depth: int, completions: int) -> int:
    """Cells that expect at least 5 draws in an arm; all others share one."""
    if "reference" in evidence.laws:
        known = known_words(settings, evidence, prompt_contexts(evidence), depth)
        masses = [] if known is None else [np.array(list(law.values())) / len(known.laws) for law in known.laws]
    else:
        classes = token_classes(settings, evidence, depth)
        counts = [] if classes is None else [np.array(list(classes.cells.values()))]
        masses = [count / count.sum() for count in counts]
    return sum(int((mass * completions >= MIN_EXPECTED).sum()) for mass in masses)
