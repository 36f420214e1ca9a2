import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import stamina

from specaudit.audit import collect
from specaudit.audit.collect import FAILURES_IN_A_ROW, Collector
from specaudit.audit.events import Event, RateLimited, RequestEnded, silent
from specaudit.audit.record import Recorder, read_evidence
from specaudit.engines.interface import Scraper
from specaudit.engines.pace import ATTEMPTS, Pacer
from specaudit.model.entries import AnyEntry, AttemptEntry, Failure, PlanEntry, SnapshotEntry, StageEntry
from specaudit.model.errors import CouldNotTest
from specaudit.model.evidence import Evidence
from specaudit.model.limits import UNLIMITED
from specaudit.model.plan import Role, Stage
from specaudit.model.record import digest
from tests.audit.clocks import Clock
from tests.audit.fakes import CONNECT, TIMEOUT, FakeEngine, FakePage, Outcome, answer, status
from tests.audit.small import made_plan, made_stage, planned


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(collect, "QUIET_SECONDS", 0.0)
    with stamina.set_testing(True, attempts=ATTEMPTS - 1):
        yield


def collected(
    folder: Path,
    stage: Stage,
    engine: FakeEngine,
    *,
    scraper: Scraper | None = None,
    scrapers: Mapping[str, Scraper] | None = None,
    concurrency: int = 4,
    reference: FakeEngine | None = None,
    heard: list[Event] | None = None,
) -> Evidence:
    """Collect a stage, and read the evidence from the file, be it whole or not."""
    clock = Clock()
    engines: dict[Role, FakeEngine] = {"subject": engine} | ({"reference": reference} if reference else {})
    listener = silent if heard is None else heard.append
    with Recorder(folder) as recorder:
        recorder.append(PlanEntry(plan=made_plan(), digest=digest(made_plan())))
        recorder.append(StageEntry(stage=stage, digest=digest(stage)))
        collector = Collector(
            recorder,
            engines,
            scrapers or ({} if scraper is None else {"": scraper}),
            concurrency=concurrency,
            listener=listener,
            pacer=Pacer(UNLIMITED, clock=clock, sleep=clock.sleep),
        )
        asyncio.run(collector.collect(stage))
    return read_evidence(folder)


def attempts(evidence: Evidence) -> list[AttemptEntry]:
    return [entry for entry in evidence.entries if isinstance(entry, AttemptEntry)]


def snapshots(evidence: Evidence) -> list[SnapshotEntry]:
    return [entry for entry in evidence.entries if isinstance(entry, SnapshotEntry)]


@pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (3, 3), (8, 6)])
def test_concurrency_is_reached_and_never_exceeded(tmp_path: Path, concurrency: int, most: int) -> None:
    engine = FakeEngine(delay=lambda seed: 0.002)
    collected(tmp_path, made_stage([6, 6, 2]), engine, concurrency=concurrency)
    assert engine.most_in_flight == most
    assert sorted(engine.asked) == list(range(14))


def test_a_block_ends_before_the_next_begins(tmp_path: Path) -> None:
    engine = FakeEngine(delay=lambda seed: 0.004 if seed == 0 else 0.0)
    evidence = collected(tmp_path, made_stage([3, 3]), engine)
    order = [entry.slot for entry in attempts(evidence)]
    assert order[2] == 0
    assert set(order[3:]) == {3, 4, 5}


def test_every_attempt_is_recorded_errors_included(tmp_path: Path) -> None:
    outcomes = {1: status(400), 2: TIMEOUT, 3: status(500, lost=True)}
    evidence = collected(tmp_path, made_stage([5]), FakeEngine(lambda seed, _: outcomes.get(seed, answer(seed))))
    found = {entry.slot: entry for entry in attempts(evidence)}
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert {slot: entry.failure for slot, entry in found.items() if entry.failure} == outcomes
    assert {slot: entry.response for slot, entry in found.items() if entry.response} == {0: answer(0), 4: answer(4)}
    assert all(
        entry.number == 1 and entry.seconds >= 0 and entry.started.endswith("+00:00") for entry in found.values()
    )


@pytest.mark.parametrize("refusal", [status(429), status(503), CONNECT], ids=["429", "503", "connect"])
def test_what_was_refused_before_anything_was_generated_is_asked_again_in_its_slot(
    tmp_path: Path, refusal: Failure
) -> None:
    engine = FakeEngine(lambda seed, attempt: refusal if seed == 1 and attempt < 3 else answer(seed))
    evidence = collected(tmp_path, made_stage([3]), engine)
    of_one = [entry for entry in attempts(evidence) if entry.slot == 1]
    assert [entry.number for entry in of_one] == [1, 2, 3]
    assert [entry.failure for entry in of_one] == [refusal, refusal, None]
    assert evidence.response("T1", 1) == answer(1)


def test_asking_again_has_an_end(tmp_path: Path) -> None:
    engine = FakeEngine(lambda seed, _: status(503) if seed == 1 else answer(seed))
    evidence = collected(tmp_path, made_stage([3]), engine)
    assert [entry.number for entry in attempts(evidence) if entry.slot == 1] == [1, 2, 3, 4]
    assert evidence.response("T1", 1) is None


@pytest.mark.parametrize("refusal", [status(429), status(429, retry_after=7.0), status(503, retry_after=7.0)], ids=str)
def test_a_limit_on_the_rate_is_no_failure_however_often_it_is_met(tmp_path: Path, refusal: Failure) -> None:
    heard: list[Event] = []
    engine = FakeEngine(lambda seed, attempt: refusal if seed == 1 and attempt < 15 else answer(seed))
    evidence = collected(tmp_path, made_stage([3]), engine, heard=heard)
    assert [entry.number for entry in attempts(evidence) if entry.slot == 1] == list(range(1, 16))
    assert evidence.response("T1", 1) == answer(1)
    assert [event for event in heard if isinstance(event, RequestEnded)] == [RequestEnded(answered=True, tokens=2)] * 3
    assert [event for event in heard if isinstance(event, RateLimited)] == [RateLimited("subject")]


def test_a_server_that_lets_nothing_in_is_given_up_and_nothing_is_lost(tmp_path: Path) -> None:
    engine = FakeEngine(lambda seed, _: status(429, retry_after=50.0) if seed >= 2 else answer(seed))
    with pytest.raises(CouldNotTest, match=r"answered 429. It lets in no request for more than 10 minutes.$"):
        collected(tmp_path, made_stage([4]), engine, concurrency=1)
    evidence = read_evidence(tmp_path)
    assert engine.asked.count(2) == 14
    assert not any(entry.failure.lost for entry in attempts(evidence) if entry.failure)


@pytest.mark.parametrize("failure", [TIMEOUT, status(500, lost=True), status(400), status(401), status(404)])
def test_what_may_have_been_drawn_or_is_refused_for_good_is_never_asked_again(tmp_path: Path, failure: Failure) -> None:
    engine = FakeEngine(lambda seed, _: failure if seed == 1 else answer(seed))
    collected(tmp_path, made_stage([3]), engine)
    assert engine.asked.count(1) == 1


def test_a_dead_engine_stops_collecting(tmp_path: Path) -> None:
    engine = FakeEngine(lambda seed, _: CONNECT if seed >= 5 else answer(seed))
    with pytest.raises(
        CouldNotTest,
        match=r"at request 6 of stage T1, at \S+: Nothing answers\. Its last answer was to request 5 of stage T1, at",
    ):
        collected(tmp_path, made_stage([20, 20]), engine, concurrency=1)
    evidence = read_evidence(tmp_path)
    assert [entry.slot for entry in attempts(evidence) if entry.response] == [0, 1, 2, 3, 4]
    assert engine.asked.count(5) == ATTEMPTS
    assert max(engine.asked) == 5


def test_a_death_under_concurrency_is_one_sentence(tmp_path: Path) -> None:
    engine = FakeEngine(lambda seed, _: CONNECT)
    with pytest.raises(CouldNotTest, match="The subject stopped answering"):
        collected(tmp_path, made_stage([20]), engine, concurrency=8)


@pytest.mark.parametrize("failure", [status(400), TIMEOUT], ids=["400", "timeout"])
def test_an_engine_that_refuses_everything_is_given_up(tmp_path: Path, failure: Failure) -> None:
    engine = FakeEngine(lambda seed, _: failure)
    with pytest.raises(CouldNotTest, match=rf"at request {FAILURES_IN_A_ROW} of stage T1, at \S+: {failure.message}"):
        collected(tmp_path, made_stage([100]), engine, concurrency=1)
    assert len(engine.asked) == FAILURES_IN_A_ROW
    assert len(attempts(read_evidence(tmp_path))) == FAILURES_IN_A_ROW


def test_an_answer_in_between_keeps_an_engine_alive(tmp_path: Path) -> None:
    engine = FakeEngine(lambda seed, _: answer(seed) if seed % FAILURES_IN_A_ROW == 0 else status(400))
    evidence = collected(tmp_path, made_stage([100]), engine, concurrency=1)
    assert sum(entry.response is not None for entry in attempts(evidence)) == 100 / FAILURES_IN_A_ROW


def test_failures_are_counted_for_each_arm(tmp_path: Path) -> None:
    block = tuple(planned(slot, "subject" if slot % 2 else "reference") for slot in range(60))
    stage = Stage(name="T1", blocks=(block,))
    with pytest.raises(CouldNotTest, match="The reference refuses what is asked of it at request 39 of"):
        collected(tmp_path, stage, FakeEngine(), reference=FakeEngine(lambda seed, _: status(400)), concurrency=1)


def test_requests_in_flight_when_collecting_ends_are_recorded(tmp_path: Path) -> None:
    def outcome(seed: int, attempt: int) -> Outcome:
        return CONNECT if seed == 0 else answer(seed)

    engine = FakeEngine(outcome, delay=lambda seed: 0.0 if seed == 0 else 30.0)
    with pytest.raises(CouldNotTest):
        collected(tmp_path, made_stage([9]), engine, concurrency=3)
    given_up = [entry for entry in attempts(read_evidence(tmp_path)) if entry.slot in (1, 2)]
    assert [entry.failure and (entry.failure.reason, entry.failure.lost) for entry in given_up] == [
        ("given up", True),
        ("given up", True),
    ]
    assert sorted(set(engine.asked)) == [0, 1, 2]


def test_a_fault_of_the_adapter_is_not_hidden(tmp_path: Path) -> None:
    def outcome(seed: int, attempt: int) -> Outcome:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as caught:
        collected(tmp_path, made_stage([3]), FakeEngine(outcome))
    assert caught.value.subgroup(ZeroDivisionError) is not None


def test_who_listens_hears_of_every_slot_once(tmp_path: Path) -> None:
    def outcome(seed: int, attempt: int) -> Outcome:
        return {(1, 1): status(503), (2, 1): TIMEOUT}.get((seed, attempt)) or answer(seed)

    heard: list[Event] = []
    engine = FakeEngine(outcome)
    collected(tmp_path, made_stage([2, 2]), engine, heard=heard, concurrency=1)
    assert heard == [
        RequestEnded(answered=True, tokens=2),
        RequestEnded(answered=True, tokens=2),
        RequestEnded(answered=False, tokens=0),
        RequestEnded(answered=True, tokens=2),
    ]


def test_counters_are_read_before_and_after_every_block(tmp_path: Path) -> None:
    page = FakePage("a_tokens_total 1\n")
    evidence = collected(tmp_path, made_stage([2, 2], scrape=True), FakeEngine(), scraper=page)
    assert [entry.block for entry in snapshots(evidence)] == [0, 1, 2]
    assert all(entry.quiet and entry.failure is None for entry in snapshots(evidence))
    kinds = [type(entry).__name__[:-5] for entry in evidence.entries[2:]]
    assert kinds == ["Snapshot", "Attempt", "Attempt", "Snapshot", "Attempt", "Attempt", "Snapshot"]


def test_every_replica_is_read_and_told_apart_with_its_headers(tmp_path: Path) -> None:
    pages = {"http://a/metrics": FakePage("a_tokens_total 1\n"), "http://b/metrics": FakePage(status(404))}
    evidence = collected(tmp_path, made_stage([1, 1], scrape=True), FakeEngine(), scrapers=pages)
    assert [(entry.source, entry.block) for entry in snapshots(evidence)] == [
        (source, block) for block in (0, 1, 2) for source in pages
    ]
    assert {entry.headers["server"] for entry in evidence.snapshots("T1", "http://a/metrics").values()} == {"fake"}
    assert [entry.failure for entry in evidence.snapshots("T1", "http://b/metrics").values()] == [
        "The server answered 404."
    ] * 3
    assert not evidence.snapshots("T1")


@pytest.mark.parametrize("scrape", [True, False])
def test_counters_are_read_only_where_the_stage_asks_and_a_page_is_there(tmp_path: Path, scrape: bool) -> None:
    page = None if scrape else FakePage("a_tokens_total 1\n")
    assert not snapshots(collected(tmp_path, made_stage([2], scrape=scrape), FakeEngine(), scraper=page))


def test_a_page_is_read_until_two_readings_agree(tmp_path: Path) -> None:
    page = FakePage(*(f"# at {n}\ncpu_seconds {n}\na_tokens_total {min(n, 3)}\n" for n in range(6)))
    evidence = collected(tmp_path, made_stage([1], scrape=True), FakeEngine(), scraper=page)
    first = snapshots(evidence)[0]
    assert first.quiet
    assert first.page == "# at 4\ncpu_seconds 4\na_tokens_total 3\n"  # the fifth reading, which agrees with the fourth
    assert first.content_type == "text/plain"


def test_a_page_that_never_rests_is_recorded_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "QUIET_READINGS", 5)
    page = FakePage(*(f"a_tokens_total {n}\n" for n in range(100)))
    evidence = collected(tmp_path, made_stage([1], scrape=True), FakeEngine(), scraper=page)
    assert not snapshots(evidence)[0].quiet


def test_a_page_that_cannot_be_read_is_recorded_with_its_reason(tmp_path: Path) -> None:
    page = FakePage("a_tokens_total 1\n", status(404))
    evidence = collected(tmp_path, made_stage([1], scrape=True), FakeEngine(), scraper=page)
    assert [entry.failure for entry in snapshots(evidence)] == ["The server answered 404."] * 2
    assert not any(entry.quiet for entry in snapshots(evidence))
    assert len(attempts(evidence)) == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_arrival_changes_nothing(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    delays = [rng.random() * 0.003 for _ in range(24)]
    stage = made_stage([12, 12])
    shuffled = collected(tmp_path / "a", stage, FakeEngine(delay=delays.__getitem__), concurrency=8)
    in_order = collected(tmp_path / "b", stage, FakeEngine(), concurrency=1)
    assert [entry.slot for entry in attempts(shuffled)] != [entry.slot for entry in attempts(in_order)]
    ours, theirs = shuffled.draws("T1")["subject"], in_order.draws("T1")["subject"]
    assert (ours.tokens == theirs.tokens).all()
    assert (ours.slot == theirs.slot).all()
    assert ours.vocabulary == theirs.vocabulary


def resumed(
    folder: Path, stage: Stage, engine: FakeEngine, entries: Sequence[AnyEntry], *, scraper: Scraper | None = None
) -> Evidence:
    """Collect what earlier entries leave of a stage, and read the whole evidence."""
    with Recorder(folder) as recorder:
        for entry in (PlanEntry(plan=made_plan(), digest=digest(made_plan())), StageEntry(stage=stage, digest="")):
            recorder.append(entry)
        for entry in entries:
            recorder.append(entry)
        collector = Collector(
            recorder, {"subject": engine}, {} if scraper is None else {"": scraper}, concurrency=1, listener=silent
        )
        asyncio.run(collector.collect(stage))
        return recorder.evidence()


def tried(slot: int, outcome: Outcome, number: int = 1) -> AttemptEntry:
    response, failure = (None, outcome) if isinstance(outcome, Failure) else (outcome, None)
    return AttemptEntry(
        stage="T1", slot=slot, number=number, started="", seconds=0.0, response=response, failure=failure
    )


def test_resumed_it_asks_what_was_refused_or_never_recorded_and_nothing_else(tmp_path: Path) -> None:
    engine = FakeEngine()
    earlier = [
        tried(0, answer(0)),
        tried(1, TIMEOUT),
        tried(2, status(429)),
        tried(3, status(429)),
        tried(3, status(401), 2),
        tried(4, status(503)),
        tried(4, answer(4), 2),
    ]
    evidence = resumed(tmp_path, made_stage([3, 4]), engine, earlier)
    assert engine.asked == [2, 3, 5, 6]
    assert [entry.number for entry in evidence.attempts_at("T1", 2)] == [1, 2]
    assert [entry.number for entry in evidence.attempts_at("T1", 3)] == [1, 2, 3]
    assert [slot for slot in range(7) if evidence.response("T1", slot) is None] == [1]


def test_resumed_it_takes_the_readings_that_are_missing(tmp_path: Path) -> None:
    page = FakePage("a_tokens_total 1\n")
    stage = made_stage([1, 1, 1], scrape=True)
    whole = collected(tmp_path / "whole", stage, FakeEngine(), scraper=FakePage("a_tokens_total 1\n"))
    earlier = whole.entries[2:6]  # reading 0, slot 0, reading 1, slot 1
    evidence = resumed(tmp_path / "resumed", stage, FakeEngine(), earlier, scraper=page)
    assert [entry.block for entry in snapshots(evidence)] == [0, 1, 2, 3]
    assert [entry.slot for entry in attempts(evidence)] == [0, 1, 2]


@pytest.mark.parametrize(("settled", "blocks"), [(1, [0, 1, 1, 2]), (2, [0, 1, 2])])
def test_resumed_it_takes_a_failed_reading_again_where_nothing_was_generated_since(
    tmp_path: Path, settled: int, blocks: list[int]
) -> None:
    stage = made_stage([1, 1], scrape=True)
    pages = FakePage("a_tokens_total 1\n", "a_tokens_total 1\n", status(404))
    whole = collected(tmp_path / "whole", stage, FakeEngine(), scraper=pages)
    earlier = [*whole.entries[2:5], tried(1, answer(1) if settled == 2 else CONNECT)]
    page = FakePage("a_tokens_total 2\n")
    evidence = resumed(tmp_path / "resumed", stage, FakeEngine(), earlier, scraper=page)
    assert [entry.block for entry in snapshots(evidence)] == blocks
    assert (evidence.snapshots("T1")[1].failure is None) == (settled == 1)


def test_a_stage_that_had_ended_is_left_as_it_is(tmp_path: Path) -> None:
    stage = made_stage([2, 2], scrape=True)
    whole = collected(tmp_path / "whole", stage, FakeEngine(), scraper=FakePage("a_tokens_total 1\n"))
    engine, page = FakeEngine(), FakePage("a_tokens_total 1\n")
    evidence = resumed(tmp_path / "resumed", stage, engine, whole.entries[2:], scraper=page)
    assert (engine.asked, page.read) == ([], 0)
    assert len(evidence.entries) == len(whole.entries)


def test_traffic_asks_the_subjects_engine_and_a_replay_the_references(tmp_path: Path) -> None:
    subject, reference = FakeEngine(), FakeEngine()
    roles: list[Role] = ["subject", "background", "reference", "replay"]
    block = tuple(planned(slot, arm) for slot, arm in enumerate(roles))
    evidence = collected(tmp_path, Stage(name="small", blocks=(block,)), subject, reference=reference)
    assert (sorted(subject.asked), sorted(reference.asked)) == ([0, 1], [2, 3])
    assert all(evidence.is_settled("small", slot) for slot in range(4))


@pytest.mark.parametrize(("concurrency", "most"), [(None, 4), (2, 2), (9, 4)])
def test_a_stage_may_have_fewer_requests_in_flight(tmp_path: Path, concurrency: int | None, most: int) -> None:
    engine = FakeEngine(delay=lambda seed: 0.002)
    block = tuple(planned(slot) for slot in range(12))
    collected(tmp_path, Stage(name="small", blocks=(block,), concurrency=concurrency), engine, concurrency=4)
    assert engine.most_in_flight == most
