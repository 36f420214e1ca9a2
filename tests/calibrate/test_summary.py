"""Conclusions from results that are made up."""

from math import log

import pytest

from specaudit.calibrate.nulls.method import RULES
from specaudit.calibrate.nulls.registry import METHODS
from specaudit.calibrate.summary import summarise
from specaudit.model.calibration import Alarms, Divergence, Kill, Survivor, Verdicts

LEVEL = 0.05
AUDITS, MOST = RULES[LEVEL]
UNIFORM, BOUND, NAIVE = "chi-square of two arms", "Holm over dependent checks", "chi-square looked at again and again"


def kill(subject, verdict, check="LAW1", tokens=100):
    return Kill(
        subject=subject, family="rule", check=check, level="exact", verdict=verdict, tokens=tokens, told=verdict
    )


def concluded(*results, quick=False):
    return summarise(results, seed=0, quick=quick)


def test_what_one_check_kills_does_not_survive():
    found = concluded(kill("mutant:resid-abs", "conforms", "GRD1"), kill("mutant:resid-abs", "violates"))
    assert found.survivors == ()
    assert found.passed
    assert len(found.kills) == 2


def test_a_survivor_that_should_be_killed_fails_the_calibration():
    found = concluded(kill("mutant:resid-abs", "inconclusive"))
    assert found.survivors == (Survivor(subject="mutant:resid-abs", expected=""),)
    assert not found.passed


def test_a_quick_calibration_excuses_survivors():
    found = concluded(kill("mutant:resid-abs", "inconclusive"), quick=True)
    assert found.left_out == ("LAW5", "LAW6")
    assert concluded().left_out == ()
    assert found.survivors[0].expected == "a calibration that is not quick"
    assert found.passed


def test_a_mutant_that_no_check_was_asked_about_survives():
    asked = kill("mutant:resid-abs", "violates")
    subjects = ["mutant:resid-abs", "mutant:late-kv", "control:sampler-match"]
    found = summarise([asked], seed=0, quick=False, subjects=subjects)
    assert [one.subject for one in found.survivors] == ["mutant:late-kv"]
    assert not found.passed


@pytest.mark.parametrize("subject", ["control:sampler-match", "reference:late-kv"])
def test_whoever_is_right_must_not_be_accused(subject):
    found = concluded(kill(subject, "violates"), kill(subject, "inconclusive", "GRD1"))
    assert [one.subject for one in found.accused] == [subject]
    assert not found.passed
    assert concluded(kill(subject, "inconclusive")).passed


def test_a_crash_is_no_kill_and_no_survival():
    found = concluded(kill("mutant:resid-abs", "crashed"))
    assert found.survivors == ()
    assert [one.subject for one in found.crashed] == ["mutant:resid-abs"]
    assert not found.passed


def alarms(method, wrong, audits=AUDITS, *, level=LEVEL, p_values=()):
    return Alarms(method=method, level=level, audits=audits, wrong=wrong, p_values=p_values)


def spread(wrong, audits):
    """p-values as uniform as can be, with so many within the level."""
    small = [LEVEL * (i + 0.5) / max(1, wrong) for i in range(wrong)]
    return (*small, *(LEVEL + (1 - LEVEL) * (i + 0.5) / (audits - wrong) for i in range(audits - wrong)))


@pytest.mark.parametrize(("wrong", "kept"), [(100, True), (MOST, True), (MOST + 1, False)])
def test_a_method_may_be_wrong_so_often(wrong, kept):
    p_values = spread(wrong, AUDITS)
    found = concluded(
        alarms(UNIFORM, wrong - 40, AUDITS - 800, p_values=p_values[::2]),
        alarms(UNIFORM, 40, 800, p_values=p_values[1::2]),
    )
    (method,) = found.methods
    assert (method.audits, method.wrong, method.most) == (AUDITS, wrong, MOST)
    assert method.kept == kept == found.passed
    assert method.uniform_p > 0.001


def test_p_values_that_are_not_uniform_break_a_method_that_should_have_uniform_ones():
    found = concluded(alarms(UNIFORM, 0, p_values=(0.5,) * AUDITS))
    assert found.methods[0].uniform_p < 1e-3
    assert not found.methods[0].kept
    assert concluded(alarms(BOUND, 0)).methods[0].kept


@pytest.mark.parametrize(("wrong", "kept"), [(35, True), (36, False)])
def test_each_level_has_its_own_rule(wrong, kept):
    strict = concluded(alarms(BOUND, 0), alarms(BOUND, wrong, 20_000, level=1e-3)).methods
    assert [(method.level, method.audits, method.kept) for method in strict] == [
        (LEVEL, AUDITS, True),
        (1e-3, 20_000, kept),
    ]


@pytest.mark.parametrize(("wrong", "kept"), [(MOST, False), (MOST + 1, True)])
def test_the_negative_control_must_be_caught(wrong, kept):
    found = concluded(alarms(NAIVE, wrong))
    assert found.methods[0].negative_control
    assert found.methods[0].kept == kept == found.passed
    assert METHODS[NAIVE].negative_control


def verdicts(*tokens, without="", weight=0.05):
    return Verdicts(subject="mutant:resid-abs", without=without, weight=weight, tokens=tokens)


DIVERGENCE = Divergence(subject="mutant:resid-abs", kl=0.01, tokens=1000)
STEIN = log(1000) / 0.01


def test_medians_are_held_against_the_stein_limit():
    allowed = 1.1 * (STEIN + log(20) / 0.01)
    found = concluded(DIVERGENCE, verdicts(100, int(allowed), None), verdicts(100, int(allowed) + 1, None))
    assert [speed.kept for speed in found.speeds] == [True, False]
    assert found.speeds[0].stein == pytest.approx(STEIN, rel=1e-3)
    assert found.speeds[0].allowed == pytest.approx(allowed, rel=1e-3)
    assert not found.passed
    assert concluded(DIVERGENCE, verdicts(100, int(allowed), None)).passed


def test_medians_of_few_audits_are_told_and_break_nothing():
    found = summarise([DIVERGENCE, verdicts(10**6)], seed=0, quick=True)
    assert not found.speeds[0].kept
    assert found.passed


def test_a_fault_of_the_accept_rule_that_is_left_out_may_take_six_times_as_long():
    soon, late = (
        concluded(DIVERGENCE, verdicts(1, int(6 * STEIN) + more, 10**6, without="resid-abs", weight=0.0)).speeds[0]
        for more in (0, 1)
    )
    assert (soon.kept, late.kept) == (True, False)
    assert soon.without == "resid-abs"


def test_nothing_is_promised_of_other_faults_that_are_left_out():
    subject = "mutant:argmax-draft-soft-q"
    found = concluded(
        Divergence(subject=subject, kl=0.01, tokens=1000),
        Verdicts(subject=subject, without="argmax-draft-soft-q", weight=0.0, tokens=(10**6,)),
    )
    assert found.speeds[0].allowed is None
    assert found.passed


def test_no_verdict_in_half_of_the_audits_is_no_median():
    found = concluded(DIVERGENCE, verdicts(1, None, None))
    assert found.speeds[0].median is None
    assert not found.speeds[0].kept


def test_without_a_divergence_there_is_nothing_to_hold_a_median_against():
    none = Divergence(subject="mutant:resid-abs", kl=None, tokens=10)
    assert concluded(none, verdicts(1)).speeds == ()
