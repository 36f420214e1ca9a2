import numpy as np
import pytest

from specaudit.checks.tables import LawTable
from specaudit.laws.edge import Edge

CLEAR = Edge(tokens=frozenset(), beyond=False)


def test_tokens_stand_in_the_order_of_their_probability():
    laws = LawTable([{7: 0.2, 3: 0.8}, {1: 1.0}])
    np.testing.assert_allclose(laws.table.p, [[0.8, 0.2, 0], [1, 0, 0]])
    assert [laws.cell(0, 3), laws.cell(0, 7), laws.cell(1, 1)] == [0, 1, 0]


@pytest.mark.parametrize("edges", [None, [CLEAR]])
def test_a_token_outside_a_law_that_is_sure_is_impossible(edges):
    laws = LawTable([{7: 0.2, 3: 0.8}], edges=edges)
    assert laws.table.p[0, laws.cell(0, 5)] == 0
    assert laws.hidden().tolist() == [0]


def test_a_token_that_rounding_may_have_cut_shares_the_cell_of_those_in_doubt():
    laws = LawTable([{7: 0.2, 3: 0.8}], edges=[Edge(tokens=frozenset([7, 5]), beyond=False)])
    assert laws.cell(0, 5) == laws.cell(0, 7) == 1
    assert laws.table.edge[0].tolist() == [False, True, False]
    assert laws.hidden().tolist() == [0.2]
    assert laws.table.p[0, laws.cell(0, 9)] == 0


def test_where_the_edge_is_not_known_no_token_is_impossible():
    laws = LawTable([{7: 0.2, 3: 0.8}], edges=[Edge(tokens=frozenset([7]), beyond=True)])
    assert laws.cell(0, 9) == 1


def test_on_a_law_with_one_token_nothing_is_hidden_and_nothing_impossible_in_doubt():
    laws = LawTable([{3: 1.0}], edges=[Edge(tokens=frozenset([3]), beyond=True)])
    assert laws.cell(0, 9) == 0
    assert not laws.table.edge.any()


def test_the_drafts_law_is_put_in_the_same_cells():
    laws = LawTable([{7: 0.2, 3: 0.8}], drafts=[{3: 0.5, 7: 0.25, 9: 0.25}])
    np.testing.assert_allclose(laws.table.q, [[0.5, 0.25, 0.25]])
