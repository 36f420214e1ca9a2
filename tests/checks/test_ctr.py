"""CTR1 and CTR3 on the pages of a real decoder: restarts, foreign traffic, wrong counters, stated acceptance."""

import asyncio
import hashlib

import msgspec
import numpy as np
import pytest

from specaudit.checks.ctr1 import ValiditySettings, WindowValidity
from specaudit.checks.ctr3 import AcceptanceLength, AcceptanceSettings
from specaudit.checks.ctr_traffic import STAGE
from specaudit.checks.interface import Budget
from specaudit.checks.windows import block_windows
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.capabilities import Capabilities
from specaudit.model.entries import AttemptEntry, PlanEntry, ProbeEntry, SnapshotEntry, StageEntry
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.plan import Arm
from specaudit.model.record import digest
from specaudit.mutants import registry as mutants
from tests.model.builders import plan

BUDGET = Budget(alpha=1e-3, delta=1e-3, seed=0)
VALIDITY, ACCEPTANCE = WindowValidity(), AcceptanceLength()
WINDOWS = ValiditySettings(windows=24, requests=2, choices=8, max_tokens=24)
LENGTH = AcceptanceSettings(windows=24, requests=2, choices=8, max_tokens=24, tolerance=0.4)


class Server:
    """A decoder that can be restarted, used by others, or put behind a page that is not its own."""

    def __init__(self, build=SpeculativeDecoder) -> None:
        self._build = build
        self.restart()

    def restart(self) -> None:
        self.engine = ReferenceEngine(self._build(MARKOV4, draft_tokens=3))

    def ask(self, request):
        return asyncio.run(self.engine.complete(request))

    def page(self):
        return asyncio.run(self.engine.scrape())


def collected(server: Server, between=lambda server, block: None, page=lambda text: text) -> Evidence:
    """Carry out the windows' stage; `between` happens inside each window, `page` changes what is read."""
    head = plan("CTR1", metrics="in process")
    capabilities = Capabilities(
        engine="reference", tokens="ids", token_prompts=True, vocabulary_size=4, max_choices=64, counters=True
    )
    entries = [
        PlanEntry(plan=head, digest=digest(head)),
        *(ProbeEntry(role=role, capabilities=capabilities) for role in ("subject", "reference")),
    ]
    stage = VALIDITY.next_stage(head, WINDOWS, Evidence(entries))
    assert stage is not None
    entries.append(StageEntry(stage=stage, digest=digest(stage)))

    def snapshot(block: int) -> None:
        text = page(server.page().text)
        entries.append(
            SnapshotEntry(
                stage=STAGE,
                block=block,
                taken="",
                quiet=True,
                page=text,
                sha256=hashlib.sha256(text.encode()).hexdigest(),
            )
        )

    snapshot(0)
    slot = 0
    for number, block in enumerate(stage.blocks, start=1):
        between(server, number)
        for planned in block:
            response = server.ask(planned.request)
            entries.append(AttemptEntry(stage=STAGE, slot=slot, number=1, started="", seconds=0.0, response=response))
            slot += 1
        snapshot(number)
    return Evidence(entries)


@pytest.fixture(scope="module")
def healthy() -> Evidence:
    return collected(Server())


def test_healthy_windows_are_valid(healthy):
    finding = VALIDITY.judge(WINDOWS, healthy, BUDGET)
    assert finding.verdict is Verdict.CONFORMS
    assert finding.measured["valid windows"] == 24


def test_acceptance_is_measured_with_an_interval_that_holds_the_truth(healthy):
    finding = ACCEPTANCE.judge(LENGTH, healthy, BUDGET)
    assert finding.verdict is Verdict.CONFORMS
    decoder = SpeculativeDecoder(MARKOV4, draft_tokens=3)
    decoder.generate(np.zeros((40_000, 1), dtype=int), np.arange(40_000) + 10**6, max_tokens=24)
    truth = 1 + decoder.counters.accepted / decoder.counters.drafts
    assert finding.effect is not None
    assert finding.effect.low < truth < finding.effect.high
    rates = [finding.measured[f"steps accepting at least {i}"] for i in (1, 2, 3)]
    assert rates == sorted(rates, reverse=True)


def with_a_second_engine(text: str, *, busy: bool = False) -> str:
    """The page of a server with two engines: the second does the same as the first, or nothing."""
    lines = text.splitlines()
    second = [line.replace('engine="0"', 'engine="1"') for line in lines if 'engine="0"' in line]
    if not busy:
        second = [line if "_created" in line or "awake" in line else f"{line.rsplit(' ', 1)[0]} 0" for line in second]
    return "\n".join([*lines, *second]) + "\n"


def test_a_replica_that_had_nothing_to_do_leaves_the_windows_of_the_other():
    finding = VALIDITY.judge(WINDOWS, collected(Server(), page=with_a_second_engine), BUDGET)
    assert finding.verdict is Verdict.CONFORMS
    assert finding.measured["valid windows"] == 24


def test_replicas_are_held_together_against_what_was_received():
    evidence = collected(Server(), page=lambda text: with_a_second_engine(text, busy=True))
    finding = VALIDITY.judge(WINDOWS, evidence, BUDGET)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.measured["void windows"] == 48
    assert "768 emitted tokens and the client received 384" in finding.summary


PAGES = ("http://a/metrics", "http://b/metrics")


class Pair:
    """Two servers that take turns behind one address, each with a page of its own."""

    def __init__(self) -> None:
        self.servers = dict(zip(PAGES, (Server(), Server()), strict=True))
        self._turn = 0

    def ask(self, request):
        self._turn += 1
        return list(self.servers.values())[self._turn % 2].ask(request)


def replicated(pair: Pair, pages=PAGES, between=lambda pair, block: None) -> Evidence:
    """Carry out the windows' stage against two replicas, of which each of `pages` is read."""
    head = plan("CTR1", metrics=pages[0], replicas=pages[1:])
    entries = [PlanEntry(plan=head, digest=""), *_probed().entries[1:]]
    stage = VALIDITY.next_stage(head, WINDOWS, Evidence(entries))
    assert stage is not None
    entries.append(StageEntry(stage=stage, digest=""))
    slot = 0
    for number, block in enumerate([(), *stage.blocks]):
        between(pair, number)
        for planned in block:
            response = pair.ask(planned.request)
            entries.append(AttemptEntry(stage=STAGE, slot=slot, number=1, started="", seconds=0.0, response=response))
            slot += 1
        for page, source in zip(pages, head.pages, strict=True):
            text, known = pair.servers[page].page().text, {"stage": STAGE, "block": number, "source": source}
            entries.append(SnapshotEntry(**known, taken="", quiet=True, page=text, sha256=""))
    return Evidence(entries)


def test_each_replica_has_windows_of_its_own():
    finding = VALIDITY.judge(WINDOWS, replicated(Pair()), BUDGET)
    assert finding.verdict is Verdict.CONFORMS
    assert finding.measured["valid windows"] == 48
    evidence = replicated(Pair())
    assert {w.replica for w in block_windows(evidence, STAGE)} == {f"{page} engine 0" for page in PAGES}
    assert ACCEPTANCE.judge(LENGTH, evidence, BUDGET).verdict is Verdict.CONFORMS


def test_the_page_of_one_replica_does_not_stand_for_both():
    finding = VALIDITY.judge(WINDOWS, replicated(Pair(), pages=PAGES[:1]), BUDGET)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "192 emitted tokens and the client received 384: other servers answered" in finding.summary


def test_a_restart_of_one_replica_voids_its_window_alone():
    def restart(pair, block):
        if block == 7:
            pair.servers[PAGES[1]].restart()

    finding = VALIDITY.judge(WINDOWS, replicated(Pair(), between=restart), BUDGET)
    assert finding.verdict is Verdict.CONFORMS
    assert finding.measured["void windows"] <= 2


def test_a_restart_voids_its_window_and_nothing_else():
    evidence = collected(Server(), between=lambda server, block: server.restart() if block == 7 else None)
    finding = VALIDITY.judge(WINDOWS, evidence, BUDGET)
    assert finding.verdict is Verdict.CONFORMS  # one void window of 24 is within the tolerance, and is listed
    assert finding.measured["void windows"] == 1
    assert finding.notes[0].startswith("window 7 is void")
    assert ACCEPTANCE.judge(LENGTH, evidence, BUDGET).measured["valid windows"] == 23


def test_foreign_traffic_leaves_no_window_to_use():
    def visit(server, block):
        server.ask(VALIDITY.next_stage(plan("CTR1"), WINDOWS, _probed()).blocks[0][0].request)

    evidence = collected(Server(), between=visit)
    finding = VALIDITY.judge(WINDOWS, evidence, BUDGET)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert ACCEPTANCE.judge(LENGTH, evidence, BUDGET).verdict is Verdict.INCONCLUSIVE


def _probed() -> Evidence:
    head = plan("CTR1", metrics="in process")
    capabilities = Capabilities(
        engine="reference", token_prompts=True, vocabulary_size=4, max_choices=64, counters=True
    )
    return Evidence([PlanEntry(plan=head, digest=""), ProbeEntry(role="subject", capabilities=capabilities)])


def test_counters_that_contradict_themselves_violate():
    evidence = collected(Server(mutants.get("bonus-in-numerator").build))
    finding = VALIDITY.judge(WINDOWS, evidence, BUDGET)
    assert finding.verdict is Verdict.VIOLATES
    assert "contradict themselves in 24 of 24 windows" in finding.summary


def test_an_unreadable_page_is_void_not_a_traceback():
    evidence = collected(Server(), page=lambda text: "<html>login</html>")
    finding = VALIDITY.judge(WINDOWS, evidence, BUDGET)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "HTML" in finding.notes[0]


@pytest.mark.parametrize(
    ("stated", "verdict"),
    [((2.0, 2.5), Verdict.CONFORMS), ((3.2, 4.0), Verdict.VIOLATES), ((1.0, 1.5), Verdict.VIOLATES)],
)
def test_a_stated_acceptance_length_is_held_against_the_measured_one(healthy, stated, verdict):
    settings = AcceptanceSettings(tolerance=0.4, stated=stated)
    assert ACCEPTANCE.judge(settings, healthy, BUDGET).verdict is verdict


def test_a_wide_interval_is_inconclusive(healthy):
    assert ACCEPTANCE.judge(AcceptanceSettings(tolerance=0.001), healthy, BUDGET).verdict is Verdict.INCONCLUSIVE


def test_the_family_shares_one_stage(healthy):
    assert ACCEPTANCE.next_stage(healthy.plan, LENGTH, healthy) is None


@pytest.mark.parametrize(
    ("endpoint", "metrics", "words"),
    [
        ("http://x/v1", None, "No metrics page was named"),
        ("http://x/v1", "http://x/metrics", "no speculation counters"),
        (None, None, "An engine in process has no metrics page"),
    ],
)
def test_without_counters_it_is_not_applicable_and_says_why(endpoint, metrics, words):
    arm = Arm(role="subject", engine="openai", endpoint=endpoint)
    head = msgspec.structs.replace(plan("CTR1", metrics=metrics), arms=(arm,))
    entries = [
        PlanEntry(plan=head, digest=""),
        ProbeEntry(role="subject", capabilities=Capabilities(engine="openai")),
    ]
    for check, settings in ((VALIDITY, WINDOWS), (ACCEPTANCE, LENGTH)):
        finding = check.judge(settings, Evidence(entries), BUDGET)
        assert finding.verdict is Verdict.NOT_APPLICABLE
        assert words in finding.summary
        assert ("--metrics" in finding.next_step) == (endpoint is not None and metrics is None)


def test_a_range_that_the_interval_only_touches_is_not_met(healthy):
    measured = ACCEPTANCE.judge(LENGTH, healthy, BUDGET).effect
    assert measured is not None
    stated = (measured.high - 1e-6, 4.0)
    narrow = AcceptanceSettings(tolerance=0.01 + (measured.high - measured.low) / 2, stated=stated)
    assert ACCEPTANCE.judge(narrow, healthy, BUDGET).verdict is Verdict.INCONCLUSIVE


def test_the_family_makes_as_many_windows_as_any_of_its_checks_wants():
    entries = _probed().entries
    tables = {"CTR1": {"windows": 5}, "CTR3": {"windows": 30}}
    suite = msgspec.structs.replace(plan().suite, checks=tables)
    head = plan("CTR1", suite=suite, checks=("CTR1", "CTR3"))
    stage = VALIDITY.next_stage(head, msgspec.structs.replace(WINDOWS, windows=5), Evidence(entries))
    assert stage is not None
    assert len(stage.blocks) == 30


def test_counters_that_lag_behind_are_void_and_not_wrong():
    """A page that shows speculation as it was one window ago, beside tokens as they are now."""
    seen: list[str] = []

    def lagging(text: str) -> str:
        seen.append(text)
        before = seen[-2] if len(seen) > 1 else text
        old = {line.split(" ")[0]: line for line in before.splitlines() if "spec_decode" in line}
        return "".join(f"{old.get(line.split(' ')[0], line)}\n" for line in text.splitlines())

    def uneven(server, block):
        if block == 3:
            server.ask(msgspec.structs.replace(request, n=64, max_tokens=64))

    request = VALIDITY.next_stage(plan("CTR1"), WINDOWS, _probed()).blocks[0][0].request
    evidence = collected(Server(), between=uneven, page=lagging)
    assert any(w.window is not None and w.window.contradicts for w in block_windows(evidence, STAGE))
    assert VALIDITY.judge(WINDOWS, evidence, BUDGET).verdict is not Verdict.VIOLATES
