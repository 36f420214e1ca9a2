"""Seeds never meet between arms, checks, parts and choices."""

import itertools

import pytest

from specaudit.checks.seeds import PARTS, SEEDS, first_seed
from tests.model.builders import plan

CHECKS = ("GRD1", "LAW1", "CTR1", "CTR3")


@pytest.mark.parametrize("seed", [0, 1, 77, 2**32 - 1])
def test_arms_checks_and_parts_have_ranges_of_their_own(seed):
    head = plan(seed=seed, checks=CHECKS)
    firsts = sorted(
        first_seed(head, check, role, part)
        for check, role, part in itertools.product(CHECKS, ("subject", "reference"), range(PARTS))
    )
    assert all(after - before >= SEEDS for before, after in itertools.pairwise(firsts))
    assert firsts[0] >= 0
    assert firsts[-1] + SEEDS <= 2**31


def test_another_seed_of_the_plan_gives_other_draws():
    firsts = sorted(first_seed(plan(seed=seed), "LAW1", "subject") for seed in range(200))
    near = sum(after - before < SEEDS for before, after in itertools.pairwise(firsts))
    assert len(set(firsts)) == 200
    assert near <= 15  # 200 ranges of 2^18 thrown into 2^30 at random: ten neighbours are expected to touch
