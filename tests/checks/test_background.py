"""Background traffic: what is planned, what ran beside what, and that none of it is judged."""

import pytest

from specaudit.calibrate.drive import drive
from specaudit.checks.background import accompanied, beside_traffic, no_traffic
from specaudit.checks.ctr1 import WindowValidity
from specaudit.checks.windows import block_windows
from specaudit.model.capabilities import Capabilities
from specaudit.model.entries import PlanEntry, ProbeEntry
from specaudit.model.evidence import Evidence
from specaudit.model.plan import PlannedRequest, Stage
from specaudit.model.record import digest
from specaudit.model.request import GREEDY, Request
from specaudit.model.suite import Background, Suite
from tests.checks.drive import engine
from tests.model.builders import plan

TRAFFIC = Background(requests=1.5, max_tokens=(2, 9))


def header(*, concurrency=4, background=TRAFFIC, seed=0):
    suite = Suite(name="test", title="", background=background, checks={"CTR1": {}})
    return plan("CTR1", suite=suite, concurrency=concurrency, seed=seed, metrics="in process")


def found(head):
    told = Capabilities(engine="reference", tokens="ids", token_prompts=True, vocabulary_size=4, counters=True)
    return Evidence([PlanEntry(plan=head, digest=digest(head)), ProbeEntry(role="subject", capabilities=told)])


def stage(count=10, prompts=()):
    request = Request(prompt=() if prompts else (0, 1), sampling=GREEDY, seed=0, max_tokens=6)
    block = tuple(PlannedRequest(arm="subject", prompt_index=0, request=request) for _ in range(count))
    return Stage(name="CTR1", blocks=(block, block[:3]), prompts=prompts, scrape=True)


def traffic_of(planned):
    return [one for one in planned if one.arm == "background"]


def test_every_block_gets_its_share_and_a_tail():
    mixed = beside_traffic(stage(), header(), found(header()), "CTR1")
    assert [len(traffic_of(block)) for block in mixed.blocks] == [15 + 2, 5 + 2]
    assert [one for one in mixed.slots() if one.arm == "subject"] == list(stage().slots())
    assert all(block[0].arm == "background" == block[-1].arm for block in mixed.blocks)


def test_traffic_is_mixed_and_ragged_and_its_seeds_are_its_own():
    requests = [one.request for one in traffic_of(beside_traffic(stage(), header(), found(header()), "CTR1").slots())]
    assert {one.sampling for one in requests} == set(TRAFFIC.sampling)
    assert {one.max_tokens for one in requests} <= set(range(2, 10))
    assert len({one.max_tokens for one in requests}) > 3
    assert len({one.seed for one in requests}) == len(requests)
    assert 0 not in {one.seed for one in requests}


def test_it_follows_from_the_seed_alone():
    one, same, other = (
        beside_traffic(stage(), header(seed=seed), found(header(seed=seed)), "CTR1") for seed in (0, 0, 1)
    )
    assert digest(one) == digest(same) != digest(other)


def test_prompts_that_a_stage_shares_stay_its_own():
    mixed = beside_traffic(stage(prompts=((3, 3, 3),)), header(), found(header()), "CTR1")
    assert {one.request.prompt for one in mixed.slots() if one.arm == "subject"} == {(3, 3, 3)}
    assert (3, 3, 3) not in {one.request.prompt for one in traffic_of(mixed.slots())}


@pytest.mark.parametrize(
    ("head", "why"),
    [(header(background=None), "declares no"), (header(concurrency=1), "one at a time"), (header(), "")],
)
def test_there_is_none_unless_it_is_declared_and_can_run_beside(head, why):
    assert why in no_traffic(head)
    assert bool(no_traffic(head)) is (beside_traffic(stage(), head, found(head), "CTR1") == stage())


def driven(head):
    class Mixed(WindowValidity):
        def next_stage(self, plan, settings, evidence):
            return None if "CTR1" in evidence.stages else beside_traffic(stage(), plan, evidence, "CTR1")

    engines = {"subject": engine(), "reference": engine(draft_tokens=0)}
    return drive(Mixed(), None, head, engines, reveal=False, hidden={"subject": {}, "reference": {}})


def test_it_runs_beside_the_subject_in_one_batch_and_enters_no_draws():
    evidence = driven(header())
    assert accompanied(evidence, "CTR1") == stage().size
    assert set(evidence.draws("CTR1")) == {"subject"}


def test_what_did_not_run_beside_is_not_said_to_have():
    evidence = driven(header())
    alone = [e for e in evidence.entries if getattr(e, "slot", 0) in {0, 3}]
    assert accompanied(Evidence(alone), "CTR1") <= 1
    assert accompanied(driven(header(background=None)), "CTR1") == 0


def test_windows_of_counters_are_valid_although_there_was_traffic():
    windows = block_windows(driven(header()), "CTR1")
    assert [window.status for window in windows] == ["valid", "valid"]
    assert windows[0].window.generation_tokens > 10 * 6  # the traffic's tokens are counted and were received
