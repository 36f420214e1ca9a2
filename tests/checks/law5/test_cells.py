import msgspec
import pytest

from specaudit.checks.law5.cells import Common, cells, parameters, sampling_of
from specaudit.checks.law5.settings import MatrixSettings
from specaudit.model.request import Sampling

SETTINGS = MatrixSettings()
COMMON = Common(token=7, word=("ab",))


def test_every_pair_of_levels_of_two_parameters_stands_in_a_cell():
    found = cells(SETTINGS)
    named = parameters(SETTINGS)
    for first in named:
        for second in named:
            if first is not second:
                for a in first.levels:
                    for b in second.levels:
                        wanted = {name: level for name, level in ((first.name, a), (second.name, b)) if level.label}
                        held = [
                            {name: cell.levels[name] for name in (first.name, second.name) if name in cell.levels}
                            for cell in found
                        ]
                        assert wanted in held, (a.label, b.label)
    assert len(found) == 16


def test_the_first_cell_is_neutral_and_all_are_the_same_each_time():
    assert sampling_of(cells(SETTINGS)[0], COMMON) == Sampling()
    assert cells(SETTINGS) == cells(MatrixSettings())


def test_values_are_asked_for_as_the_suite_says():
    asked = [sampling_of(cell, COMMON) for cell in cells(SETTINGS)]
    assert {one.temperature for one in asked} == {1.0, 0.3, 0.7, 1.5}
    assert {one.top_p for one in asked} == {1.0, 0.9, 0.5}
    assert {one.logit_bias for one in asked} == {(), ((7, 2.0),)}
    assert {one.bad_words for one in asked} == {(), (("ab",),)}
    assert {one.presence_penalty for one in asked} == {0.0, 1.0}
    assert all(
        len({"presence_penalty", "frequency_penalty", "repetition_penalty"} & {*one.changed}) <= 1 for one in asked
    )
    assert len({sampling_of(cell, COMMON) for cell in cells(SETTINGS)}) == 16


def test_what_is_left_out_is_neutral():
    cell = next(cell for cell in cells(SETTINGS) if {"min_p", "logit_bias"} <= cell.fields)
    assert sampling_of(cell, COMMON, frozenset({"min_p"})).min_p == 0
    assert sampling_of(cell, Common()).logit_bias == ()


def test_a_suite_may_leave_parameters_out_and_name_the_neutral_value():
    small = MatrixSettings(
        temperature=(1.0, 0.5),
        top_p=(),
        top_k=(),
        min_p=(),
        presence_penalty=0,
        frequency_penalty=0,
        repetition_penalty=1,
        logit_bias=0,
        bad_words=False,
        grammar=None,
    )
    assert [cell.name for cell in cells(small)] == ["every parameter neutral", "temperature 0.5"]


@pytest.mark.parametrize("wrong", [{"top_p": [1.5]}, {"temperature": [-1]}, {"top_k": [0]}, {"logit_bias": 200}])
def test_values_out_of_range_are_refused_when_a_suite_is_read(wrong):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, type=MatrixSettings)
