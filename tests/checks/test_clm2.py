"""CLM2 on evidence with a clock of its own."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import pytest

from specaudit.checks.clm2 import LoadSettings, SpeedUp
from specaudit.checks.interface import budget_of
from specaudit.checks.load import STAGE, measured
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response
from specaudit.model.entries import AttemptEntry, Failure, PlanEntry, ProbeEntry, StageEntry
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Arm, Plan, Stage
from specaudit.model.record import digest
from tests.model.builders import plan

SETTINGS = LoadSettings(quads=6, warm_up=1, requests=2, max_tokens=4)
START = datetime(2026, 1, 1, tzinfo=UTC)


def head(**changes: object) -> Plan:
    return plan("CLM2", **changes)


def begun(header: Plan) -> Evidence:
    probes = [
        ProbeEntry(role=arm.role, capabilities=Capabilities(engine="reference", tokens="ids")) for arm in header.arms
    ]
    return Evidence([PlanEntry(plan=header, digest=digest(header)), *probes])


def run(
    speed_up: float = 2.0, *, noise: float = 0.01, lose: tuple[int, ...] = (), short: tuple[int, ...] = (), **more: Any
) -> Evidence:
    """Evidence of blocks one behind the other; a request of the reference takes a second, the second one as long."""
    header = head()
    evidence = begun(header)
    stage = SpeedUp().next_stage(header, SETTINGS, evidence)
    assert stage is not None
    rng, clock, entries, slot = np.random.default_rng(0), 0.0, [StageEntry(stage=stage, digest=digest(stage))], 0
    for block in stage.blocks:
        took = float(np.exp(noise * rng.normal())) / (speed_up if block[0].arm == "subject" else 1.0)
        for one in block:
            tokens = tuple(range(one.request.max_tokens - (slot in short)))
            response = Response(completions=(Completion(tokens=tokens),), first_token=took / 4, **more)
            failure = Failure(reason="timeout", message="gone", lost=True) if slot in lose else None
            entries.append(
                AttemptEntry(
                    stage=STAGE,
                    slot=slot,
                    number=1,
                    started=(START + timedelta(seconds=clock)).isoformat(),
                    seconds=took,
                    response=None if failure else response,
                    failure=failure,
                )
            )
            slot += 1
        clock += took
    return Evidence([*evidence.entries, *entries])


def judged(evidence: Evidence, **settings: object) -> Finding:
    return SpeedUp().judge(msgspec.structs.replace(SETTINGS, **settings), evidence, budget_of(evidence.plan, "CLM2"))


class TestThePlan:
    @pytest.fixture
    def stage(self) -> Stage:
        header = head()
        stage = SpeedUp().next_stage(header, SETTINGS, begun(header))
        assert stage is not None
        return stage

    def test_arms_take_turns(self, stage):
        order = "".join(block[0].arm[0] for block in stage.blocks)
        assert order == "srrsrssr" * 3 + "srrs"

    def test_the_arms_of_half_a_quad_are_asked_the_same(self, stage):
        asked = [[(one.request.prompt, one.request.max_tokens) for one in block] for block in stage.blocks]
        assert all(asked[i] == asked[i + 1] for i in range(0, len(asked), 2))

    def test_no_prompt_is_asked_of_an_arm_twice(self, stage):
        slots = stage.slots()
        for arm in ("subject", "reference"):
            prompts = [one.request.prompt for one in slots if one.arm == arm]
            assert len(set(prompts)) == len(prompts) == 28

    def test_nothing_ends_before_its_cap_and_no_seed_is_used_twice(self, stage):
        requests = [one.request for one in stage.slots()]
        assert all(request.ignore_eos for request in requests)
        assert len({request.seed for request in requests}) == len(requests)

    def test_the_load_is_the_settings(self):
        header = head()
        settings = msgspec.structs.replace(SETTINGS, concurrency=3, rate=20.0)
        stage = SpeedUp().next_stage(header, settings, begun(header))
        assert (stage.concurrency, stage.rate) == (3, 20.0)

    def test_it_is_asked_once(self):
        assert SpeedUp().next_stage(head(), SETTINGS, run()) is None


class TestTheVerdict:
    @pytest.mark.parametrize(
        ("stated", "verdict"),
        [
            (None, Verdict.CONFORMS),
            (2.0, Verdict.CONFORMS),
            (1.9, Verdict.CONFORMS),
            (3.0, Verdict.VIOLATES),
            (2.2, Verdict.VIOLATES),
        ],
    )
    def test_against_what_was_claimed(self, stated, verdict):
        assert judged(run(2.0), stated=stated).verdict is verdict

    def test_a_slow_down_violates_without_a_claim(self):
        found = judged(run(0.8))
        assert found.verdict is Verdict.VIOLATES
        assert "speculation slows it down" in found.summary

    def test_much_noise_leaves_it_open_and_says_what_would_settle_it(self):
        found = judged(run(2.0, noise=0.2), stated=2.0)
        assert found.verdict is Verdict.INCONCLUSIVE
        assert "quads would tell a difference of 5%" in found.summary

    def test_the_effect_is_the_speed_up(self):
        effect = judged(run(2.0)).effect
        assert effect.value == pytest.approx(2.0, rel=0.02)
        assert effect.low < 2.0 < effect.high


class TestTheFigures:
    def test_rates_and_latencies(self):
        found = judged(run(2.0, noise=0.0)).measured
        assert found["quads counted"] == 6
        assert found["reference, tokens a second"] == pytest.approx(8)
        assert found["subject, tokens a second"] == pytest.approx(16)
        assert found["reference, seconds to the answer, 50 %"] == pytest.approx(1)
        assert found["subject, seconds to the first token, 99 %"] == pytest.approx(0.125)
        assert found["reference, seconds between tokens"] == pytest.approx(0.25)

    def test_billed_tokens_count_where_none_are_told(self):
        evidence = run()
        entries = [
            msgspec.structs.replace(
                entry,
                response=Response(completions=(Completion(tokens=None, text="abcd"),), completion_tokens=4),
            )
            if isinstance(entry, AttemptEntry)
            else entry
            for entry in evidence.entries
        ]
        assert judged(Evidence(entries)).measured["quads counted"] == 6

    @pytest.mark.parametrize("how", ["lose", "short"])
    def test_what_is_not_whole_is_left_out_and_told(self, how):
        found = judged(run(**{how: (17, 33)}))
        assert found.measured["quads counted"] == 4
        assert "2 quads were left out: their answers were not whole" in found.notes

    def test_warming_up_does_not_count(self):
        assert judged(run(lose=(0, 1, 2))).measured["quads counted"] == 6

    def test_charts(self):
        titles = [exhibit.title for exhibit in judged(run()).exhibits]
        assert titles == ["Speed-up of each quad", "Seconds to the whole answer", "Seconds to the first token"]

    def test_what_cannot_be_seen_is_told(self):
        assert any("not seen from outside" in note for note in judged(run()).notes)


class TestWithoutWhatItNeeds:
    def test_no_reference(self):
        header = head(arms=(Arm(role="subject", engine="reference"),))
        assert SpeedUp().next_stage(header, SETTINGS, begun(header)) is None
        assert judged(begun(header)).verdict is Verdict.NOT_APPLICABLE

    def test_nothing_was_answered(self):
        assert judged(begun(head())).verdict is Verdict.INCONCLUSIVE

    def test_collecting_that_ended_early(self):
        evidence = run()
        cut = Evidence(evidence.entries[: 4 + 30])
        assert len(measured(cut)) == 3
        assert judged(cut).measured["quads counted"] == 2
