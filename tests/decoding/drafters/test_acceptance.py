import numpy as np
import pytest

from specaudit.decoding.drafters.acceptance import measure_acceptance
from specaudit.decoding.drafters.prompt_lookup import PromptLookupDrafter
from specaudit.decoding.drafters.small_model import SmallModelDrafter
from specaudit.decoding.drafters.unigram import UnigramDrafter

from .fakes import HistoryModel, sequences


class Forgetful(HistoryModel):
    """One law in all contexts."""

    def behind(self, history):
        return np.log([0.5, 0.3, 0.15, 0.05])


def test_a_uniform_drafter_has_the_acceptance_of_theory():
    contexts = sequences([[]] * 3000)
    found = measure_acceptance(UnigramDrafter(np.ones(4)), Forgetful(4), contexts, draft_tokens=3, seed=0)
    np.testing.assert_allclose(found.per_position, 0.7, atol=1e-12)
    # .7 + .49 + .343; the survival of drawn drafts is the part that chance has a hand in.
    assert found.accepted == pytest.approx(1.533, abs=0.03)


def test_the_target_itself_is_always_accepted():
    contexts = sequences([[1, 2], [], [0, 3, 3, 1]])
    found = measure_acceptance(SmallModelDrafter(HistoryModel(4), 3), HistoryModel(4), contexts, draft_tokens=3, seed=0)
    np.testing.assert_allclose(found.per_position, 1, atol=1e-12)
    assert found.accepted == pytest.approx(3)


def test_each_draft_is_judged_behind_its_own_context_and_drafts():
    row, model, drafter = [2, 0, 1], HistoryModel(4), HistoryModel(4, sharpness=1.0)
    found = measure_acceptance(SmallModelDrafter(drafter, 1), model, sequences([row]), draft_tokens=1, seed=0)
    p, q = (np.exp(logits) / np.exp(logits).sum() for logits in (model.behind(row), drafter.behind(row)))
    assert found.accepted == pytest.approx(np.minimum(p, q).sum())


def test_what_is_not_drafted_is_not_counted():
    rows = sequences([[1, 2, 1], [1, 2, 3]])
    found = measure_acceptance(PromptLookupDrafter(4, max_match=1), Forgetful(4), rows, draft_tokens=3, seed=0)
    # The first row proposes 2 and 1, which the target says with .15 and .3; the second row nothing.
    np.testing.assert_allclose(found.per_position[:2], [0.15, 0.3])
    assert np.isnan(found.per_position[2])
    assert found.accepted == pytest.approx((0.15 + 0.15 * 0.3) / 2)
