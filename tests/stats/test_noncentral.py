import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, ncx2

from specaudit.stats.noncentral import noncentral_cdf, noncentrality_at


@pytest.mark.parametrize("dof", [1, 15, 63, 6300])
@pytest.mark.parametrize("noncentrality", [0.01, 3.0, 69.0, 4000.0, 90_000.0, 2e6, 1e8])
def test_cdf_agrees_with_scipy(dof, noncentrality):
    mean, sd = dof + noncentrality, np.sqrt(2 * (dof + 2 * noncentrality))
    for z in (-3.0, -1.0, 0.0, 2.0):
        x = max(0.0, mean + z * sd)
        assert noncentral_cdf(x, dof, noncentrality) == pytest.approx(ncx2.cdf(x, dof, noncentrality), abs=1e-7)


def test_without_noncentrality_it_is_the_chi_square_law():
    assert noncentral_cdf(60.0, 63, 0.0) == pytest.approx(chi2.cdf(60, 63), rel=1e-12)


def test_lower_tails_are_exact_relatively():
    assert noncentral_cdf(20.0, 63, 69.0) == pytest.approx(ncx2.cdf(20.0, 63, 69.0), rel=1e-9)


def test_the_two_forms_meet():
    for z in (-4, -3, 0, 3):
        x = 63 + 1e5 + z * np.sqrt(4e5)
        below, above = noncentral_cdf(x, 63, 1e5), noncentral_cdf(x, 63, 1e5 * (1 + 1e-12))
        assert below == pytest.approx(above, rel=5e-7)


@given(
    x=st.floats(0, 1e12),
    dof=st.integers(1, 1000),
    probability=st.floats(1e-9, 0.999),
)
def test_noncentrality_solves_its_equation_everywhere(x, dof, probability):
    noncentrality = noncentrality_at(x, dof, probability)
    if noncentrality == 0:
        assert chi2.cdf(x, dof) <= probability * (1 + 1e-9) + 1e-12
    else:
        assert noncentral_cdf(x, dof, noncentrality) == pytest.approx(probability, rel=1e-3, abs=1e-9)


def test_corners():
    assert noncentrality_at(0.0, 63, 1e-3) == 0
    assert noncentrality_at(np.inf, 63, 1e-3) == np.inf


@pytest.mark.parametrize(
    ("x", "dof", "probability"), [(-1, 1, 0.1), (np.nan, 1, 0.1), (1, 0, 0.1), (1, 1, 0), (1, 1, 1)]
)
def test_bad_input_is_refused(x, dof, probability):
    with pytest.raises(ValueError, match="no noncentrality"):
        noncentrality_at(x, dof, probability)
