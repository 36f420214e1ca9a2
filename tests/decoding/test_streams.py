from itertools import islice

import numpy as np
import pytest
from scipy import stats

from specaudit.decoding.streams import Dealt, Domain, RowStreams

SEEDS = np.arange(1_000)
DRAWS = 64

# Each of the tests below with a p-value fails a perfect generator with probability 1e-4, once and for all:
# the seeds are fixed.
LEVEL = 1e-4


def uniforms(seeds=SEEDS, domain=Domain.VERIFIER, draws=DRAWS):
    return RowStreams(seeds, domain).random((len(seeds), draws))


def independence(a, b, bins=16):
    """p-value of the chi-square test that pairs are uniform on the unit square."""
    cells = np.bincount(((a * bins).astype(int) * bins + (b * bins).astype(int)).ravel(), minlength=bins**2)
    return stats.chisquare(cells).pvalue


@pytest.mark.parametrize("domain", Domain)
@pytest.mark.parametrize("first_seed", [0, 2**32 - 500, 2**63 - 1_000, -500])
def test_uniforms_are_uniform(first_seed, domain):
    drawn = uniforms(SEEDS + first_seed, domain)
    assert drawn.dtype == np.float64
    assert 0 <= drawn.min() < drawn.max() < 1
    assert stats.kstest(drawn.ravel(), "uniform").pvalue > LEVEL


def test_each_stream_and_each_counter_is_uniform():
    drawn = uniforms(draws=1_000)
    along, across = (stats.kstest(drawn, "uniform", axis=axis).pvalue for axis in (1, 0))
    assert stats.kstest(along, "uniform").pvalue > LEVEL
    assert stats.kstest(across, "uniform").pvalue > LEVEL


def test_the_low_bits_are_uniform():
    low = (uniforms() * 2.0**53).astype(np.uint64) % np.uint64(16)
    assert stats.chisquare(np.bincount(low.ravel().astype(int), minlength=16)).pvalue > LEVEL


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(uniforms()[:-1], uniforms()[1:], id="seeds s and s+1"),
        pytest.param(uniforms()[:-1, 1:], uniforms()[1:, :-1], id="seed s one draw ahead of s+1"),
        pytest.param(uniforms()[:-1, :-1], uniforms()[1:, 1:], id="seed s one draw behind s+1"),
        pytest.param(uniforms(), uniforms(SEEDS + 2**32), id="seeds s and s+2^32"),
        pytest.param(uniforms(), uniforms(SEEDS ^ (1 << 62)), id="seeds that differ in a high bit"),
        pytest.param(uniforms()[:, :-1], uniforms()[:, 1:], id="successive draws"),
        pytest.param(uniforms()[:, :-4], uniforms()[:, 4:], id="draws of successive steps"),
        pytest.param(uniforms(), uniforms(domain=Domain.DRAFTER), id="drafter and verifier"),
        pytest.param(uniforms()[1:], uniforms(domain=Domain.DRAFTER)[:-1], id="domains of neighbouring seeds"),
        pytest.param(uniforms()[:, 1:], uniforms(domain=Domain.DRAFTER)[:, :-1], id="domains, one draw ahead"),
    ],
)
def test_streams_are_independent(one, other):
    assert independence(one, other) > LEVEL


def test_the_test_of_independence_can_fail():
    drawn = uniforms()
    assert independence(drawn[:, :-1], (drawn[:, :-1] + 0.05 * drawn[:, 1:]) % 1) < 1e-100


def splitmix64(state):
    """The published generator, in Python's integers."""
    while True:
        state += 0x9E3779B97F4A7C15
        word = state % 2**64
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        yield word ^ word >> 31


def test_draws_are_those_of_splitmix64_for_good():
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert list(islice(splitmix64(1234567), 4)) == published
    gamma = 0x9E3779B97F4A7C15
    key = next(splitmix64(published[0] + (Domain.VERIFIER - 1) * gamma))
    words = list(islice(splitmix64(key - gamma), 5))
    assert uniforms(np.array([1234567]), draws=5).tolist() == [[(word >> 11) / 2**53 for word in words]]


def test_draws_do_not_depend_on_how_they_are_asked_for():
    streams = RowStreams(SEEDS, Domain.DRAFTER)
    pieces = [streams.random((len(SEEDS), draws)) for draws in (3, 0, 1, 5)]
    np.testing.assert_array_equal(np.hstack(pieces), uniforms(domain=Domain.DRAFTER, draws=9))


def test_a_row_goes_on_where_it_stands_when_others_leave():
    streams = RowStreams(SEEDS, Domain.VERIFIER)
    streams.random((len(SEEDS), 3))
    stay = np.array([7, 3, 900])
    left = streams.rows(stay)
    streams.random((len(SEEDS), 2))
    assert len(left) == 3
    np.testing.assert_array_equal(left.random((3, 4)), uniforms()[stay, 3:7])
    np.testing.assert_array_equal(left.rows(np.array([1])).random((1, 2)), uniforms()[[3], 7:9])


def test_rows_are_put_back_where_they_belong():
    streams = RowStreams(SEEDS, Domain.VERIFIER)
    some = streams.rows(np.array([5, 2]))
    some.random((2, 3))
    streams.put(np.array([5, 0]), some)
    drawn = streams.random((len(SEEDS), 2))
    np.testing.assert_array_equal(drawn[[5, 0]], uniforms()[[5, 2], 3:5])
    np.testing.assert_array_equal(drawn[1:5], uniforms()[1:5, :2])


def test_streams_join_and_go_to_any_place():
    joined = RowStreams(SEEDS[:3], Domain.DRAFTER).join(RowStreams(SEEDS[3:5], Domain.DRAFTER))
    wanted = uniforms(SEEDS[:5], Domain.DRAFTER)
    np.testing.assert_array_equal(joined.at(np.arange(5)).random((5, 1))[:, 0], wanted[np.arange(5), np.arange(5)])
    np.testing.assert_array_equal(joined.random((5, 2)), wanted[:, :2])


def test_what_was_drawn_before_is_dealt_once_and_whole():
    drawn = uniforms()[:4, :3]
    assert Dealt(drawn).random((4, 3)) is drawn
    with pytest.raises(ValueError, match=r"uniforms of shape \[4, 3\] cannot fill \[4, 2\]"):
        Dealt(drawn).random((4, 2))


def test_the_callers_seeds_stay_as_they_are():
    seeds = np.arange(3, dtype=np.uint64)
    RowStreams(seeds, Domain.DRAFTER)
    assert seeds.tolist() == [0, 1, 2]


def test_an_empty_batch_draws_nothing():
    assert RowStreams(np.empty(0, dtype=int), Domain.DRAFTER).random((0, 4)).shape == (0, 4)


def test_streams_do_not_fill_other_batches():
    with pytest.raises(ValueError, match="1000 streams cannot fill 999 rows"):
        RowStreams(SEEDS, Domain.DRAFTER).random((999, 1))


@pytest.mark.parametrize("seeds", [np.array([0.5]), np.array(3), np.zeros((2, 2), dtype=int)])
def test_seeds_are_a_row_of_integers(seeds):
    with pytest.raises(ValueError, match=r"integers of shape \[B\]"):
        RowStreams(seeds, Domain.DRAFTER)
