"""Reverse-mode differentiation of the few operations that drafter heads are made of.

An operation takes nodes, or plain arrays where no derivative is wanted, and returns a node.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import reduce

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.models.linear import project
from specaudit.decoding.processors import softmax

_EPSILON = 1e-6


class Node:
    """An array that was computed, and how the gradient of a loss passes through it.

    Args:
        value: the array.
        parents: the nodes it was computed from, each with the function that turns this node's gradient into the
            share that the parent gets.
    """

    def __init__(
        self, value: FloatArray, parents: "Iterable[tuple[Operand, Callable[[FloatArray], FloatArray]]]" = ()
    ) -> None:
        self.value = value
        self.parents = [(parent, back) for parent, back in parents if isinstance(parent, Node)]


Operand = Node | FloatArray


def value(operand: Operand) -> FloatArray:
    """Return the array itself."""
    return operand.value if isinstance(operand, Node) else operand


def gradients(loss: Node, nodes: Iterable[Node]) -> list[FloatArray]:
    """Differentiate a scalar by some of the nodes that it was computed from; 0 for the others."""
    found: dict[Node, FloatArray] = {loss: np.ones_like(loss.value)}
    for node in _latest_first(loss):
        for parent, back in node.parents:
            share = back(found[node])
            found[parent] = found[parent] + share if parent in found else share
    return [found.get(node, np.zeros_like(node.value)) for node in nodes]


def _latest_first(loss: Node) -> Iterator[Node]:
    """Yield each node before those that it was computed from."""
    order: list[Node] = []
    seen: set[Node] = set()

    def visit(node: Node) -> None:
        if node not in seen:
            seen.add(node)
            for parent, _ in node.parents:
                visit(parent)
            order.append(node)

    visit(loss)
    return reversed(order)


def linear(rows: Operand, weight: Operand) -> Node:
    """Multiply `[b, D]` by `[D, E]`."""
    x, w = value(rows), value(weight)
    return Node(project(x, w), [(rows, lambda d: d @ w.T), (weight, lambda d: x.T @ d)])


def add(left: Operand, right: Operand) -> Node:
    """Add arrays of one shape, or a row `[D]` to the rows `[b, D]`."""
    x, y = value(left), value(right)
    return Node(x + y, [(left, lambda d: d), (right, lambda d: d.sum(axis=0) if y.ndim < x.ndim else d)])


def total(nodes: Iterable[Node]) -> Node:
    """Add up some nodes of one shape, at least one."""
    return reduce(add, nodes)


def scale(node: Operand, factor: float) -> Node:
    """Multiply by a number."""
    return Node(value(node) * factor, [(node, lambda d: d * factor)])


def concatenate(left: Operand, right: Operand) -> Node:
    """Join the rows `[b, D]` and `[b, E]`."""
    x, y = value(left), value(right)
    size = x.shape[1]
    return Node(np.hstack([x, y]), [(left, lambda d: d[:, :size]), (right, lambda d: d[:, size:])])


def rms_norm(rows: Operand, gain: Operand) -> Node:
    """Divide each row `[b, D]` by its root mean square, times a gain `[D]`."""
    x, g = value(rows), value(gain)
    inverse = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + _EPSILON)
    normed = x * inverse

    def back(d: FloatArray) -> FloatArray:
        d = d * g
        return np.asarray(inverse * (d - normed * (d * normed).mean(axis=1, keepdims=True)))

    return Node(normed * g, [(rows, back), (gain, lambda d: (d * normed).sum(axis=0))])


def silu(rows: Operand) -> Node:
    """Apply `x · sigmoid(x)`."""
    x = value(rows)
    gate = 1 / (1 + np.exp(-x))
    return Node(x * gate, [(rows, lambda d: d * gate * (1 + x * (1 - gate)))])


def multiply(left: Operand, right: Operand) -> Node:
    """Multiply arrays of one shape."""
    x, y = value(left), value(right)
    return Node(x * y, [(left, lambda d: d * y), (right, lambda d: d * x)])


def cross_entropy(logits: Operand, laws: FloatArray) -> Node:
    """Mean cross entropy of `softmax(logits)` under the laws, both `[b, V]`."""
    x = value(logits)
    shifted = x - x.max(axis=1, keepdims=True)
    log_q = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    loss = -(laws * log_q).sum(axis=1).mean()
    return Node(np.asarray(loss), [(logits, lambda d: d * (softmax(x) - laws) / len(x))])


def token_cross_entropy(logits: Operand, tokens: IntArray) -> Node:
    """Mean of `−log softmax(logits)` `[b, V]` at the tokens `[b]`."""
    return cross_entropy(logits, np.asarray(np.arange(value(logits).shape[1]) == tokens[:, None], dtype=np.float64))


def smooth_l1(rows: Operand, wanted: FloatArray) -> Node:
    """Mean of Huber's loss with its corner at 1: quadratic near, linear far, both `[b, D]`."""
    error = value(rows) - wanted
    clipped = np.clip(error, -1, 1)
    loss = (clipped * (error - clipped / 2)).mean()
    return Node(np.asarray(loss), [(rows, lambda d: d * clipped / error.size)])
