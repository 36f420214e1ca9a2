from pathlib import Path

import msgspec
import pytest

from specaudit.audit.audit import Audit
from specaudit.audit.plan import make_plan, selected
from specaudit.model.errors import CouldNotTest, SpecauditError, UsageError
from specaudit.model.plan import Plan
from specaudit.model.record import to_json
from tests.audit.small import small_audit

ALL = ("GRD1", "LAW1", "CTR1", "CTR3")
HTTP = {"endpoint": "http://127.0.0.1:1/v1", "reference": "http://127.0.0.1:2/v1"}


def plan(**options: object) -> Plan:
    return make_plan(audit(**options))


def audit(**options: object) -> Audit:
    return small_audit(Path("unused"), **options)


def refused(kind: type[SpecauditError], **options: object) -> SpecauditError:
    with pytest.raises(kind) as caught:
        make_plan(audit(**options))
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("select", "ignore", "checks"),
    [
        ((), (), ALL),
        (("LAW1",), (), ("LAW1",)),
        (("CTR",), (), ("CTR1", "CTR3")),
        (("CTR3", "GRD"), (), ("GRD1", "CTR3")),
        ((), ("CTR",), ("GRD1", "LAW1")),
        ((), ("CTR1", "GRD1"), ("LAW1", "CTR3")),
        (("CTR", "LAW"), ("CTR1",), ("LAW1", "CTR3")),
    ],
)
def test_checks_are_chosen_by_id_and_by_family(
    select: tuple[str, ...], ignore: tuple[str, ...], checks: tuple[str, ...]
) -> None:
    assert selected(audit().suite, select, ignore) == checks
    assert plan(select=select, ignore=ignore).checks == checks


@pytest.mark.parametrize(("select", "ignore"), [(("LAW1",), ("LAW",)), ((), ("GRD", "LAW", "CTR"))])
def test_an_empty_selection_tests_nothing(select: tuple[str, ...], ignore: tuple[str, ...]) -> None:
    assert "selection is empty" in refused(CouldNotTest, select=select, ignore=ignore).message


def test_an_empty_suite_tests_nothing() -> None:
    suite = msgspec.structs.replace(audit().suite, checks={})
    refused(CouldNotTest, suite=suite)


@pytest.mark.parametrize(("name", "meant"), [("LW1", "LAW1"), ("CTRR", "CTR"), ("law1", "LAW1"), ("GRD2", "GRD")])
def test_an_unknown_name_is_told_with_the_nearest(name: str, meant: str) -> None:
    message = refused(UsageError, select=(name,)).message
    assert f"has no check {name!r}. Did you mean {meant!r}?" in message
    assert "It has: GRD1, LAW1, CTR1, CTR3." in message
    assert refused(UsageError, ignore=(name,)).message == message


@pytest.mark.parametrize(
    ("options", "required"),
    [
        ({}, ("GRD1", "LAW1")),
        ({"select": ("CTR3",)}, ("CTR3",)),
        ({"select": ("CTR", "LAW1")}, ("LAW1", "CTR1", "CTR3")),
        ({"ignore": ("LAW",)}, ("GRD1",)),
        (HTTP, ("GRD1", "LAW1")),
        ({**HTTP, "metrics": "http://127.0.0.1:1/metrics"}, ALL),
        ({"ignore": ("GRD", "LAW")}, ("CTR1", "CTR3")),  # what demands nothing would pass whatever it finds
    ],
)
def test_what_is_required(options: dict[str, object], required: tuple[str, ...]) -> None:
    made = plan(**options)
    assert made.required == required
    assert {c: settings["required"] for c, settings in made.suite.checks.items()} == {
        c: c in required for c in made.checks
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": "http://x/v1"}, "--reference goes with --endpoint"),
        ({"metrics": "http://x/metrics"}, "--metrics goes with --endpoint"),
        ({"model": "m"}, "--model goes with --endpoint"),
        ({"api": "chat"}, "--api goes with --endpoint"),
        ({"stream": True}, "--stream goes with --endpoint"),
        ({"tokenizer": "vocab.json"}, "--tokenizer goes with --endpoint"),
        ({"segment": "answer"}, "--segment goes with --endpoint"),
        ({**HTTP, "engine": "reference"}, "--engine is for a subject in process"),
        ({**HTTP, "draft_tokens": 3}, "--draft-tokens is for a subject in process"),
        ({"draft_tokens": -1}, "--draft-tokens cannot be negative"),
        ({**HTTP, "reference": HTTP["endpoint"] + "/"}, "compares a server with itself"),
        ({**HTTP, "model": "a\x1b[31m"}, "--model holds characters that cannot be printed"),
        ({**HTTP, "model": "a\udcff"}, "--model holds characters that cannot be printed"),
    ],
)
def test_options_that_contradict_each_other_are_told(options: dict[str, object], message: str) -> None:
    assert message in refused(UsageError, **options).message


@pytest.mark.parametrize("alpha", [0.0, 0.5, -0.1, 1.0, float("nan"), float("inf")])
def test_an_error_budget_out_of_range_is_told(alpha: float) -> None:
    assert "is not an error budget" in refused(UsageError, alpha=alpha).message


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000/v1",
        "user:secret@host/v1",
        "ftp://user:secret@host/v1",
        "http://user:secret@host:99999/v1",
        "http://user:secret@/v1",
        "http://[user:secret",
        "secret",
        "",
    ],
)
@pytest.mark.parametrize("option", ["endpoint", "reference", "metrics"])
def test_a_wrong_address_is_told_and_not_repeated(option: str, url: str) -> None:
    error = refused(UsageError, **{**HTTP, option: url})
    assert f"--{option} needs a whole address" in error.message
    assert "secret" not in error.message + error.hint


def test_addresses_are_recorded_without_what_may_be_secret() -> None:
    made = plan(
        endpoint="https://user:secret@[::1]:8000/v1?key=secret#secret",
        reference="http://secret@host/v1",
        metrics="http://user:secret@host:9/metrics?token=secret",
    )
    assert [arm.endpoint for arm in made.arms] == ["https://[::1]:8000/v1", "http://host/v1"]
    assert made.metrics == "http://host:9/metrics"
    assert b"secret" not in to_json(made)


def test_the_pages_of_several_replicas_are_recorded_and_told_apart() -> None:
    pages = ("http://a/metrics?token=1", "http://b/metrics", "http://a/metrics?token=2")
    made = plan(**HTTP, metrics=pages)
    assert (made.metrics, made.replicas) == ("http://a/metrics", ("http://b/metrics", "http://a/metrics"))
    assert made.pages == ("http://a/metrics", "http://b/metrics", "http://a/metrics (2)")
    assert plan(**HTTP, metrics="http://a/metrics").pages == ("",)
    assert plan(**HTTP).pages == plan().pages == ("",)


def test_a_page_that_is_named_twice_is_told() -> None:
    assert "names one page twice" in refused(UsageError, **HTTP, metrics=("http://a/m", "http://a/m")).message


def test_a_key_is_not_in_the_plan_nor_in_the_audits_form() -> None:
    asked = audit(**HTTP, api_key="sk-secret")
    assert b"sk-secret" not in to_json(make_plan(asked))
    assert "sk-secret" not in repr(asked)


def test_arms() -> None:
    subject, reference = plan(engine="mutant:reuse-uniform").arms
    assert (subject.role, subject.engine, subject.draft_tokens) == ("subject", "mutant:reuse-uniform", 3)
    assert (reference.role, reference.engine, reference.draft_tokens) == ("reference", "reference", 0)
    assert plan(draft_tokens=0).arms[0].draft_tokens == 0
    assert [arm.role for arm in plan(endpoint=HTTP["endpoint"]).arms] == ["subject"]
    subject, reference = plan(**HTTP, model="m").arms
    assert (subject.engine, subject.model, reference.model) == ("auto", "m", "m")


def test_both_arms_are_asked_in_the_same_way() -> None:
    assert {(arm.api, arm.stream, arm.tokenizer) for arm in plan(**HTTP).arms} == {("completions", False, None)}
    made = plan(**HTTP, api="chat", stream=True, tokenizer="vocab.json", segment="reasoning")
    assert {(arm.api, arm.stream, arm.tokenizer) for arm in made.arms} == {("chat", True, "vocab.json")}
    assert (plan(**HTTP).segment, made.segment) == ("all", "reasoning")


def test_the_command_line_stands_above_the_suite() -> None:
    assert (plan().alpha, plan().concurrency, plan().seed) == (0.02, 4, 0)
    made = plan(alpha=0.1, concurrency=9, seed=5)
    assert (made.alpha, made.suite.alpha, made.concurrency, made.seed) == (0.1, 0.1, 9, 5)


def test_the_plan_is_a_pure_function_of_what_is_asked_but_for_the_time() -> None:
    made = [msgspec.structs.replace(plan(**HTTP, select=("LAW",)), created="") for _ in range(2)]
    assert to_json(made[0]) == to_json(made[1])
    elsewhere = make_plan(small_audit(Path("other"), **HTTP, select=("LAW",), timeout=1.0, api_key="k"))
    assert to_json(msgspec.structs.replace(elsewhere, created="")) == to_json(made[0])


LOADED = {"engine": "openvino", "target": "models/target"}


def test_a_subject_that_loads_its_models_is_held_against_plain_decoding_of_its_target(tmp_path):
    plan = make_plan(small_audit(tmp_path, **LOADED, draft="models/draft", draft_tokens=4))
    subject, reference = plan.arms
    assert (subject.target, subject.draft, subject.speculation, subject.draft_tokens) == (
        "models/target",
        "models/draft",
        "draft",
        4,
    )
    assert (reference.engine, reference.target, reference.draft) == ("openvino", "models/target", None)
    assert (reference.speculation, reference.draft_tokens) == ("none", 0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"engine": "openvino"}, "needs a model: --target"),
        ({**LOADED, "speculation": "draft"}, "needs one: --draft"),
        ({**LOADED, "speculation": "lookup", "draft": "d"}, "--speculation lookup uses none"),
        ({**LOADED, "world": "markov4"}, "--world is for the embedded decoder"),
        ({"target": "models/target"}, "--target goes with an engine that loads models"),
        ({"endpoint": "http://127.0.0.1:1/v1", "draft": "d"}, "--draft is for a subject in process"),
    ],
)
def test_models_that_do_not_go_with_an_engine_are_refused(tmp_path, options, said):
    with pytest.raises(UsageError, match=said):
        make_plan(small_audit(tmp_path, **options))
