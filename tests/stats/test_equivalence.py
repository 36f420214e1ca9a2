import numpy as np
import pytest

from specaudit.model.finding import Verdict
from specaudit.stats.distance import tv_upper_bound
from specaudit.stats.equivalence import decide
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.power import detectable_tv

AUDITS = 2_000
MOST_ALARMS = 131
"""At .05: 100 expected, 3.2 standard deviations above."""
LEVELS = {"alpha": 0.05, "delta": 0.05, "tolerance": 0.05}


@pytest.mark.parametrize(
    ("p_value", "upper_bound", "verdict", "below"),
    [
        (0.05, 0.2, Verdict.VIOLATES, False),
        (0.0, 0.04, Verdict.VIOLATES, True),
        (0.051, 0.0499, Verdict.CONFORMS, False),
        (1.0, 0.05, Verdict.INCONCLUSIVE, False),
        (1.0, np.inf, Verdict.INCONCLUSIVE, False),
    ],
)
def test_the_three_answers(p_value, upper_bound, verdict, below):
    result = decide(p_value=p_value, upper_bound=upper_bound, **LEVELS)
    assert (result.verdict, result.below_tolerance) == (verdict, below)
    assert (result.p_value, result.upper_bound, result.tolerance) == (p_value, upper_bound, 0.05)


def answers(law, subject, n, seed):
    """How often each verdict is given of a subject."""
    rng = np.random.default_rng(seed)
    given = dict.fromkeys(Verdict, 0)
    for counts in rng.multinomial(n, subject, size=AUDITS):
        test = goodness_of_fit([counts], [law])
        bound = tv_upper_bound(test, delta=0.05)
        given[decide(p_value=test.asymptotic_p, upper_bound=bound, **LEVELS).verdict] += 1
    return given


LAW = np.full(4, 0.25)
TIGHT = LAW * (1 + 0.1 * np.array([1, -1, 1, -1]))
"""Exactly at the tolerance, in the direction that X² sees least."""


def test_a_healthy_subject_is_seldom_called_a_violator_and_conforms_with_enough_draws():
    given = answers(LAW, LAW, 5000, seed=0)
    assert given[Verdict.VIOLATES] <= MOST_ALARMS
    assert given[Verdict.CONFORMS] > 0.9 * AUDITS


def test_a_subject_exactly_at_the_tolerance_seldom_conforms():
    assert answers(LAW, TIGHT, 300, seed=1)[Verdict.CONFORMS] <= MOST_ALARMS


def test_the_smallest_detectable_deviation_is_detected_and_told():
    n = 3000
    deviation = detectable_tv(n, 3, alpha=0.05, power=0.9)
    subject = LAW * (1 + 2 * deviation * np.array([1, -1, 1, -1]))
    assert answers(LAW, subject, n, seed=2)[Verdict.VIOLATES] == pytest.approx(0.9 * AUDITS, abs=0.025 * AUDITS)
    told = decide(p_value=1, upper_bound=1, smallest_detectable=deviation, **LEVELS)
    assert told.smallest_detectable == deviation


@pytest.mark.parametrize(
    "wrong",
    [
        {"p_value": np.nan},
        {"p_value": 1.1},
        {"alpha": 0.0},
        {"delta": 1.0},
        {"upper_bound": np.nan},
        {"upper_bound": -0.1},
        {"tolerance": 0.0},
        {"tolerance": np.inf},
        {"smallest_detectable": np.nan},
    ],
)
def test_numbers_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValueError, match=r"must be|cannot be"):
        decide(**({"p_value": 0.5, "upper_bound": 0.1} | LEVELS | wrong))
