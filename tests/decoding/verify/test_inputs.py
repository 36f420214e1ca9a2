import re

import numpy as np
import pytest
from hypothesis import given

from specaudit.decoding.verify.inputs import check_inputs, read_laws

from ..strategies import steady, verifications


def arguments():
    """Two rows, K = 2, V = 3; the second row drafts one token."""
    return {
        "draft": np.array([[0, 1], [2, -1]]),
        "q": np.full((2, 2, 3), 1 / 3),
        "p": np.full((2, 3, 3), 1 / 3),
        "num_draft": np.array([2, 1]),
    }


def check(draft, q, p, num_draft, view=lambda laws: laws):
    check_inputs(draft, *read_laws(draft, view(q), view(p), num_draft), num_draft)


def computed(laws):
    return lambda rows, positions: laws[rows, positions]


@steady
@given(arguments=verifications())
def test_consistent_inputs_pass(arguments):
    check(*arguments)
    check(*arguments, view=computed)


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("num_draft", 1, 3, "row 1: num_draft is 3, must be 0 to 2"),
        ("num_draft", 0, -1, "row 0: num_draft is -1, must be 0 to 2"),
        ("draft", (0, 1), 3, "row 0, draft 1: token 3 is not one of 3 tokens"),
        ("draft", (1, 0), -1, "row 1, draft 0: token -1 is not one of 3 tokens"),
        ("q", (0, 1, 2), np.nan, "row 0: q[1] gives token 2 the probability nan"),
        ("p", (1, 1, 0), -0.25, "row 1: p[1] gives token 0 the probability -0.25"),
        ("p", (0, 2, 1), np.inf, "row 0: p[2] gives token 1 the probability inf"),
        ("q", (1, 0), [0.5, 0.2, 0.2], "row 1: q[0] sums to 0.9, must be 1"),
        ("p", (0, 2), [0.5, 0.5, 0.5], "row 0: p[2] sums to 1.5, must be 1"),
        ("q", (0, 0), [0, 0.5, 0.5], "row 0, draft 0: token 0 has q = 0, so it was not drawn from q"),
    ],
)
def test_contradictions_name_the_row_and_the_value(name, index, value, message):
    bad = arguments()
    bad[name][index] = value
    for view in (np.asarray, computed):
        with pytest.raises(ValueError, match=re.escape(message)):
            check(**bad, view=view)


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [("draft", (1, 1), 99), ("q", (1, 1), np.nan), ("p", (1, 2), -1), ("q", (1, 1), 0)],
)
def test_what_lies_beyond_num_draft_is_not_judged(name, index, value):
    good = arguments()
    good[name][index] = value
    check(**good)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("draft", (2, 3)),
        ("draft", (2,)),
        ("q", (2, 3, 3)),
        ("q", (2, 2, 4)),
        ("p", (2, 2, 3)),
        ("num_draft", (2, 1)),
        ("p", (3, 3)),
    ],
)
def test_shapes_that_disagree_are_shown(name, shape):
    bad = arguments()
    bad[name] = np.resize(bad[name], shape)
    with pytest.raises(ValueError, match=re.escape(str(list(shape)))):
        read_laws(**bad)


def test_a_function_has_the_shape_of_its_answers():
    good = arguments()
    with pytest.raises(ValueError, match=re.escape("got [2, 2], [2, 2, 4], [2, 3, 3], [2]")):
        read_laws(**good | {"q": lambda rows, positions: np.full((len(rows), 4), 0.25)})


def test_a_bad_row_is_named_wherever_it_lies_in_a_long_batch():
    rows = 20_000
    draft, p = np.zeros((rows, 1), dtype=int), np.full((rows, 2, 2), 0.5)
    q = p[:, :1].copy()
    q[17_001, 0] = [0, 1]
    with pytest.raises(ValueError, match="row 17001, draft 0: token 0 has q = 0"):
        check(draft, q, p, np.ones(rows, dtype=int))
    p[19_999, 1, 1] = -1
    with pytest.raises(ValueError, match=re.escape("row 19999: p[1] gives token 1 the probability -1")):
        check(draft, q, p, np.ones(rows, dtype=int))


def test_float32_rows_are_summed_without_its_rounding():
    rng = np.random.default_rng(1)
    weights = rng.random((1, 1, 50_000), dtype=np.float32)
    p = weights / weights.sum(axis=2, keepdims=True)
    check(np.empty((1, 0), dtype=int), p[:, :0], p, np.array([0]))
