"""What all heads must keep; random weights serve as well as fitted ones."""

import numpy as np
import pytest

from specaudit.decoding.drafters.feature_head import Eagle3Drafter, EagleDrafter
from specaudit.decoding.drafters.fitting import fit
from specaudit.decoding.drafters.mtp import MultiTokenDrafter
from specaudit.decoding.drafters.parallel_heads import ParallelHeadsDrafter

from .conformance import check_contract, check_drawn_from_q, subset
from .fakes import law, sequences

HEADS = {
    "EAGLE": lambda target, **options: EagleDrafter(target, seed=1, **options),
    "EAGLE-3": lambda target, **options: Eagle3Drafter(target, seed=1, **options),
    "MTP": lambda target, **options: MultiTokenDrafter(target, seed=1, **options),
    "Medusa": ParallelHeadsDrafter,
}


@pytest.fixture(params=HEADS)
def make(request, lab):
    return lambda slots=0, **options: HEADS[request.param](lab.target, **options)


def rows(lab):
    features = np.vstack([lab.held_out.features[:3], lab.held_out.features[:1]])
    return sequences([[3, 1], [5], [], [7, 7, 2, 30]], features=features)


def test_contract(make, lab):
    check_contract(make, rows(lab), np.array([4, 2, 1, 0]), law, width=4)


def test_drafts_have_their_law(make, lab):
    check_drawn_from_q(make, subset(lab.held_out, [0]), law, width=2, cells=1024)


def test_a_greedy_head_declares_one_hot_laws(make, lab):
    drafts = make(greedy=True).draft(rows(lab), np.full(4, 3), np.full((4, 3), 0.99), law)
    assert (drafts.q.max(axis=2) == 1).all()
    np.testing.assert_array_equal(drafts.q.argmax(axis=2), drafts.tokens)


def test_fitting_is_a_function_of_the_seed(make, lab):
    laws = []
    for seed in (0, 0, 1):
        head = make()
        fit(head, lab.corpus, seed=seed, steps=3)
        laws.append(head.draft(rows(lab), np.full(4, 3), np.zeros((4, 3)), law).q)
    np.testing.assert_array_equal(laws[0], laws[1])
    assert (laws[0] != laws[2]).any()


def test_without_features_there_is_no_draft(make):
    drafter = make()
    with pytest.raises(ValueError, match="drafts from the target's features, but the sequences have none"):
        drafter.draft(sequences([[1]]), np.array([1]), np.zeros((1, 2)), law)
    assert drafter.draft(sequences([[1]]), np.array([0]), np.zeros((1, 2)), law).count == [0]
