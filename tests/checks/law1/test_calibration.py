"""LAW1's error rates, measured: false alarms under the null, false `conforms` exactly at the tolerance.

The rule of self-calibration: at a level of .05, 2,000 audits may give at most 131 errors (a level of .05 gives
more with a probability below 1e-3).
"""

import msgspec
import numpy as np
import pytest

from specaudit.checks.interface import Budget
from specaudit.model.finding import Verdict
from tests.checks.chains import CHECK, SETTINGS, START, STEP, draw, law_evidence

AUDITS, MOST_ERRORS = 2000, 131
COMPLETIONS = 300


def budget(seed: int) -> Budget:
    return Budget(alpha=0.05, delta=0.05, seed=seed)


def test_false_alarms_where_the_law_is_exact():
    rng = np.random.default_rng(1)
    alarms = 0
    for audit in range(AUDITS):
        evidence = law_evidence({"subject": draw(rng, COMPLETIONS)}, exact=True)
        alarms += CHECK.judge(SETTINGS, evidence, budget(audit)).verdict is Verdict.VIOLATES
    assert 0 < alarms <= MOST_ERRORS


def test_false_alarms_against_a_sampled_reference():
    rng = np.random.default_rng(2)
    alarms = 0
    for audit in range(AUDITS):
        samples = {"subject": draw(rng, COMPLETIONS), "reference": draw(rng, COMPLETIONS)}
        evidence = law_evidence(samples, exact=False, pilot=draw(rng, SETTINGS.pilot))
        alarms += CHECK.judge(SETTINGS, evidence, budget(audit)).verdict is Verdict.VIOLATES
    assert 0 < alarms <= MOST_ERRORS


@pytest.mark.parametrize("exact", [True, False])
def test_false_conforms_exactly_at_the_tolerance(exact):
    """Each subject deviates at depth 0 by exactly the tolerance; its bound may miss that in 5 % of audits.

    The whole sample is collected in each: where bets end it, there is no bound that could miss.
    """
    settings = msgspec.structs.replace(SETTINGS, fixed_n=True)
    shifted = START + SETTINGS.tolerance * np.array([1, -1])
    rng = np.random.default_rng(3)
    missed = bounded = 0
    for audit in range(AUDITS):
        samples = {"subject": draw(rng, COMPLETIONS, shifted, STEP)}
        if not exact:
            samples["reference"] = draw(rng, COMPLETIONS)
        evidence = law_evidence(samples, exact=exact, pilot=None if exact else draw(rng, SETTINGS.pilot))
        finding = CHECK.judge(settings, evidence, budget(audit))
        high = finding.views[0].effect.high if finding.views else 1.0  # copies are suspected in some
        bounded += high < 1
        missed += high < SETTINGS.tolerance
    assert bounded > 0.9 * AUDITS
    assert missed <= MOST_ERRORS
