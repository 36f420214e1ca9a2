"""A claim beside evidence: confirmed, refuted, or left open; one refuted number decides."""

from typing import Any

import msgspec
import pytest

from specaudit.claims.judge import judge
from specaudit.claims.judgement import Judgement, Ruling
from specaudit.claims.measured import with_evidence
from specaudit.claims.tables import devices, models
from specaudit.model.claim import Claim
from specaudit.model.finding import Effect, Finding, Verdict
from tests.render.reports import report

TABLES = devices(), models()


def judged(*findings: Finding, **numbers: Any) -> Judgement:
    data = {"wording": "x", "source": "y", "date": "2024", "numbers": numbers, "conditions": {"baseline": "plain"}}
    return with_evidence(judge(msgspec.convert(data, Claim), "it", *TABLES), report(0, *findings))


def acceptance(low: float, high: float, **rate: float) -> Finding:
    effect = Effect(name="acceptance length", value=(low + high) / 2, low=low, high=high, confidence=0.999)
    return Finding(
        check="CTR3", verdict=Verdict.CONFORMS, required=True, summary="", effect=effect, measured=dict(rate)
    )


def law(verdict: Verdict, check: str = "LAW1") -> Finding:
    return Finding(check=check, verdict=verdict, required=True, summary="")


@pytest.mark.parametrize(
    ("low", "high", "ruling", "word"),
    [
        (2.9, 3.1, Ruling.MEASURED_FALSE, "refuted"),
        (3.37, 3.5, Ruling.MEASURED_TRUE, "confirmed"),
        (3.2, 3.5, Ruling.PLAUSIBLE, "not decided"),
    ],
)
def test_acceptance_length(low: float, high: float, ruling: Ruling, word: str) -> None:
    found = judged(acceptance(low, high), acceptance_length=3.36)
    assert found.ruling is ruling
    (measured,) = found.measured
    assert measured.words.endswith(f"tokens a step measured: {word}")
    assert found.evidence_digest == report(0).evidence_digest


def test_acceptance_rate() -> None:
    rate = {"draft acceptance rate": 0.5, "draft acceptance rate, low": 0.48, "draft acceptance rate, high": 0.52}
    assert judged(acceptance(2, 3, **rate), acceptance_rate=0.8).ruling is Ruling.MEASURED_FALSE
    assert judged(acceptance(2, 3, **rate), acceptance_rate=0.45).ruling is Ruling.MEASURED_TRUE


def test_acceptance_of_the_claims_own_check() -> None:
    """CLM3 tells one figure, CTR3 both; where both are there, CTR3's counts."""

    def clm3(name: str) -> Finding:
        effect = Effect(name=name, value=0.5, low=0.48, high=0.52, confidence=0.999)
        return Finding(check="CLM3", verdict=Verdict.CONFORMS, required=True, summary="", effect=effect)

    assert judged(clm3("draft acceptance rate"), acceptance_rate=0.8).ruling is Ruling.MEASURED_FALSE
    assert judged(clm3("acceptance length"), acceptance_rate=0.8).measured == ()
    both = judged(acceptance(3.4, 3.5), clm3("acceptance length"), acceptance_length=3.36)
    assert both.ruling is Ruling.MEASURED_TRUE


def test_a_speed_up_is_that_of_matched_load() -> None:
    effect = Effect(name="speed-up", value=1.5, low=1.4, high=1.6, confidence=0.999)
    measured = Finding(check="CLM2", verdict=Verdict.VIOLATES, required=True, summary="", effect=effect)
    assert judged(measured, speed_up=2.5).ruling is Ruling.MEASURED_FALSE
    assert judged(measured, speed_up=1.4).ruling is Ruling.MEASURED_TRUE


@pytest.mark.parametrize(
    ("findings", "claimed", "ruling"),
    [
        ((law(Verdict.CONFORMS),), True, Ruling.MEASURED_TRUE),
        ((law(Verdict.VIOLATES),), True, Ruling.MEASURED_FALSE),
        ((law(Verdict.CONFORMS), law(Verdict.VIOLATES, "GRD1")), True, Ruling.MEASURED_FALSE),
        ((law(Verdict.CONFORMS, "GRD1"),), True, Ruling.PLAUSIBLE),  # greedy equality alone bounds no law
        ((law(Verdict.INCONCLUSIVE),), True, Ruling.PLAUSIBLE),
        ((law(Verdict.VIOLATES),), False, Ruling.MEASURED_TRUE),
    ],
)
def test_losslessness(findings: tuple[Finding, ...], claimed: bool, ruling: Ruling) -> None:
    assert judged(*findings, lossless=claimed).ruling is ruling


def test_what_the_evidence_does_not_show_is_told_and_no_number_is_left_open() -> None:
    found = judged(law(Verdict.CONFORMS), lossless=True, speed_up=2.5)
    assert found.ruling is Ruling.MEASURED_TRUE
    assert "The evidence shows nothing of speed up." in found.reasons
    open_one = judged(law(Verdict.CONFORMS), acceptance(3.2, 3.5), lossless=True, acceptance_length=3.36)
    assert open_one.ruling is Ruling.PLAUSIBLE


def test_without_anything_measured_the_ruling_stands() -> None:
    assert judged(speed_up=2.5).ruling is Ruling.PLAUSIBLE
    assert judged(speed_up=600.0).ruling is Ruling.IMPOSSIBLE
