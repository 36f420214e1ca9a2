"""A check within a check: its evidence is that of an audit of nothing else."""

import msgspec
import pytest

from specaudit.calibrate import drive as stages
from specaudit.checks.interface import budget_of
from specaudit.checks.law1.check import EmittedLaw
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.part import Part
from specaudit.checks.powered import STAGE as CANDIDATES
from specaudit.checks.powered import prompts_for
from specaudit.checks.seeds import PARTS, SEEDS, first_seed
from specaudit.model.finding import Verdict
from specaudit.model.suite import PromptSettings
from tests.checks.drive import engine
from tests.model.builders import plan

SETTINGS = LawSettings(tolerance=0.3, word_length=1, blocks=3, max_completions=1000)


class Halves(EmittedLaw):
    """Two audits by LAW1, one after the other."""

    id = "LAW9"

    def parts(self, settings):
        return [
            Part(owner="LAW9", number=number, planned=2, check=EmittedLaw(), settings=settings) for number in (0, 1)
        ]

    def next_stage(self, plan, settings, evidence):
        found = (part.next_stage(plan, evidence) for part in self.parts(settings))
        return next((stage for stage in found if stage is not None), None)

    def judge(self, settings, evidence, budget):
        return [part.judge(evidence, budget) for part in self.parts(settings)]


def audited(name="reference", candidates=0):
    header = plan("LAW9", alpha=1e-3, metrics="in process")
    header = msgspec.structs.replace(
        header, suite=msgspec.structs.replace(header.suite, prompts=PromptSettings(candidates=candidates))
    )
    engines = {"subject": engine(name), "reference": engine(draft_tokens=0)}
    return stages.drive(Halves(), SETTINGS, header, engines, reveal=True, hidden={role: {} for role in engines})


@pytest.mark.parametrize(
    ("name", "verdict"), [("reference", Verdict.CONFORMS), ("resid-from-target", Verdict.VIOLATES)]
)
def test_each_part_is_judged_by_its_own_evidence(name, verdict):
    evidence = audited(name)
    findings = Halves().judge(SETTINGS, evidence, budget_of(evidence.plan, "LAW9"))
    assert [finding.verdict for finding in findings] == [verdict, verdict]
    assert all(finding.alpha == pytest.approx(5e-4) for finding in findings)
    assert {name.rpartition(".")[0] for name in evidence.stages} == {"LAW9.0.sample", "LAW9.1.sample"}


def test_parts_share_no_seed_and_no_answer():
    evidence = audited()
    first, second = (
        {planned.request.seed for name in evidence.parts(f"LAW9.{number}") for planned in evidence.stages[name].slots()}
        for number in (0, 1)
    )
    assert not first & second
    parts = [part.evidence(evidence) for part in Halves().parts(SETTINGS)]
    assert sum(len(part.attempts()) for part in parts) == len(evidence.attempts())
    assert {name.rpartition(".")[0] for part in parts for name in part.stages} == {"LAW1.sample"}


def test_seeds_suffice_for_many_parts_and_what_they_do_not_suffice_for_is_refused():
    header = msgspec.structs.replace(plan("LAW9"), checks=tuple(f"X{i}" for i in range(24)))
    last = Part(owner="LAW9", number=15, planned=16, check=EmittedLaw(), settings=SETTINGS).plan(header)
    assert 0 <= first_seed(last, "LAW1", "subject") < 2**30 - PARTS * SEEDS
    with pytest.raises(ValueError, match="need more seeds"):
        Part(owner="LAW9", number=0, planned=1000, check=EmittedLaw(), settings=SETTINGS).plan(header)


def test_arms_may_have_other_roles_within():
    part = Part(
        owner="LAW9",
        number=0,
        planned=1,
        check=EmittedLaw(),
        settings=SETTINGS,
        arms={"subject": "reference", "reference": "subject"},
    )
    evidence = audited()
    within = part.evidence(evidence)
    assert within.plan.arm("subject").engine == evidence.plan.arm("reference").engine
    assert within.capabilities["subject"] == evidence.capabilities["reference"]
    stage = part.next_stage(evidence.plan, type(evidence)(evidence.entries[:4]))
    assert {planned.arm for planned in stage.slots()} == {"subject"}  # the pilot asks what stands for the reference


def test_prompts_are_chosen_once_for_all_parts():
    evidence = audited(candidates=3)
    assert next(iter(evidence.stages)) == CANDIDATES
    assert len(evidence.stages[CANDIDATES].prompts) == 3
    asked = {evidence.stages[name].prompts for name in evidence.stages if name != CANDIDATES}
    assert asked == {prompts_for(evidence.plan, evidence, SETTINGS.prompts, 0)}
