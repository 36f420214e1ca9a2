"""What is estimated is what a run then uses: the checks plan both times by the same functions."""

import socket
from pathlib import Path

import pytest

from specaudit.audit.budget import spent_in
from specaudit.audit.estimate import LEVELS, Level, estimate
from specaudit.audit.record import read_evidence
from specaudit.audit.run import run_audit
from specaudit.audit.suites import load_suite
from specaudit.checks import registry
from specaudit.checks.law1.check import EmittedLaw
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.estimate import Estimate
from specaudit.model.limits import NOTHING, Limits
from specaudit.model.suite import Suite
from tests.audit.small import SMALL, small_audit
from tests.checks.drive import drive, engine

SERVERS = {
    "endpoint": "http://subject.example/v1",
    "reference": "http://reference.example/v1",
    "metrics": "http://subject.example/metrics",
}


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("an estimate sends nothing")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def of_servers(level: Level | None = "scored", **options: object) -> Estimate:
    return estimate(small_audit(Path("nowhere"), **(SERVERS | options)), level=level)


@pytest.mark.parametrize(
    "options", [{}, {"draft_tokens": 1}, {"select": ("GRD1",)}, {"seed": 3, "alpha": 0.1}], ids=str
)
def test_a_run_in_process_uses_what_was_estimated(tmp_path: Path, options: dict[str, object]) -> None:
    estimated = estimate(small_audit(tmp_path, **options)).total
    run_audit(small_audit(tmp_path, **options))
    used = spent_in(read_evidence(tmp_path))
    for name in ("requests", "prompt_tokens", "generated_tokens"):
        assert getattr(used, name) <= getattr(estimated, name) <= 1.2 * getattr(used, name)


def test_what_was_estimated_to_be_seen_is_what_the_findings_say(tmp_path: Path) -> None:
    estimated = {check.check: check.smallest_detectable for check in estimate(small_audit(tmp_path)).checks}
    findings = {finding.check: finding for finding in run_audit(small_audit(tmp_path)).findings}
    for check_id in ("GRD1", "LAW1"):
        deviation = estimated[check_id]
        assert deviation is not None
        assert deviation.value == pytest.approx(findings[check_id].smallest_detectable, rel=0.1)
    widest = estimated["CTR3"]
    effect = findings["CTR3"].effect
    assert widest is not None
    assert effect is not None
    assert (effect.high - effect.low) / 2 <= widest.value


@pytest.mark.parametrize("level", LEVELS[1:])
def test_servers_are_asked_for_more_the_less_they_reveal(level: Level) -> None:
    estimated = of_servers(level)
    law = next(check for check in estimated.checks if check.check == "LAW1")
    assert law.spending.requests > estimate(small_audit(Path("nowhere"))).checks[1].spending.requests
    assert estimated.probing.requests > 0
    assert sum(check.spending.requests for check in estimated.checks) + estimated.probing.requests == (
        estimated.total.requests
    )
    assert any(f"--assume {level}" in assumption for assumption in estimated.assumptions)


def test_without_a_reference_only_counters_are_left() -> None:
    estimated = of_servers(reference=None)
    assert {check.check for check in estimated.checks if check.spending != NOTHING} == {"CTR1"}
    assert [check.smallest_detectable for check in estimated.checks[:2]] == [None, None]


def test_cost_and_time() -> None:
    def under(**limits: float) -> Estimate:
        return of_servers(select=("GRD1",), limits=Limits(**limits))  # type: ignore[arg-type]

    estimated = under(price_in=1.0, price_out=10.0)
    total = estimated.total
    assert estimated.cost == pytest.approx((total.prompt_tokens + 10 * total.generated_tokens) * 1e-6)
    assert estimated.seconds == pytest.approx(total.generated_tokens / 1000)
    assert estimated.exceeds == ""
    assert under(rpm=1).seconds == pytest.approx(60 * total.requests)
    assert under(tpm=100).seconds == pytest.approx(60 * total.tokens / 100)
    assert under(max_requests=total.requests - 1).exceeds == "--max-requests"
    assert under(max_requests=total.requests).exceeds == ""


@pytest.mark.parametrize(("options", "level"), [({}, "scored"), ({}, "sampled"), (SERVERS, "exact")], ids=str)
def test_a_level_that_cannot_be_is_told(options: dict[str, object], level: Level) -> None:
    with pytest.raises(UsageError, match=r"^An engine in process reveals its law exactly, and a server never does\.$"):
        estimate(small_audit(Path("nowhere"), **options), level=level)


def test_an_empty_selection_is_told() -> None:
    with pytest.raises(CouldNotTest):
        estimate(small_audit(Path("nowhere"), ignore=("GRD", "LAW", "CTR")))


@pytest.mark.parametrize("suite", ["quick", "ci-gate"])
def test_every_shipped_suite_can_be_estimated(suite: str) -> None:
    estimated = estimate(small_audit(Path("nowhere"), suite=load_suite(suite)))
    assert all(check.spending != NOTHING for check in estimated.checks if check.required)


def test_what_is_asked_for_the_subjects_answers_counts_too() -> None:
    """LAW3 scores every token that the subject emits: one request each, where the reference scores no prompts."""
    table = {"required": True, "tolerance": 0.3, "max_tokens": 16, "sampling": {"top_k": 4}}
    suite = Suite(name="depth", title="", alpha=0.02, checks={"LAW3": table})
    exact = estimate(small_audit(Path("nowhere"), suite=suite)).checks[0].spending
    forced = of_servers(suite=suite).checks[0].spending
    single = of_servers(suite=suite, engine="tensorrt_llm").checks[0].spending
    assert exact.requests < forced.requests < single.requests / 5
    assert single.requests > 10 * exact.requests


def test_the_scoring_of_whole_completions_counts_too() -> None:
    """One request for each completion, where the reference scores prompts."""
    law = of_servers(suite=load_suite("losslessness"), select=("LAW1",)).checks[0].spending
    assert law.requests > 5_000


@pytest.mark.parametrize(
    ("level", "hidden"), [("scored", {"logprobs": 20}), ("sampled", {"logprobs": 0, "logprobs_mode": "unknown"})]
)
def test_a_run_without_the_law_uses_what_was_estimated(level: Level, hidden: dict[str, object]) -> None:
    """Servers are asked in text, and the decoder here by token ids: the pilots differ, and so a little do the plans."""
    estimated = of_servers(level, select=("LAW1",), alpha=1e-3).checks[0].spending
    settings = registry.settings_of(load_suite(str(SMALL)), "LAW1")
    used = spent_in(drive(EmittedLaw(), settings, engine(), max_choices=64, **hidden))
    for name in ("requests", "generated_tokens"):
        assert 0.8 * getattr(used, name) <= getattr(estimated, name) <= 1.2 * getattr(used, name)
