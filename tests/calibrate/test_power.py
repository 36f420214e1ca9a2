"""Divergences and verdicts in worlds of chains, against what theory says of them."""

import numpy as np
import pytest

from specaudit.calibrate.power import (
    DICTIONARY,
    LENGTH,
    DivergenceTask,
    VerdictTask,
    completions,
    divergence,
    divergence_tasks,
    drafter_table,
    target_table,
    verdict_tasks,
    verdicts,
)
from specaudit.calibrate.subjects import decoder, subjects
from specaudit.decoding.processors import UNFILTERED
from specaudit.decoding.worlds import MARKOV4
from specaudit.model.request import Sampling
from specaudit.stats import alternatives

BEFORE = np.array([0, 1, 2, 3, -1])


def test_tables_are_the_laws_behind_each_token_and_behind_nothing():
    np.testing.assert_allclose(
        target_table("mutant:resid-abs", Sampling()), MARKOV4.target.probabilities(BEFORE, UNFILTERED)
    )
    np.testing.assert_allclose(
        drafter_table("mutant:resid-abs"), MARKOV4.drafter.model.probabilities(BEFORE, UNFILTERED)
    )
    greedy = target_table("mutant:resid-abs", Sampling(top_k=1))
    np.testing.assert_array_equal(np.sort(greedy, axis=1), [[0, 0, 0, 1]] * 5)


def test_completions_are_those_of_the_seeds():
    parts = list(completions(decoder("mutant:resid-abs"), Sampling(), seed=5, most=30, batch=20))
    assert [part.shape for part in parts] == [(20, LENGTH), (10, LENGTH)]
    (whole,) = completions(decoder("mutant:resid-abs"), Sampling(), seed=5, most=30, batch=30)
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_a_fault_diverges_by_less_than_if_every_token_were_drafted():
    found = divergence(DivergenceTask(subject="mutant:resid-from-target", tokens=200_000, seed=0))
    p, q = target_table("mutant:resid-from-target", Sampling()), drafter_table("mutant:resid-from-target")
    drafted = alternatives.residual_from_target(p, q)
    kl = (drafted * np.log(drafted / p)).sum(axis=1)
    assert 0.3 * kl.min() < found.kl < kl.max()
    assert found.tokens == 200_000


@pytest.mark.parametrize("subject", ["reference:resid-abs", "mutant:no-bonus", "control:sampler-match"])
def test_what_is_right_does_not_diverge(subject):
    assert divergence(DivergenceTask(subject=subject, tokens=100_000, seed=0)).kl is None


@pytest.mark.parametrize("subject", ["mutant:filter-order-swapped", "mutant:vocab-pad-leak"])
def test_what_the_target_excludes_has_no_finite_divergence(subject):
    assert divergence(DivergenceTask(subject=subject, tokens=20_000, seed=0)).kl is None


def test_divergences_are_measured_where_the_token_before_tells_the_law():
    wanted = {task.subject for task in divergence_tasks(subjects(), tokens=1, seed=0)}
    assert {"mutant:resid-abs", "mutant:reuse-uniform", "mutant:target-unwarped"} <= wanted
    assert not {"mutant:penalties-dropped", "mutant:late-kv", "control:sampler-match"} & wanted
    assert "mutant:lookup-always-accept" not in wanted


def test_verdicts_come_near_the_stein_limit_with_the_bets_and_later_without():
    subject = "mutant:match-then-p"
    limit = np.log(1000) / divergence(DivergenceTask(subject=subject, tokens=100_000, seed=0)).kl
    task = VerdictTask(subject=subject, without="", audits=5, seed=0, stream=0)
    with_bets, left_out = (
        verdicts(task),
        verdicts(VerdictTask(subject=subject, without="match-then-p", audits=5, seed=0, stream=0)),
    )
    assert limit < np.median(with_bets.tokens) < 2.5 * limit
    assert np.median(with_bets.tokens) < np.median(left_out.tokens) < 6 * limit
    assert 0.01 < with_bets.weight < 0.05
    assert left_out.weight == 0


@pytest.mark.parametrize("subject", ["mutant:lenience:0.8", "mutant:lenience:0.9"])
def test_a_dose_has_a_weight_of_its_own_and_is_left_out_with_all_others(subject):
    fault = {"subject": subject, "audits": 1, "seed": 0, "stream": 0}
    one = verdicts(VerdictTask(**fault, without=""))
    # What was seen in engines weighs 3 of 46 or so, whatever its dose, in the half that is bet on known laws.
    assert 0.015 < one.weight < 0.03
    assert verdicts(VerdictTask(**fault, without="lenience")).tokens != one.tokens


def test_the_same_audits_give_the_same_verdicts():
    task = VerdictTask(subject="mutant:inverted-ratio", without="", audits=2, seed=0, stream=1)
    assert verdicts(task) == verdicts(task)
    assert verdicts(task) != verdicts(VerdictTask(**{**_fields(task), "stream": 2}))


def _fields(task):
    return {name: getattr(task, name) for name in task.__struct_fields__}


def test_all_faults_of_the_dictionary_are_timed_with_and_without():
    tasks = verdict_tasks(audits=3, seed=0)
    assert [(task.subject, task.without) for task in tasks] == [
        (subject, without) for subject, name in DICTIONARY.items() for without in ("", name.split()[0])
    ]
    # The same completions with and without, other ones for each fault.
    streams = {task.subject: task.stream for task in tasks}
    assert [task.stream for task in tasks] == [streams[task.subject] for task in tasks]
    assert len(set(streams.values())) == len(DICTIONARY)
