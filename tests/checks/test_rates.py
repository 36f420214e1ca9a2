"""False alarms and false `conforms` of the checks that count answers, exactly, at the settings that they ship with.

A subject whose share is the tolerance itself is the worst that may not be accused, and that may not pass.
"""

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from specaudit.audit.suites import load_suite, shipped
from specaudit.checks import registry
from specaudit.checks.interface import budget_of
from specaudit.checks.shares import decided, share
from specaudit.model.finding import Verdict
from specaudit.model.suite import Suite
from tests.model.builders import plan

ALPHA = 1e-3
KINDS = {"SED2": 2, "LGP1": 2}
"""SED2 judges sampled and greedy requests, each at half of the error level; LGP1 takes the better of two modes, each
bounded at half of the error probability."""


def rates(settings: object, alpha: float, delta: float) -> tuple[float, float]:
    """The probabilities of `violates` and of `conforms` for one share that is exactly the tolerance."""
    tolerance, count = settings.tolerance, settings.prompts
    verdicts = [
        decided(share("x", events, count, alpha=alpha, delta=delta, tolerance=tolerance), tolerance)
        for events in range(count + 1)
    ]
    chance = binom.pmf(np.arange(count + 1), count, tolerance)
    return tuple(
        float(chance[[verdict is wanted for verdict in verdicts]].sum())
        for wanted in (Verdict.VIOLATES, Verdict.CONFORMS)
    )


def everywhere(check: str) -> list[object]:
    """The check's own settings, and those of every shipped suite that has it."""
    suites = [load_suite(name) for name in shipped()]
    own = Suite(name="own", title="", checks={check: {}})
    return [registry.settings_of(suite, check) for suite in (own, *suites) if check in suite.checks]


@pytest.mark.parametrize("check", ["SED1", "SED2", "LGP1"])
def test_a_share_at_the_tolerance_is_hardly_ever_accused_or_passed(check: str) -> None:
    budget = budget_of(plan(check, alpha=ALPHA), check)
    kinds = KINDS.get(check, 1)
    for settings in everywhere(check):
        accused, passed = rates(settings, budget.alpha / kinds, budget.delta / kinds)
        assert accused * kinds <= ALPHA
        assert passed * kinds <= ALPHA
        # And a subject that is never off passes.
        nothing = share("x", 0, settings.prompts, alpha=1e-4, delta=ALPHA / kinds, tolerance=settings.tolerance)
        assert decided(nothing, settings.tolerance) is Verdict.CONFORMS


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.15, 0.3, 0.5, 0.9])
def test_noise_that_is_the_plain_targets_own_is_hardly_ever_called_a_fault_of_speculation(noise: float) -> None:
    """SED3: whatever share of answers differs by chance, in both comparisons alike."""
    for settings in everywhere("SED3"):
        count = settings.prompts
        events = np.arange(count + 1)
        chance = binom.pmf(events, count, noise)
        both = np.multiply.outer(chance, chance)
        # Fisher's exact test, as in `excess_p`: so many or more of all events among the first.
        p_values = hypergeom.sf(events[:, None] - 1, 2 * count, events[:, None] + events[None, :], count)
        assert both[p_values <= ALPHA].sum() <= ALPHA
