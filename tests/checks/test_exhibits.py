"""Series behind findings: nothing is lost in them, and what deviates most is always shown."""

import numpy as np
import pytest

from specaudit.checks.betting import summed_up
from specaudit.checks.exhibits import acceptance_by_position, acceptance_by_window, cells, points
from specaudit.checks.windows import BlockWindow
from specaudit.counters.acceptance import acceptance
from specaudit.model.exhibit import Column
from specaudit.stats.evalues.wealth import Wealth
from tests.counters.test_acceptance import simulated_windows

WINDOWS = simulated_windows(3, seed=0)


def columns(exhibit):
    return {column.name: column.values for column in exhibit.columns}


def test_cells_beyond_those_shown_are_put_together_and_the_worst_is_kept():
    observed = np.full(100, 50)
    observed[70], observed[3] = 5, 95
    shown = columns(cells("words", [f"w{i}" for i in range(100)], observed, np.full(100, 50.0)))
    assert len(shown["cell"]) == 24
    assert {"w70", "w3", "77 others"} <= set(shown["cell"])
    assert sum(shown["observed"]) == observed.sum()
    assert sum(shown["expected"]) == 5000
    assert shown["residual"][shown["cell"].index("w70")] == pytest.approx(-45 / 50**0.5)


def test_few_cells_are_all_shown_in_their_order():
    shown = columns(cells("words", ["b", "a"], [1, 0], [0.5, 0.5]))
    assert shown["cell"] == ("b", "a")
    assert shown["residual"] == (0.5, -0.5)  # less than one draw expected counts as one


def test_very_many_points_are_cut_and_the_reader_is_told():
    many = tuple(float(i) for i in range(700))
    found = points("p", Column(name="x", values=many), Column(name="y", values=many), Column(name="l", values=many))
    assert {len(column.values) for column in found.columns} == {500}
    assert found.note == "200 further points are not shown."


class Scripted(Wealth):
    """One component with the log factors that are given."""

    def __init__(self, factors):
        super().__init__(["it"], np.zeros(1))
        self._multiply(np.array(factors, dtype=float)[:, None])


def test_a_path_begins_with_nothing_ends_with_all_and_holds_the_largest_value():
    factors = np.full(1000, -0.01)
    factors[:123] = 0.1
    found = summed_up(Scripted(factors), [4] * 1000, 1e-3)
    assert found.path[0] == (0, 0.0)
    assert found.path[-1][0] == 4000 == found.tokens
    assert max(log_e for _, log_e in found.path) == found.log_e == pytest.approx(12.3)
    assert len(found.path) <= 121


def test_an_infinite_wealth_has_no_number():
    found = summed_up(Scripted([0.5, np.inf, 0.5]), [1] * 3, 1e-3)
    assert [log_e for _, log_e in found.path] == [0.0, 0.5, None, None]


def test_windows_are_shown_in_order_void_ones_with_their_reason():
    windows = [BlockWindow(block=i, status=w.status, reasons=w.reasons, window=w) for i, w in enumerate(WINDOWS)]
    lost = BlockWindow(block=9, status="void", reasons=("no page", "no answer"), window=None)
    shown = columns(acceptance_by_window([*windows, lost]))
    assert shown["window"] == (1.0, 2.0, 3.0, 4.0)
    assert [length is not None and 3 < length < 4 for length in shown["verifier length"]] == [True] * 3 + [False]
    assert shown["status"] == ("valid", "valid", "valid", "void")
    assert shown["reason"][-1] == "no page; no answer"
    assert acceptance_by_window([lost]) is None


def test_positions_are_shown_beside_what_was_claimed():
    measured = acceptance(WINDOWS, 0.99)
    shown = columns(acceptance_by_position(measured, claimed=(0.9, 0.8)))
    assert shown["position"] == ("1", "2", "3", "4")
    assert shown["observed"] == tuple(one.value for one in measured.per_position)
    assert shown["low"] == (None,) * 4  # three windows give no interval
    assert shown["claimed"] == (0.9, 0.8, None, None)
    assert "claimed" not in columns(acceptance_by_position(measured))
