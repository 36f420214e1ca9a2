"""Bounds hold where the law is right, and show a fault where it is not."""

import numpy as np
import pytest

from specaudit.model.finding import Verdict
from specaudit.verifiers.laws import Part, judge, judge_part

LAWS = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4]])
LABELS = [[f"cell {cell} of {stratum}" for cell in range(4)] for stratum in range(2)]


def part(laws, rows=100_000, seed=0):
    rng = np.random.default_rng(seed)
    stratum = rng.integers(2, size=rows)
    cell = (np.cumsum(laws, axis=1)[stratum] <= rng.random((rows, 1))).sum(axis=1)
    return Part(name="draws", stratum=stratum, cell=cell, laws=LAWS, labels=LABELS)


def shifted(by):
    return LAWS + np.array([[by, 0, -by, 0], [0, by, 0, -by]])


def test_the_law_itself_conforms():
    finding = judge("law", "Draws", [part(LAWS), part(LAWS, seed=1)], 1e-6)
    assert finding.verdict is Verdict.CONFORMS
    assert finding.witness is None
    assert 0.012 < finding.smallest_detectable < 0.016
    assert [view.samples for view in finding.views] == [100_000] * 2


def test_a_deviation_of_the_detectable_size_is_shown_in_the_part_that_has_it():
    finding = judge("law", "Draws", [part(LAWS), part(shifted(0.02), seed=1)], 1e-6)
    assert finding.verdict is Verdict.VIOLATES
    assert finding.views[0].effect.low == 0
    assert 0 < finding.views[1].effect.low < 0.02 < finding.views[1].effect.high
    assert finding.witness.what.startswith("cell ")


def test_the_bounds_hold_in_all_of_many_samples():
    for seed in range(200):
        judged = judge_part(part(shifted(0.05), rows=2000, seed=seed), 1e-3)
        assert judged.low <= 0.05 <= judged.high


def test_one_impossible_draw_decides():
    one = part(LAWS)
    cell = one.cell.copy()
    cell[np.flatnonzero(one.stratum == 0)[0]] = 3
    finding = judge(
        "law", "Draws", [Part(name="draws", stratum=one.stratum, cell=cell, laws=LAWS, labels=LABELS)], 1e-6
    )
    assert finding.verdict is Verdict.VIOLATES
    assert 0 < finding.effect.low < 1e-5
    assert finding.witness.what == "cell 3 of 0, draws"
    assert finding.witness.expected == 0


@pytest.mark.parametrize("rows", [3000])
def test_few_draws_settle_nothing(rows):
    finding = judge("law", "Draws", [part(LAWS, rows=rows)], 1e-6)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.next_step
