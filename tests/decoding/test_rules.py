import numpy as np
import pytest

from specaudit.decoding.parameters import TO_THE_END, UNFILTERED, SamplingParameters, StopRules
from specaudit.decoding.rules import RuleTable

MANY = SamplingParameters(
    temperature=0.5,
    top_k=2,
    top_p=0.9,
    min_p=0.1,
    repetition_penalty=1.2,
    presence_penalty=0.3,
    frequency_penalty=0.4,
    logit_bias=((1, 2.0), (1, 1.0)),
    bad_words=((0, 1),),
    allowed_token_ids=(0, 1),
)


def test_equal_rules_are_held_once():
    table = RuleTable(3)
    assert [table.number(SamplingParameters(top_k=k), TO_THE_END) for k in (1, 2, 1, 0, 2)] == [0, 1, 0, 2, 1]
    assert table.number(UNFILTERED, StopRules(min_tokens=1)) == 3


def test_columns_hold_what_the_rows_asked_for():
    table = RuleTable(3, eos=2)
    numbers = np.array(
        [table.number(MANY, StopRules(token_ids=(0,), min_tokens=4)), table.number(UNFILTERED, TO_THE_END)]
    )
    rules = table.rules(numbers[[1, 0, 1]])
    assert rules.number.tolist() == [1, 0, 1]
    assert rules.temperature.tolist() == [1, 0.5, 1]
    assert rules.top_k.tolist() == [0, 2, 0]
    assert rules.top_p.tolist() == [1, 0.9, 1]
    assert rules.min_p.tolist() == [0, 0.1, 0]
    assert rules.repetition.tolist() == [1, 1.2, 1]
    assert rules.presence.tolist() == [0, 0.3, 0]
    assert rules.frequency.tolist() == [0, 0.4, 0]
    assert rules.min_tokens.tolist() == [0, 4, 0]
    assert rules.stops.tolist() == [[False, False, True], [True, False, True], [False, False, True]]
    assert rules.bias.tolist() == [[0, 0, 0], [0, 3, 0], [0, 0, 0]]
    assert rules.forbidden.tolist() == [[False] * 3, [False, False, True], [False] * 3]
    assert rules.bad_words == ((0, (0, 1)),)
    assert rules.penalised.tolist() == [False, True, False]
    assert rules.constrained


def test_a_table_without_special_wishes_stays_plain():
    table = RuleTable(3)
    rules = table.rules(np.array([table.number(SamplingParameters(temperature=0, top_k=1), TO_THE_END)]))
    assert not rules.constrained
    assert (rules.bias, rules.forbidden, rules.grammars, rules.strings) == (None, None, None, None)
    assert rules.greedy.tolist() == [True]


@pytest.mark.parametrize(
    ("parameters", "stop", "message"),
    [
        (UNFILTERED, StopRules(token_ids=(3,)), "stop token 3 is not one of 3"),
        (SamplingParameters(logit_bias=((-1, 0.0),)), TO_THE_END, "biased token -1 is not"),
        (SamplingParameters(bad_words=((0, 5),)), TO_THE_END, "token of a bad word 5 is not"),
        (SamplingParameters(allowed_token_ids=(9,)), TO_THE_END, "allowed token 9 is not"),
    ],
)
def test_tokens_outside_the_vocabulary_are_refused(parameters, stop, message):
    with pytest.raises(ValueError, match=message):
        RuleTable(3).number(parameters, stop)
