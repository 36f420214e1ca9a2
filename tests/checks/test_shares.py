import pytest

from specaudit.checks.shares import decided, share
from specaudit.model.finding import Verdict


def test_the_bounds_are_those_of_clopper_and_pearson():
    effect = share("x", 0, 20, delta=1e-3, tolerance=0.5, alpha=1e-3)
    assert effect.value == effect.low == 0
    assert effect.high == pytest.approx(1 - 0.001 ** (1 / 20))
    assert share("x", 20, 20, delta=1e-3, tolerance=0.5, alpha=1e-3).low == pytest.approx(0.001 ** (1 / 20))
    assert share("x", 3, 20, delta=1e-3, tolerance=0.5).low is None


@pytest.mark.parametrize(
    ("events", "verdict"), [(0, Verdict.CONFORMS), (4, Verdict.INCONCLUSIVE), (40, Verdict.VIOLATES)]
)
def test_a_tolerance_is_exceeded_met_or_neither(events, verdict):
    assert decided(share("x", events, 64, delta=1e-3, tolerance=0.15, alpha=1e-3), 0.15) is verdict


def test_without_a_lower_bound_a_share_never_violates():
    assert decided(share("x", 64, 64, delta=1e-3, tolerance=0.15), 0.15) is Verdict.INCONCLUSIVE
