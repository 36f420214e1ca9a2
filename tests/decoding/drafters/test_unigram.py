import numpy as np
import pytest

from specaudit.decoding.drafters.unigram import UnigramDrafter

from .conformance import check_contract, check_drawn_from_q
from .fakes import law, sequences


def make(slots=0):
    return UnigramDrafter([3, 1, 0, 4])


def test_contract():
    rows = sequences([[], [1, 2, 3], [0]])
    drafts = check_contract(make, rows, np.array([2, 3, 0]), law, width=3)
    np.testing.assert_allclose(drafts.q[1], np.tile([0.375, 0.125, 0, 0.5], (3, 1)), atol=1e-15)


def test_drafts_have_their_law():
    check_drawn_from_q(make, sequences([[1]]), law, width=2)


@pytest.mark.parametrize("bad", [[], [0.0, 0.0], [0.5, -0.1], [np.nan, 1.0], [[1.0]]])
def test_what_is_no_law_is_refused(bad):
    with pytest.raises(ValueError, match="probabilities must be finite"):
        UnigramDrafter(bad)
