import pytest
from scipy.special import chdtri

from specaudit.checks.law3.depths import BINS, Range, groups, ranges
from specaudit.checks.law3.settings import DepthSettings
from specaudit.stats.noncentral import noncentrality_at
from specaudit.stats.power import completions_needed


@pytest.mark.parametrize(
    ("max_tokens", "ends"),
    [(1, [1]), (3, [3]), (4, [3, 4]), (130, [3, 16, 128, 130]), (5000, [3, 16, 128, 1024, 5000])],
)
def test_ranges_cover_every_depth_once(max_tokens, ends):
    found = ranges(max_tokens)
    assert [one.end for one in found] == ends
    assert [one.first for one in found] == [0, *ends[:-1]]


def test_names_count_from_one():
    assert Range(first=0, end=3).name == "tokens 1 to 3"
    assert Range(first=16, end=17).name == "token 17"


def test_every_range_gets_the_tokens_that_its_bound_needs():
    settings = DepthSettings(tolerance=0.1, max_tokens=300)
    depths = ranges(300)
    needed = completions_needed(BINS - 1, 0.1, delta=1e-3, success=1 - 0.05 / len(depths))
    whole, single = (groups(settings, delta=1e-3, whole=whole) for whole in (True, False))
    for one in depths:
        reaching = sum(group.completions for group in whole if group.depths.end >= one.end)
        assert reaching >= 32
        assert reaching * (one.end - one.first) >= needed
        (own,) = [group for group in single if group.depths == one]
        assert needed <= own.completions * own.scored < needed + own.completions


def test_long_completions_fill_the_short_ranges_too_where_every_token_is_scored():
    settings = DepthSettings(tolerance=0.1, max_tokens=300)
    whole, single = (groups(settings, delta=1e-3, whole=whole) for whole in (True, False))
    assert sum(group.completions for group in whole) < sum(group.completions for group in single)


def test_what_edges_hide_leaves_the_draws_the_rest_of_the_tolerance():
    """The bound of a healthy range at its planned size, edges included, is below the tolerance as often as said."""
    settings, edges = DepthSettings(tolerance=0.05, max_tokens=3), 0.0125
    usual = chdtri(BINS - 1, 1 - settings.success)

    def bound(set_aside):
        (group,) = groups(settings, delta=1e-3, whole=True, edges=set_aside)
        return (noncentrality_at(usual, BINS - 1, 1e-3) / (3 * group.completions)) ** 0.5 / 2 + edges

    assert bound(edges) <= settings.tolerance < bound(0.0)


def test_edges_that_leave_nothing_of_the_tolerance_are_refused():
    with pytest.raises(ValueError, match=r"edges = 0.05 sets aside all of the tolerance 0.05"):
        DepthSettings(tolerance=0.05, edges=0.05)
