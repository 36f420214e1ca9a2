from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.claims.tokens import (
    Shape,
    acceptance_for,
    chain_tokens,
    chain_tokens_without_bonus,
    ragged_tokens,
    tree,
)

rates = st.floats(0, 1)


@given(rates, st.integers(0, 12))
def test_a_chain_is_a_tree_that_does_not_branch(alpha: float, k: int) -> None:
    assert Shape.chain(k).tokens(alpha) == pytest.approx(float(chain_tokens(alpha, k)))
    assert float(chain_tokens(alpha, k)) == pytest.approx(sum(alpha**i for i in range(k + 1)))
    assert float(chain_tokens_without_bonus(alpha, k)) == pytest.approx(float(chain_tokens(alpha, k)) - alpha**k)


@given(st.floats(0.01, 0.99), st.integers(1, 12))
def test_the_acceptance_that_gives_so_many_tokens(alpha: float, k: int) -> None:
    assert acceptance_for(float(chain_tokens(alpha, k)), k) == pytest.approx(alpha, abs=1e-6)
    assert acceptance_for(k + 1.001, k) is None


def test_rows_that_draft_differently() -> None:
    assert ragged_tokens([0.8, 0.7, 0.5], [4, 3, 0]) == pytest.approx((3.3616 + 2.533 + 1) / 3)


def by_enumeration(parents: tuple[int, ...], alpha: float, later: float) -> float:
    """Let a coin of its own decide each node, and walk: the first child that its coin accepts is gone to."""
    total = 0.0
    first = [parents.index(parent) == node for node, parent in enumerate(parents)]
    for coins in product((True, False), repeat=len(parents)):
        chance = 1.0
        for coin, is_first in zip(coins, first, strict=True):
            rate = alpha if is_first else later * alpha
            chance *= rate if coin else 1 - rate
        at, depth = 0, 0
        while (step := next((n for n, p in enumerate(parents, 1) if p == at and coins[n - 1]), None)) is not None:
            at, depth = step, depth + 1
        total += chance * (depth + 1)
    return total


@pytest.mark.parametrize("parents", [(0, 0, 1, 1, 2, 2, 3, 4, 5, 6), (0, 1, 2), (0, 0, 0), (0, 0, 1, 3)])
@pytest.mark.parametrize(("alpha", "later"), [(0.6, 0.5), (0.9, 0.2), (0.3, 1.0)])
def test_a_tree_by_every_way_the_coins_can_fall(parents: tuple[int, ...], alpha: float, later: float) -> None:
    assert tree(parents).tokens(alpha, later) == pytest.approx(by_enumeration(parents, alpha, later))


def test_levels_and_masks() -> None:
    shape = tree([0, 0, 1, 1, 2, 2, 3, 4, 5, 6])
    assert shape.depths == (1, 1, 2, 2, 2, 2, 3, 3, 3, 3)
    assert shape.levels == (2, 4, 4)
    assert shape.branches
    assert not Shape.chain(5).branches
    assert shape.mask_bytes([0, 1000]).tolist() == [11 * 11 / 8, 11 * 1011 / 8]
    assert np.array_equal(Shape.chain(5).mask_bytes([0, 1000]), [0, 0])
    assert Shape.chain(0).levels == ()


def test_a_node_before_its_parent_is_refused() -> None:
    with pytest.raises(ValueError, match="node 1 has the parent 1"):
        tree([1, 0])
