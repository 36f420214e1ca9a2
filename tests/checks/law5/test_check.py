"""LAW5 over HTTP from its first stage to its verdict: what is healthy, faulty, refused and ignored."""

from specaudit.model.finding import Verdict
from specaudit.serve.switches import Switches
from tests.checks.law5.serving import audited, served

NO_BIAS = {"logit_bias": ()}


def test_a_bias_that_is_dropped_while_speculating_is_named(tmp_path):
    finding, _ = audited(tmp_path, served("logit-bias-dropped"))
    assert finding.verdict is Verdict.VIOLATES
    assert "where logit_bias is on" in finding.summary
    assert {view.name for view in finding.views if view.verdict is Verdict.VIOLATES} == {
        "logit_bias +2",
        "temperature 0.6, logit_bias +2",
    }
    assert finding.witness is not None
    assert "logit_bias" in finding.witness.what
    assert "--select LAW5" in finding.next_step
    assert "--suite matrix" in finding.next_step
    assert not [note for note in finding.notes if "ignore" in note or "cannot be asked" in note]


def test_a_parameter_that_one_arm_ignores_is_a_violation_and_is_told_apart(tmp_path):
    finding, _ = audited(tmp_path, served(**NO_BIAS))
    assert finding.verdict is Verdict.VIOLATES
    assert (
        "logit_bias is applied on one side only: the reference applies it, and the subject ignores it" in finding.notes
    )


def test_a_parameter_that_both_arms_ignore_is_no_violation_and_said(tmp_path):
    finding, report = audited(tmp_path, served(**NO_BIAS), served(draft_tokens=0, **NO_BIAS))
    assert finding.verdict is not Verdict.VIOLATES, finding.summary
    assert report.stopped is None
    assert any(note.startswith("logit_bias changes nothing in either arm") for note in finding.notes)


def test_what_is_refused_is_left_out_or_dropped_and_said(tmp_path):
    def hot(sampling):
        return -1.0 if sampling.temperature == 0.6 else sampling.temperature

    finding, report = audited(tmp_path, served(temperature=hot), switches=Switches(refuse=("logit_bias",)))
    assert report.stopped is None
    assert finding.verdict is not Verdict.VIOLATES, finding.summary
    assert finding.measured["cells planned"] == 4
    assert finding.measured["cells judged"] == 1
    assert any(note.startswith("logit_bias cannot be asked for, so nothing is said about it") for note in finding.notes)
    assert any("is dropped: the subject refuses it" in note for note in finding.notes)
    assert any("is dropped: without logit_bias it is cell" in note for note in finding.notes)
