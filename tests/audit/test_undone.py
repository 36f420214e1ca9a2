"""A run that is ended by a limit stays within it, says what it left undone, and goes on with a larger one."""

from pathlib import Path

import pytest

from specaudit.audit.analyse import analyse
from specaudit.audit.budget import spent_in
from specaudit.audit.record import read_evidence
from specaudit.audit.resume import Resume, resume_audit
from specaudit.audit.run import run_audit
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.entries import ResumeEntry
from specaudit.model.errors import UsageError
from specaudit.model.finding import Verdict
from specaudit.model.limits import Limits
from specaudit.model.report import Report
from tests.audit.bad_servers import BadServers, honest
from tests.audit.small import small_audit
from tests.engines.serving import running


def limited(out: Path, limits: Limits, **options: object) -> Report:
    return run_audit(small_audit(out, limits=limits, **options))


def test_checks_are_undone_while_an_engine_is_not_probed(tmp_path: Path) -> None:
    servers = BadServers()
    with running(servers) as servers.address:
        subject, plain = (
            servers.add(honest, ReferenceEngine(SpeculativeDecoder(MARKOV4, draft_tokens=number))) for number in (3, 0)
        )
        options = {"endpoint": f"{subject}/v1", "reference": f"{plain}/v1", "engine": "auto"}
        report = limited(tmp_path, Limits(max_requests=70), **options)
    assert set(read_evidence(tmp_path).capabilities) == {"subject"}
    assert report.stopped is not None
    assert "Left undone: GRD1, LAW1" in report.stopped


@pytest.mark.parametrize(
    "limits",
    [
        Limits(max_requests=5),
        Limits(max_requests=30),
        Limits(token_budget=700),
        Limits(token_budget=20_000),
        Limits(price_in=100.0, price_out=1000.0, max_cost=0.05),
        Limits(price_out=1000.0, max_cost=5.0),
    ],
    ids=str,
)
def test_a_limit_is_never_exceeded_and_leaves_the_audit_open(tmp_path: Path, limits: Limits) -> None:
    report = limited(tmp_path, limits)
    evidence = read_evidence(tmp_path)
    assert limits.exceeded_by(spent_in(evidence)) == ""
    assert report.exit_code == 4
    assert not report.complete
    assert report.lost == 0
    assert evidence.stop is not None
    assert evidence.stop.limit
    assert report.stopped is not None
    assert f"{evidence.stop.limit} " in report.stopped
    assert "Left undone: " in report.stopped
    assert analyse(evidence) == report


def test_what_conforms_on_a_part_is_not_decided(tmp_path: Path) -> None:
    whole = limited(tmp_path / "whole", Limits(), select=("CTR1",))
    part = limited(tmp_path / "part", Limits(max_requests=12), select=("CTR1",))
    assert [finding.verdict for finding in whole.findings] == [Verdict.CONFORMS]
    assert [finding.verdict for finding in part.findings] == [Verdict.INCONCLUSIVE]
    assert part.findings[0].summary.endswith("But only 12 of 20 requests were made before --max-requests ended it.")


def test_what_was_finished_before_the_limit_stands(tmp_path: Path) -> None:
    report = limited(tmp_path, Limits(max_requests=24))
    assert [finding.verdict for finding in report.findings] == [Verdict.CONFORMS, *[Verdict.INCONCLUSIVE] * 3]
    assert report.stopped is not None
    assert "Left undone: LAW1 (0 of the 15 requests planned so far), CTR1, CTR3." in report.stopped


def test_a_violation_on_a_part_is_one(tmp_path: Path) -> None:
    mutant = {"engine": "mutant:draft0-unverified", "select": ("GRD1",)}
    report = limited(tmp_path, Limits(max_requests=20), **mutant)
    assert report.exit_code == 1


def test_where_nothing_was_collected_nothing_was_tested(tmp_path: Path) -> None:
    report = limited(tmp_path, Limits(token_budget=3))
    assert report.exit_code == 3
    assert report.requests == {"subject": 0, "reference": 0}


def test_it_goes_on_with_a_larger_limit_and_what_was_spent_counts(tmp_path: Path) -> None:
    limited(tmp_path, Limits(max_requests=10, price_out=1.0))
    assert resume_audit(Resume(folder=tmp_path, limits={"max_requests": 20})).exit_code == 4
    assert spent_in(read_evidence(tmp_path)).requests == 20
    report = resume_audit(Resume(folder=tmp_path, limits={"max_requests": 1000}))
    assert report.exit_code == 0
    evidence = read_evidence(tmp_path)
    assert evidence.limits == Limits(max_requests=1000, price_out=1.0)
    assert sum(isinstance(entry, ResumeEntry) for entry in evidence.entries) == 2
    assert report.cost == pytest.approx(spent_in(evidence).generated_tokens * 1e-6)


def test_it_goes_on_under_the_limits_of_before_unless_told_otherwise(tmp_path: Path) -> None:
    limited(tmp_path, Limits(max_requests=10))
    resume_audit(Resume(folder=tmp_path))
    assert spent_in(read_evidence(tmp_path)).requests == 10


def test_a_cost_is_not_limited_without_prices(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--max-cost needs the prices of a million tokens\.$"):
        limited(tmp_path, Limits(max_cost=1.0))
