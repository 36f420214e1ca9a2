"""The commands in findings can be pasted as they are."""

import shlex

import msgspec
import pytest

from specaudit.checks.commands import rerun, with_option
from specaudit.model.plan import Arm
from specaudit.model.suite import Suite
from tests.model.builders import plan as plan_of


def plan(suite="quick", **changes):
    checks = {check_id: {} for check_id in ("GRD1", "LAW1", "CTR1")}
    return plan_of(suite=Suite(name=suite, title="", checks=checks), **changes)


REMOTE = (
    Arm(role="subject", engine="openai", endpoint="http://a:1/v1", model="my model"),
    Arm(role="reference", engine="openai", endpoint="http://b:2/v1"),
)


def test_in_process():
    arms = (
        Arm(role="subject", engine="mutant:reuse-uniform", draft_tokens=5),
        Arm(role="reference", engine="reference"),
    )
    command = rerun(plan(arms=arms), "LAW1", new_samples=True)
    assert command == "specaudit run --engine mutant:reuse-uniform --draft-tokens 5 --select LAW1 --seed 1"


def test_the_plainest_command_is_short():
    arms = (Arm(role="subject", engine="reference", draft_tokens=3), Arm(role="reference", engine="reference"))
    assert rerun(plan(arms=arms), "GRD1") == "specaudit run --select GRD1"


@pytest.mark.parametrize(
    ("arm", "words"),
    [
        ({"draft": "my draft", "speculation": "draft"}, "--draft 'my draft'"),
        ({"draft": "d", "speculation": "draft", "draft_tokens": 5}, "--draft d --draft-tokens 5"),
        ({"speculation": "lookup"}, "--speculation lookup"),
        ({"speculation": "none", "draft_tokens": 0}, ""),
    ],
)
def test_the_models_of_an_engine_in_process_are_told(arm, words):
    arms = (Arm(**{"role": "subject", "engine": "openvino", "target": "t", "draft_tokens": 3} | arm),)
    command = rerun(plan(arms=arms), "LAW1")
    assert command.split() == f"specaudit run --engine openvino --target t {words} --select LAW1".split()


def test_over_http_all_addresses_are_told_and_quoted():
    head = plan(arms=REMOTE, metrics="http://a:1/metrics", seed=4)
    assert rerun(head, "LAW1") == (
        "specaudit run --endpoint http://a:1/v1 --reference http://b:2/v1 --metrics http://a:1/metrics "
        "--model 'my model' --select LAW1 --seed 4"
    )


def test_every_replica_is_told():
    head = plan("one-endpoint", arms=REMOTE[:1], metrics="http://a:1/metrics", replicas=("http://b:1/metrics",))
    assert "--metrics http://a:1/metrics --metrics http://b:1/metrics" in rerun(head, "CTR1")


def test_a_missing_option_is_added():
    assert with_option(plan("one-endpoint", arms=REMOTE[:1]), "--reference", "URL") == (
        "specaudit run --endpoint http://a:1/v1 --model 'my model' --reference URL"
    )


def test_how_the_servers_are_asked_is_told():
    (subject, reference) = REMOTE
    asked = {"api": "chat", "stream": True, "tokenizer": "my vocab.json"}
    arms = (msgspec.structs.replace(subject, **asked), msgspec.structs.replace(reference, **asked))
    assert rerun(plan(arms=arms, segment="answer"), "LAW1") == (
        "specaudit run --endpoint http://a:1/v1 --reference http://b:2/v1 --model 'my model' --api chat --stream "
        "--tokenizer 'my vocab.json' --segment answer --select LAW1"
    )


@pytest.mark.parametrize(
    ("arms", "suite", "words"),
    [
        (REMOTE, "greedy", ["--suite", "greedy"]),
        (REMOTE, "mine", ["--suite", "mine.toml"]),
        (REMOTE, "quick", []),
        (REMOTE[:1], "quick", ["--suite", "quick"]),
        (REMOTE[:1], "one-endpoint", []),
        (REMOTE, "one-endpoint", ["--suite", "one-endpoint"]),
    ],
)
def test_the_suite_is_told_unless_it_is_the_usual_one(arms, suite, words):
    header = plan(suite, arms=arms)
    assert shlex.split(rerun(header, "GRD1"))[-2 - len(words) :] == [*words, "--select", "GRD1"]
    assert shlex.split(with_option(header, "--metrics", "URL"))[-2 - len(words) :] == [*words, "--metrics", "URL"]


def test_a_check_that_the_suite_has_not_is_run_as_usual():
    assert "--suite" not in rerun(plan("seeds", arms=REMOTE), "CTR2")


def test_an_engine_that_was_named_is_named_again():
    arms = (Arm(role="subject", engine="llamacpp:adaptive_target=0.5", endpoint="http://a:1/v1"),)
    assert rerun(plan("one-endpoint", arms=arms), "LAW1") == (
        "specaudit run --engine llamacpp:adaptive_target=0.5 --endpoint http://a:1/v1 --select LAW1"
    )
