import numpy as np
import pytest

from specaudit.decoding.drafters import gradients as g
from specaudit.decoding.drafters.gradients import Node

RNG = np.random.default_rng(0)
ROWS, MORE, WEIGHT = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 3)), RNG.normal(size=(3, 4))
SQUARE = RNG.normal(size=(3, 3))
GAIN = RNG.normal(size=3)
LAWS = RNG.dirichlet(np.ones(3), size=5)


def scalar(node):
    """A scalar in which every entry counts differently."""
    weights = np.random.default_rng(1).normal(size=node.value.shape)
    return Node(np.asarray((weights * node.value).sum()), [(node, lambda d: d * weights)])


OPERATIONS = {
    "linear": (lambda x, w: scalar(g.linear(x, w)), [ROWS, WEIGHT]),
    "add": (lambda x, y: scalar(g.add(x, y)), [ROWS, MORE]),
    "add a row": (lambda x, y: scalar(g.add(x, y)), [ROWS, GAIN]),
    "add to itself": (lambda x: scalar(g.add(x, x)), [ROWS]),
    "total": (lambda x, y: scalar(g.total([x, y, x])), [ROWS, MORE]),
    "scale": (lambda x: scalar(g.scale(x, -1.5)), [ROWS]),
    "concatenate": (lambda x, y: scalar(g.concatenate(x, y)), [ROWS, MORE[:, :2]]),
    "rms_norm": (lambda x, y: scalar(g.rms_norm(x, y)), [ROWS, GAIN]),
    "silu": (lambda x: scalar(g.silu(x)), [ROWS]),
    "multiply": (lambda x, y: scalar(g.multiply(x, y)), [ROWS, MORE]),
    "cross_entropy": (lambda x: g.cross_entropy(x, LAWS), [ROWS]),
    "token_cross_entropy": (lambda x: g.token_cross_entropy(x, np.array([0, 2, 1, 1, 0])), [ROWS]),
    "smooth_l1": (lambda x: g.smooth_l1(x, MORE), [2 * ROWS]),
    "one weight, used twice": (lambda x, w: scalar(g.linear(g.multiply(x, g.linear(x, w)), w)), [ROWS, SQUARE]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients_are_those_of_small_differences(name):
    operation, arrays = OPERATIONS[name]
    nodes = [Node(array) for array in arrays]
    found = g.gradients(operation(*nodes), nodes)
    for i, array in enumerate(arrays):
        for place in np.ndindex(array.shape):
            sides = []
            for step in (1e-6, -1e-6):
                moved = array.copy()
                moved[place] += step
                sides.append(float(operation(*(Node(moved if i == j else a) for j, a in enumerate(arrays))).value))
            assert found[i][place] == pytest.approx((sides[0] - sides[1]) / 2e-6, abs=1e-7)


def test_losses_are_what_they_are_called():
    q = np.exp(ROWS) / np.exp(ROWS).sum(axis=1, keepdims=True)
    assert g.cross_entropy(ROWS, LAWS).value == pytest.approx(-(LAWS * np.log(q)).sum() / 5)
    assert g.token_cross_entropy(ROWS, np.array([0, 2, 1, 1, 0])).value == pytest.approx(
        -np.log(q[range(5), [0, 2, 1, 1, 0]]).mean()
    )
    assert g.smooth_l1(np.array([[0.5, -3.0]]), np.zeros((1, 2))).value == pytest.approx((0.125 + 2.5) / 2)


def test_a_node_that_does_not_matter_has_gradient_0():
    idle, used = Node(GAIN), Node(ROWS)
    unused, gradient = g.gradients(scalar(used), [idle, used])
    assert not unused.any()
    assert gradient.all()


def test_arrays_are_constants():
    assert g.linear(ROWS, Node(WEIGHT)).parents[0][0].value is WEIGHT
    assert len(g.linear(ROWS, Node(WEIGHT)).parents) == 1
