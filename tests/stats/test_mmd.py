import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from specaudit.stats.mmd import hamming_mmd

NULL_AUDITS = 2_000
MOST_ALARMS = 131
"""At α = .05: 100 expected, 3.2 standard deviations above."""


def pairwise(first, second, first_prompts, second_prompts):
    """The definition: the mean share of equal positions over pairs of completions to the same prompt."""

    def mean(x, y, x_prompts, y_prompts, *, same):
        pairs = [
            np.mean(x[i] == y[j])
            for i in range(len(x))
            for j in range(len(y))
            if x_prompts[i] == y_prompts[j] and not (same and i == j)
        ]
        return np.mean(pairs)

    length = max(first.shape[1], second.shape[1])
    x, y = (np.pad(arm, ((0, 0), (0, length - arm.shape[1])), constant_values=-1) for arm in (first, second))
    return (
        mean(x, x, first_prompts, first_prompts, same=True)
        + mean(y, y, second_prompts, second_prompts, same=True)
        - 2 * mean(x, y, first_prompts, second_prompts, same=False)
    )


def ragged(rng, prompts, length, vocabulary_size):
    """Completions that stop anywhere, with the prompts they answer."""
    tokens = rng.integers(0, vocabulary_size, size=(len(prompts), length))
    return np.where(np.arange(length) < rng.integers(1, length + 1, size=(len(prompts), 1)), tokens, -1)


@given(seed=st.integers(0, 10_000), lengths=st.tuples(st.integers(1, 9), st.integers(1, 9)))
def test_the_closed_form_is_the_pairwise_definition(seed, lengths):
    rng = np.random.default_rng(seed)
    # Every arm answers prompt 0 twice; prompts that one arm alone answers count in its own pairs.
    asked = [np.r_[0, 0, rng.integers(0, 4, size=rng.integers(0, 8))] for _ in range(2)]
    arms = [ragged(rng, prompts, length, 3) for prompts, length in zip(asked, lengths, strict=True)]
    assert hamming_mmd(*arms, *asked).estimate == pytest.approx(pairwise(*arms, *asked), abs=1e-12)


def test_the_value_that_the_authors_package_gives():
    # model-equality-testing 0.0.2, mmd_hamming of these two samples
    first = np.array([[1, 2, 3, -1], [1, 2, 4, 5], [2, 2, 3, 5], [7, 8, -1, -1], [7, 9, 9, 9]])
    second = np.array([[1, 2, 3, 5], [2, 2, -1, -1], [7, 8, 9, 9], [7, 9, -1, -1]])
    value = hamming_mmd(first, second, [0, 0, 0, 1, 1], [0, 0, 1, 1]).estimate
    assert value == pytest.approx(-0.5125, abs=1e-12)


def test_the_order_of_completions_does_not_matter():
    rng = np.random.default_rng(0)
    prompts = np.repeat([0, 1], 10)
    first, second = ragged(rng, prompts, 6, 3), ragged(rng, prompts, 6, 3)
    order = rng.permutation(20)
    assert hamming_mmd(first[order], second, prompts[order], prompts).estimate == pytest.approx(
        hamming_mmd(first, second, prompts, prompts).estimate, abs=1e-15
    )


def null_arms(rng):
    """Two arms of equal law, whose prompts differ in law and in how often each arm asked them."""
    asked = [np.repeat([0, 1], sizes) for sizes in ((6, 3), (3, 6))]
    arms = [np.where(rng.random((9, 8)) < 0.8, prompts[:, None], rng.integers(2, 5, size=(9, 8))) for prompts in asked]
    return (*arms, *asked)


def test_permuted_values_are_those_of_permuted_completions():
    rng = np.random.default_rng(1)
    first, second, first_prompts, second_prompts = null_arms(rng)
    observed = hamming_mmd(first, second, first_prompts, second_prompts, draws=4000, rng=rng)
    pooled, prompts = np.concatenate([first, second]), np.r_[first_prompts, second_prompts]
    values = []
    for _ in range(1000):
        mixed = np.empty_like(pooled)
        for prompt in (0, 1):
            rows = np.flatnonzero(prompts == prompt)
            mixed[rows] = pooled[rng.permutation(rows)]
        values.append(hamming_mmd(mixed[:9], mixed[9:], first_prompts, second_prompts).estimate)
    by_hand = np.mean(np.array(values) >= observed.estimate - 1e-12)
    assert observed.monte_carlo.p_value == pytest.approx(by_hand, abs=0.06)


def test_permutation_within_prompts_keeps_its_level():
    rng = np.random.default_rng(2)
    results = [hamming_mmd(*null_arms(rng), draws=59, rng=rng).monte_carlo for _ in range(NULL_AUDITS)]
    assert 60 <= sum(result.p_value <= 0.05 for result in results) <= MOST_ALARMS
    assert kstest([result.randomised_p(rng.random()) for result in results], "uniform").pvalue > 1e-3


def test_another_model_gets_the_smallest_p():
    rng = np.random.default_rng(3)
    prompts = np.repeat(np.arange(5), 10)
    first, second = (rng.choice(3, p=law, size=(50, 40)) for law in ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]))
    assert hamming_mmd(first, second, prompts, prompts, draws=999, rng=rng).monte_carlo.p_value == 1 / 1000


def test_a_fault_of_the_joint_law_is_not_seen():
    rng = np.random.default_rng(4)
    independent = rng.integers(0, 2, size=(1000, 2))
    repeated = np.repeat(rng.integers(0, 2, size=(1000, 1)), 2, axis=1)
    prompts = np.zeros(1000, dtype=int)
    assert hamming_mmd(independent, repeated, prompts, prompts, draws=99, rng=rng).monte_carlo.p_value > 0.05


def test_one_token_for_all_decides_nothing():
    same = np.full((4, 3), 7)
    result = hamming_mmd(same, same, [0] * 4, [0] * 4, draws=99, rng=np.random.default_rng(0))
    assert (result.estimate, result.monte_carlo.p_value) == (0, 1)


@pytest.mark.parametrize(
    ("first", "prompts", "message"),
    [
        (np.empty((0, 3), dtype=int), [], "first arm: tokens"),
        (np.array([1, 2]), [0, 0], "first arm: tokens"),
        (np.array([[1.0, np.nan]] * 2), [0, 0], "first arm: tokens"),
        (np.array([[1, -2]] * 2), [0, 0], "first arm: tokens"),
        (np.array([[1, 2]] * 2), [0], "one prompt for each"),
        (np.array([[1, 2]] * 2), [0.0, 0.0], "one prompt for each"),
        (np.array([[1, 2]] * 2), [5, 5], "no prompt that both"),
        (np.array([[1, 2]] * 2), [0, 5], "at least twice"),
    ],
)
def test_arms_that_cannot_be_compared_are_named(first, prompts, message):
    with pytest.raises(ValueError, match=message):
        hamming_mmd(first, np.array([[1, 2]] * 3), prompts, [0, 0, 0])


def test_permutations_need_a_generator():
    with pytest.raises(ValueError, match="random generator"):
        hamming_mmd([[1]] * 2, [[1]] * 2, [0, 0], [0, 0], draws=10)
