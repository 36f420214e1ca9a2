"""Every mutant and control is a subject, asked so that its fault can be seen."""

import pytest

from specaudit.calibrate import subjects
from specaudit.calibrate.matrix import LEVELS
from specaudit.calibrate.subjects import (
    SAMPLING,
    chosen,
    decoder,
    family_of,
    found,
    plain,
    reference_of,
    sampling_of,
    world_of,
)
from specaudit.checks import registry as checks
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.model.errors import UsageError
from specaudit.mutants import registry


def test_all_mutants_and_controls_are_subjects_and_every_way_of_asking_has_a_correct_decoder():
    every = subjects.subjects()
    assert {name for name in every if name.startswith("mutant:")} == {f"mutant:{name}" for name in registry.names()}
    assert {f"control:{name}" for name in registry.controls()} <= set(every)
    ways = {(world_of(name).name, sampling_of(name)) for name in every if name.startswith("mutant:")}
    correct = [name for name in every if name.startswith("reference:")]
    assert {(world_of(name).name, sampling_of(name)) for name in correct} == ways
    assert len(correct) == len(ways)


def test_tables_name_mutants_that_exist():
    assert set(SAMPLING) <= set(registry.names())


@pytest.mark.parametrize("name", registry.names())
def test_every_mutant_says_who_is_to_kill_it_and_what_that_takes(name):
    mutant = registry.get(name)
    assert mutant.killed_by
    assert set(mutant.killed_by) <= set(checks.locations())
    assert mutant.evidence in LEVELS
    assert all(registry.get_control(control).killed_by == () for control in registry.controls())


@pytest.mark.parametrize("name", ["mutant:lenience:0.9", "control:block-verification", "reference:late-kv"])
def test_subjects_are_built_in_their_worlds(name):
    built = decoder(name)
    assert built.draft_tokens == 3
    assert built.world.target is world_of(name).target
    assert reference_of(name).draft_tokens == 0
    assert (type(built) is SpeculativeDecoder) or name.startswith("mutant")


def test_a_dose_is_taken_and_kept_out_of_the_plain_name():
    assert decoder("mutant:lenience:0.9").verifier.dose == 0.9
    assert plain("mutant:lenience:0.9") == "lenience"
    assert family_of("mutant:lenience:0.9") == "rule"
    assert family_of("reference:lenience") == "control"


def test_quantised_subjects_are_held_against_the_quantised_target():
    assert reference_of("mutant:fp8-batch-scale").world.name == "transformer8-fp8"
    assert decoder("reference:fp8-batch-scale").world.target is reference_of("mutant:fp8-batch-scale").world.target


def test_chosen_mutants_come_with_a_correct_decoder_for_each_way_of_asking():
    assert chosen(("lenience:0.9", "resid-abs", "target-unwarped", "lenience:0.9")) == [
        "mutant:lenience:0.9",
        "mutant:resid-abs",
        "mutant:target-unwarped",
        "reference:lenience",
        "reference:target-unwarped",
    ]
    assert chosen(()) == subjects.subjects()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resid-from-targt", "did you mean resid-from-target"),
        ("lenience:7", "must be a number from 0.01 to 1"),
        ("resid-abs:1", "takes no dose"),
    ],
)
def test_what_does_not_exist_is_a_usage_error(name, message):
    with pytest.raises(UsageError, match=message) as caught:
        chosen((name,))
    assert caught.value.hint == "specaudit list mutants"


def test_an_unknown_control_points_to_the_controls():
    with pytest.raises(UsageError, match="No control") as caught:
        found("control:sampler-mach")
    assert caught.value.hint == "specaudit list controls"
