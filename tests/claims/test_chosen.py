"""The cases whose inputs were chosen: by formulas written again here, and as they stand on the published page."""

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from specaudit.claims.tokens import Shape, tree
from tests.benchmarks.step_time import blind, capacities, slowed
from tests.claims.cases import CHOSEN
from tests.claims.chosen_cases import flip, shares, tree_stops_winning

PAGE = Path(__file__).parents[2] / "reports" / "calibration" / "step-time.txt"

WEIGHTS, BANDWIDTH, FLOPS = 70_553_706_496.0, 8 * 3.35e12 * 0.75, 8 * 1979e12 * 0.5


def step(batch: float, tokens: float, context: float = 1024) -> float:
    return max((WEIGHTS + 163_840 * batch * context) / BANDWIDTH, 2 * WEIGHTS * batch * tokens / FLOPS) + 2e-3


def geometric(alpha: float, drafts: int) -> float:
    return sum(alpha**i for i in range(drafts + 1))


def test_the_drafters_are_the_ones_that_are_spoken_of() -> None:
    heads, small = shares()
    assert heads == pytest.approx(0.06, abs=0.005)
    assert 0.4 < small < 0.5


@pytest.mark.parametrize("batch", [1, 24, 25, 50, 51, 300])
def test_blind_heads_against_a_small_model_by_hand(batch: int) -> None:
    head, small = 8192**2 + 128_256 * 8192, 8_030_261_248
    blind_time = max(4 * head / BANDWIDTH, 2 * 4 * head * batch / FLOPS) + 0.4e-3
    one_pass = max((small + 65_536 * batch * 1024) / BANDWIDTH, 2 * small * batch / FLOPS) + 0.4e-3
    by_hand = [
        geometric(0.6, 4) * step(batch, 1) / (step(batch, 5) + blind_time),
        geometric(0.8, 4) * step(batch, 1) / (step(batch, 5) + 4 * one_pass),
    ]
    found = flip()
    assert [found.blind[batch - 1], found.model[batch - 1]] == pytest.approx(by_hand, rel=1e-4)
    assert (by_hand[0] > by_hand[1]) == (25 <= batch < 51)
    assert found.at == (25, 51)


def test_where_the_tree_stops_winning_by_hand() -> None:
    given = CHOSEN["tree"]
    ten, five = tree(given["parents"]), Shape.chain(given["chain"])

    def speeds(alpha: float) -> tuple[float, float]:
        def a_pass(tokens: int) -> float:
            return max(0.016 * WEIGHTS / BANDWIDTH, 2 * 0.016 * WEIGHTS * tokens / FLOPS) + 0.4e-3

        mask = 80 * 11 * (1024 + 11) / 8 / BANDWIDTH
        of_tree = ten.tokens(alpha, 0.5) / (step(1, 11) + mask + a_pass(2) + 2 * a_pass(4))
        return of_tree, geometric(alpha, 5) / (step(1, 6) + 5 * a_pass(1))

    assert five.nodes == 5
    last = tree_stops_winning(1)
    assert last is not None
    assert np.greater(*speeds(last - 0.002))
    assert np.less(*speeds(last + 0.002))


def test_the_page_says_what_follows() -> None:
    said = StringIO()
    with redirect_stdout(said):
        blind()
        slowed()
        capacities()
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line for line in said.getvalue().splitlines() if line not in page] == []
