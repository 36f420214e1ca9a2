"""Cells of the kill matrix: faults are killed, correct decoders are not, crashes are neither."""

import pytest

from specaudit.calibrate import matrix
from specaudit.calibrate.matrix import (
    ANY,
    BY_LEVEL,
    FOR,
    OF_CLAIMS,
    QUICK,
    KillTask,
    kill,
    kill_tasks,
    stated_acceptance,
)
from specaudit.calibrate.subjects import decoder
from specaudit.checks import registry


def cell(subject, check, level="exact", **settings):
    return kill(KillTask(subject=subject, check=check, level=level, settings={**QUICK[check], **settings}, seed=0))


@pytest.mark.parametrize(
    ("subject", "check", "level"),
    [
        ("mutant:resid-from-target", "LAW1", "exact"),
        ("mutant:resid-from-target", "LAW1", "scored"),
        ("mutant:resid-from-target", "LAW1", "sampled"),
        ("mutant:resid-from-target", "LAW3", "exact"),
        ("mutant:draft0-unverified", "GRD1", "exact"),
        ("mutant:bonus-in-numerator", "CTR1", ANY),
        ("mutant:rejected-tokens-billed", "CTR4", ANY),
        ("mutant:accept-raw-p", "CTR3", ANY),
        ("mutant:kv-off-by-one", "LAW3", "scored"),
        ("mutant:accept-leq-zero-coin", "LAW3", "exact"),
    ],
)
def test_faults_are_killed(subject, check, level):
    found = cell(subject, check, level)
    assert found.killed
    assert found.verdict == "violates"
    assert (found.subject, found.check, found.level) == (subject, check, level)
    assert found.tokens > 0
    assert found.told


@pytest.mark.parametrize(
    ("subject", "check", "level"),
    [
        ("reference:resid-abs", "LAW1", "exact"),
        ("control:block-verification", "LAW1", "exact"),
        ("reference:bad-words-off-by-one", "LAW1", "exact"),
        ("reference:filter-order-swapped", "LAW1", "exact"),
        ("reference:penalties-dropped", "LAW3", "exact"),
        ("reference:kv-off-by-one", "LAW3", "scored"),
        ("control:greedy-draft", "CTR3", ANY),
        ("reference:lenience", "CTR3", ANY),
    ],
)
def test_what_is_right_is_not(subject, check, level):
    assert not cell(subject, check, level).killed


def test_the_tokens_are_those_up_to_the_verdict():
    early, late = cell("mutant:resid-from-target", "LAW1"), cell("mutant:resid-from-target", "LAW1", fixed_n=True)
    assert f"after {early.tokens:,}" in early.told
    assert early.tokens < 2000 < late.tokens
    assert late.killed


def test_the_same_task_gives_the_same_cell():
    task = KillTask(subject="mutant:lenience", check="LAW3", level="exact", settings=dict(QUICK["LAW3"]), seed=3)
    assert kill(task) == kill(task)


def test_a_subject_that_crashes_is_crashed_and_not_killed(monkeypatch):
    def broken(subject):
        built = decoder(subject)
        built.verify = lambda *_: 1 / 0
        return built

    monkeypatch.setattr(matrix, "decoder", broken)
    found = cell("mutant:resid-from-target", "LAW1")
    assert found.verdict == "crashed"
    assert not found.killed
    assert found.told == "ZeroDivisionError: division by zero"
    assert found.tokens == 0


def test_levels_make_a_difference_to_some_checks_only():
    tasks = kill_tasks(["mutant:resid-abs", "mutant:late-kv"], quick=False, seed=0)
    levels = {(task.subject, task.check): set() for task in tasks}
    for task in tasks:
        levels[task.subject, task.check].add(task.level)
    assert levels["mutant:resid-abs", "LAW1"] == {"exact", "scored", "sampled", "text"}
    assert levels["mutant:late-kv", "LAW1"] == {"scored", "sampled", "text"}
    assert levels["mutant:late-kv", "CTR1"] == {ANY}


def test_the_quick_matrix_asks_those_who_are_to_kill_at_the_most_telling_level_of_each_world():
    tasks = kill_tasks(["mutant:resid-abs", "mutant:late-kv", "mutant:rejected-tokens-billed"], quick=True, seed=0)
    assert [(task.subject, task.check, task.level) for task in tasks] == [
        ("mutant:resid-abs", "LAW1", "exact"),
        ("mutant:resid-abs", "LAW3", "exact"),
        ("mutant:late-kv", "LAW3", "scored"),
        ("mutant:rejected-tokens-billed", "CTR4", ANY),
    ]


def test_correct_decoders_are_asked_by_the_law_alone_in_a_quick_matrix():
    assert {task.check for task in kill_tasks(["reference:resid-abs"], quick=True, seed=0)} == set(BY_LEVEL)
    left_out = len(OF_CLAIMS) + len(FOR)
    assert len(kill_tasks(["control:sampler-match"], quick=True, seed=0)) == len(registry.locations()) - left_out


def test_checks_that_cost_much_are_asked_of_what_they_are_about():
    subjects = ["mutant:logit-bias-dropped", "mutant:fp8-batch-scale", "mutant:resid-abs"]
    asked = {(task.subject, task.check, task.level) for task in kill_tasks(subjects, quick=False, seed=0)}
    assert {one for one in asked if one[1] in FOR} == {
        ("mutant:logit-bias-dropped", "LAW5", "exact"),
        ("mutant:logit-bias-dropped", "LAW5", "sampled"),
        ("mutant:fp8-batch-scale", "LAW6", ANY),
    }
    assert not {task.check for task in kill_tasks(subjects, quick=True, seed=0)} & FOR.keys()


def test_a_small_fault_is_looked_at_more_closely():
    tasks = kill_tasks(["mutant:block-verify-wrong-residual", "mutant:resid-abs"], quick=False, seed=0)
    tolerances = {task.subject: task.settings["tolerance"] for task in tasks if task.check == "LAW1"}
    assert tolerances == {"mutant:block-verify-wrong-residual": 0.02, "mutant:resid-abs": 0.05}


def test_a_vendor_states_what_the_correct_decoder_accepts():
    low, high = stated_acceptance("mutant:resid-abs")
    assert low < 2.204 < high
    assert high - low == pytest.approx(0.3)
