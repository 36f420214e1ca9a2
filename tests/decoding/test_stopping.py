import numpy as np
import pytest

from specaudit.decoding.parameters import TO_THE_END, UNFILTERED, StopRules
from specaudit.decoding.rules import RuleTable
from specaudit.decoding.stopping import Stopping

TEXTS = ("a", "b", "c", "bc")


def trim(out, stops, *, n_out=None, before=None, string=None):
    table = RuleTable(4, eos=3, texts=TEXTS)
    rules = table.rules(np.array([table.number(UNFILTERED, stop) for stop in stops]))
    out = np.array(out)
    n_out = (out >= 0).sum(axis=1) if n_out is None else np.array(n_out)
    before = np.zeros(len(out), dtype=int) if before is None else np.array(before)
    return Stopping()(out, n_out, rules, before, rules.string if string is None else string)


def test_a_block_ends_behind_its_first_stop_token():
    trimmed = trim(
        [[0, 3, 1, 3], [0, 2, 3, 1], [0, 2, 3, 1], [1, 0, -1, -1]],
        [TO_THE_END, StopRules(token_ids=(2,)), StopRules(ignore_eos=True), TO_THE_END],
    )
    assert trimmed.emitted.tolist() == [2, 2, 4, 2]
    assert trimmed.stopped.tolist() == [True, True, False, False]


def test_padding_stops_nothing():
    # −1 would read the last token of a table, which is EOS here.
    assert trim([[0, -1, -1]], [TO_THE_END]).stopped.tolist() == [False]


@pytest.mark.parametrize(
    ("strings", "out", "emitted", "stopped"),
    [
        (("bc",), [0, 1, 2, 0], 3, True),
        (("bc",), [0, 3, 0, 0], 2, True),
        (("abca",), [0, 3, 0, 1], 3, True),
        (("ca", "ab"), [0, 1, 2, 0], 2, True),
        (("cc",), [2, 1, 2, 0], 4, False),
        (("b",), [3, 0, 0, 0], 1, True),
    ],
)
def test_a_block_ends_with_the_token_that_completes_a_string(strings, out, emitted, stopped):
    trimmed = trim([out], [StopRules(strings=strings, ignore_eos=True)])
    assert (trimmed.emitted.tolist(), trimmed.stopped.tolist()) == ([emitted], [stopped])


def test_a_string_may_begin_in_an_earlier_block():
    stops = [StopRules(strings=("abc",), ignore_eos=True)] * 2
    first = trim([[0, 1], [0, 2]], stops)
    assert not first.stopped.any()
    assert trim([[2], [2]], stops, string=first.string).stopped.tolist() == [True, False]


def test_strings_are_looked_for_behind_min_tokens():
    stops = [StopRules(strings=("ab",), min_tokens=n, ignore_eos=True) for n in range(4)]
    trimmed = trim([[0, 1, 0, 1]] * 4, stops)
    assert trimmed.emitted.tolist() == [2, 4, 4, 4]
    assert trimmed.stopped.tolist() == [True, True, True, False]
    assert trim([[0, 1]], stops[3:], before=[3]).stopped.tolist() == [True]


@pytest.mark.parametrize(
    ("rules", "message"), [({"strings": ("",)}, "must not be empty"), ({"min_tokens": -1}, "at least 0")]
)
def test_rules_that_are_none_are_refused(rules, message):
    with pytest.raises(ValueError, match=message):
        StopRules(**rules)


def test_strings_need_texts():
    with pytest.raises(ValueError, match="stop strings need tokens that have a text"):
        RuleTable(4).number(UNFILTERED, StopRules(strings=("a",)))
