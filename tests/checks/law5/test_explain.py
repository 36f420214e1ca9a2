import pytest

from specaudit.checks.law5.explain import shared

BIASED = [("logit_bias",), ("logit_bias", "top_p"), ("logit_bias", "temperature", "grammar")]
OTHERS = [(), ("top_p",), ("temperature", "grammar"), ("top_k", "top_p")]


def test_the_parameter_that_all_violating_cells_share_is_named():
    assert shared(BIASED, OTHERS).told() == "where logit_bias is on"


def test_cells_in_which_it_has_little_effect_do_not_hide_it():
    assert shared(BIASED, [*OTHERS, ("logit_bias", "top_k")]).told() == "where logit_bias is on"


def test_one_of_two():
    violating = [("temperature",), ("top_p",), ("temperature", "top_p"), ("top_p", "grammar")]
    assert shared(violating, [(), ("grammar",), ("top_k",)]).told() == "where temperature or top_p is on"


def test_two_together():
    violating = [("top_k", "top_p"), ("top_k", "top_p", "min_p"), ("top_k", "top_p", "grammar")]
    others = [(), ("top_k",), ("top_p",), ("top_k", "min_p"), ("top_p", "grammar")]
    assert shared(violating, others).told() == "where top_k and top_p are on"


def test_a_fault_that_needs_no_parameter():
    assert shared([(), *BIASED], OTHERS).told() == "whatever the parameters are"


def test_what_cannot_be_explained_is_not_explained():
    cells = [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]
    told = shared(cells, [("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",), ("h",), ()]).told()
    assert told == "in cells that share no parameter"


def test_a_single_cell_is_explained_by_what_it_alone_has():
    assert shared([("min_p", "top_p")], [(), ("top_p",), ("temperature",)]).told() == "where min_p is on"


@pytest.mark.parametrize("violating", [[("a",), ("b", "c")], [("a", "b", "c")]])
def test_exceptions_are_counted(violating):
    found = shared(violating, [()])
    assert found.unexplained == 0
    assert found.spared == 0
