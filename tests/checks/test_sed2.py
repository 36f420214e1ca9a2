"""SED2: requests alone and in company."""

import msgspec
import pytest

from specaudit.calibrate.drive import drive
from specaudit.checks.company import NEIGHBOURS, places_in_company
from specaudit.checks.interface import budget_of
from specaudit.checks.sed2.check import OwnBatch
from specaudit.checks.sed2.requests import AGAIN, ALONE, COMPANY, BatchSettings
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.finding import Verdict
from specaudit.mutants import registry
from tests.checks.drive import engine
from tests.model.builders import plan

CHECK = OwnBatch()
SETTINGS = BatchSettings(prompts=24, max_tokens=4, tolerance=0.27)


def judged(subject=None, *, concurrency=8, settings=SETTINGS, reference=False, reveal=False, hidden=(), **changes):
    arms = {"subject": subject or engine()}
    if reference or reveal:
        arms["reference"] = engine(draft_tokens=0)
    header = plan(CHECK.id, alpha=1e-3, metrics="in process", concurrency=concurrency)
    told = {role: dict(hidden) for role in arms}
    evidence = drive(CHECK, settings, header, arms, reveal=reveal, hidden=told, **changes)
    return CHECK.judge(settings, evidence, budget_of(header, CHECK.id)), evidence


def control(name):
    return ReferenceEngine(registry.get_control(name).build(MARKOV4, draft_tokens=3))


@pytest.mark.parametrize("subject", [engine(draft_tokens=0), control("preemption")])
def test_what_depends_on_itself_conforms(subject):
    found, evidence = judged(subject, reference=True)
    assert found.verdict is Verdict.CONFORMS, found.summary
    assert [view.samples for view in found.views] == [24, 24]
    assert (found.coverage["drafted steps in company"] is None) == (subject.decoder.draft_tokens == 0)
    assert ("nothing was drafted" in " ".join(found.notes)) == (subject.decoder.draft_tokens == 0)
    assert all(len(block) == 1 for name in (ALONE, AGAIN) for block in evidence.stages[name].blocks)


@pytest.mark.parametrize("mutant", ["seed-depends-on-batch", "greedy-sentinel-mismatch"])
def test_what_depends_on_its_batch_violates(mutant):
    found, _ = judged(engine(mutant))
    assert found.verdict is Verdict.VIOLATES, found.summary
    assert found.effect.low > SETTINGS.tolerance
    assert found.witness is not None


@pytest.mark.parametrize(("mutant", "prompts"), [("batch-row-permuted", 24), ("q-row-misaligned", 56)])
def test_where_the_law_is_exactly_known_a_single_answer_is_enough(mutant, prompts):
    settings = BatchSettings(prompts=prompts, max_tokens=8)
    found, evidence = judged(engine(mutant), settings=settings, reveal=True)
    assert found.verdict is Verdict.VIOLATES, found.summary
    assert {planned.engine for planned in evidence.stages[COMPANY].slots()} == {"subject"}


def test_where_seeds_decide_nothing_nothing_is_said_of_batches():
    found, _ = judged(engine("seed-ignored"))
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert found.summary.startswith("Seeds are not honoured: 24 of 24")


@pytest.mark.parametrize(
    ("hidden", "reason"), [({"refused": ("seed",)}, "refuses requests with a seed"), ({"repeats": "always"}, "cache")]
)
def test_what_cannot_be_asked_is_not_applicable(hidden, reason):
    found, evidence = judged(hidden=hidden)
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert reason in found.summary
    assert not evidence.stages


def test_one_request_at_a_time_has_no_company():
    found, _ = judged(concurrency=1)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.next_step.endswith("--concurrency 8")


def test_without_a_temperature_only_sampled_requests_are_asked():
    found, evidence = judged(hidden={"temperature": "one"})
    assert found.verdict is Verdict.CONFORMS
    assert [view.name for view in found.views] == ["sampled requests"]
    assert all(planned.request.sampling.temperature == 1 for planned in evidence.stages[COMPANY].slots())


def spoiled(roles, every):
    """Change every so many answers in company."""

    def spoil(planned, response):
        if planned.arm not in roles or spoil.alone > 0:
            spoil.alone -= 1
            return response
        first = response.completions[0]
        if planned.prompt_index % every:
            return response
        changed = msgspec.structs.replace(first, tokens=tuple((token + 1) % 4 for token in first.tokens))
        return msgspec.structs.replace(response, completions=(changed, *response.completions[1:]))

    return spoil


@pytest.mark.parametrize(
    ("roles", "reference", "verdict", "told"),
    [
        (("subject",), True, Verdict.VIOLATES, "The batch decides"),
        (("subject",), False, Verdict.VIOLATES, "The batch decides"),
        (("subject", "reference"), True, Verdict.INCONCLUSIVE, "numeric noise of batches"),
    ],
)
def test_what_the_plain_target_does_too_is_no_fault_of_speculation(roles, reference, verdict, told):
    spoil = spoiled(roles, 1)
    spoil.alone = 48 * (1 + reference) + 24
    found, _ = judged(reference=reference, spoil=spoil)
    assert found.verdict is verdict, found.summary
    assert told in found.summary


def test_lost_answers_may_have_been_others():
    found, _ = judged(spoil=lambda planned, response: response if planned.prompt_index % 4 else None)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.effect.value == 0
    assert found.effect.high > 0.27


def test_neighbours_are_of_all_kinds_and_stand_beside_every_request():
    _, evidence = judged(settings=BatchSettings(prompts=16, max_tokens=8), spoil=lambda planned, response: None)
    stage = evidence.stages[COMPANY]
    assert CHECK.judge(SETTINGS, evidence, budget_of(evidence.plan, CHECK.id)).verdict is Verdict.INCONCLUSIVE
    block = [planned.request for planned in stage.blocks[0]]
    places = places_in_company(32)
    assert len(block) == 32 * (NEIGHBOURS + 1)
    looked_at = {block[place].seed for place in places}
    assert looked_at == {planned.request.seed for planned in evidence.stages[ALONE].slots() if planned.arm == "subject"}
    others = [request for place, request in enumerate(block) if place not in places]
    assert len({request.sampling for request in others}) == 4
    assert {request.max_tokens for request in others} == {2, 3, 4, 6, 8}
    assert {request.n for request in others} == {1, 8}
