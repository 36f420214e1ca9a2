"""Seeds never meet between arms, parts and choices."""

import itertools

import pytest

from specaudit.checks.seeds import PARTS, SEEDS, first_seed
from tests.model.builders import plan


@pytest.mark.parametrize("seed", [0, 1, 77])
def test_arms_and_parts_have_ranges_of_their_own(seed):
    head = plan(seed=seed)
    firsts = [
        first_seed(head, "LAW1", role, part) for role, part in itertools.product(("subject", "reference"), range(PARTS))
    ]
    ordered = sorted(firsts)
    assert all(after - before >= SEEDS for before, after in itertools.pairwise(ordered))
    assert ordered[-1] + SEEDS <= 2**31


def test_arms_never_share_a_seed_whatever_the_check():
    head = plan()
    checks = [f"C{number}" for number in range(300)]
    subject = {first_seed(head, check, "subject") for check in checks}
    reference = {first_seed(head, check, "reference") for check in checks}
    assert max(subject) + SEEDS <= min(reference)


def test_another_plan_seed_gives_other_seeds():
    assert first_seed(plan(seed=0), "LAW1", "subject") != first_seed(plan(seed=1), "LAW1", "subject")
