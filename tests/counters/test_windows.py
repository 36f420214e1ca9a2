from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.counters.interface import Reading
from specaudit.counters.page import Series
from specaudit.counters.window import Window
from specaudit.counters.windows import page_windows, window

from .recorded import reading
from .simulated import Server


def assert_void(judged: Window, reason: str, *, contradicts: bool = False) -> None:
    assert judged.status == "void"
    assert any(reason in text for text in judged.reasons), judged.reasons
    assert judged.contradicts == contradicts


@pytest.fixture
def ends() -> tuple[Reading, Reading]:
    """A clean window of 10 sequences of 64 tokens."""
    server = Server(seed=1)
    server.serve(3, 64)
    before = server.read()
    server.serve(10, 64)
    return before, server.read()


# Recorded from running servers


@pytest.mark.parametrize(("method", "declared_limit"), [("draft", 3), ("draftp", 3), ("ngram", 4), ("suffix", None)])
def test_recorded_windows_are_valid(method: str, declared_limit: int | None) -> None:
    before, after = reading(f"vllm/{method}_before"), reading(f"vllm/{method}_after")
    received = int(after.generation_tokens - before.generation_tokens)
    requests = int(after.requests_finished - before.requests_finished)
    for known in ({}, {"received_tokens": received}, {"received_tokens": received, "requests": requests}):
        judged = window(before, after, declared_limit=declared_limit, **known)
        assert (judged.status, judged.reasons, judged.contradicts) == ("valid", (), False)


def test_differences_of_a_recorded_window() -> None:
    judged = window(reading("vllm/draft_before"), reading("vllm/draft_after"))
    assert (judged.drafts, judged.draft_tokens, judged.accepted) == (43707, 131121, 5352)
    assert judged.accepted_per_position == (3621, 1068, 663)
    assert (judged.generation_tokens, judged.sequences) == (67004, 20615)
    assert judged.draft_limit == 3


def test_a_recorded_restart_is_void() -> None:
    judged = window(reading("vllm/draft_after"), reading("vllm/draft_restart"))
    assert_void(judged, "drafts fell from 43,724 to 0")
    assert_void(judged, "process_start_time_seconds and 7 more changed")


def test_a_restart_that_overtook_its_old_counts_is_void() -> None:
    # Two recorded processes with the same series; every count of the later page is the larger one.
    before, after = reading("vllm/draft_before"), reading("vllm/draftp_after")
    assert before.series == after.series
    judged = window(before, after)
    assert judged.drafts > 0
    assert not any("fell" in reason for reason in judged.reasons)
    assert_void(judged, "the server restarted")


@pytest.mark.parametrize("series", ["process_start_time_seconds", "vllm:spec_decode_num_drafts_created"])
def test_either_mark_alone_shows_the_restart(series: str) -> None:
    before, after = reading("vllm/draft_before"), reading("vllm/draft_after")

    def only_this_mark(page: Reading, shift: float) -> Reading:
        return replace(page, marker=tuple((s, value + shift) for s, value in page.marker if s.name == series))

    assert window(only_this_mark(before, 0), only_this_mark(after, 0)).status == "valid"
    assert_void(window(only_this_mark(before, 0), only_this_mark(after, 60)), f"the server restarted: {series}")


def test_llamacpp_without_a_marker_needs_the_tokens_received() -> None:
    after = reading("llamacpp/draft")
    before = replace(after, drafts=0, draft_tokens=0, accepted=0, accepted_per_position=(0, 0, 0), generation_tokens=0)
    unknown = window(before, after)
    assert unknown.status == "unverified"
    assert "a restart could have gone unseen" in unknown.reasons[0]
    assert window(before, after, received_tokens=364508).status == "valid"
    assert window(before, after, received_tokens=364508, requests=11000).status == "valid"
    assert_void(window(before, after, received_tokens=364507), "364,508 emitted tokens")


def test_llamacpp_positions_that_appear_void_the_first_window() -> None:
    assert_void(window(reading("llamacpp/plain"), reading("llamacpp/draft"), 1), 'position="0"')


# One rule at a time


def test_a_clean_window_is_valid(ends: tuple[Reading, Reading]) -> None:
    assert window(*ends, received_tokens=640, requests=10, declared_limit=4, min_drafts=20).status == "valid"


@pytest.mark.parametrize("counter", ["drafts", "draft_tokens", "accepted", "generation_tokens", "requests_finished"])
def test_any_decrease_is_void(ends: tuple[Reading, Reading], counter: str) -> None:
    before, after = ends
    fallen = replace(after, **{counter: getattr(before, counter) - 1})
    assert_void(window(before, fallen), "the counters were reset")


def test_a_decrease_at_one_position_is_void(ends: tuple[Reading, Reading]) -> None:
    before, after = ends
    first, *rest = after.accepted_per_position
    fallen = replace(after, accepted_per_position=(first, *rest[:-1], before.accepted_per_position[-1] - 1))
    assert_void(window(before, fallen), "accepted tokens at position 3 fell")


@pytest.mark.parametrize("value", [nan, inf, -1.0, 0.5, 2.0**53 + 2])
@pytest.mark.parametrize("end", [0, 1])
def test_what_is_no_count_is_void(ends: tuple[Reading, Reading], end: int, value: float) -> None:
    pages = list(ends)
    pages[end] = replace(pages[end], accepted=value)
    assert_void(window(*pages), "accepted tokens is")


def test_a_changed_set_of_series_is_void(ends: tuple[Reading, Reading]) -> None:
    before, after = ends
    fewer = replace(after, series=after.series - {Series("drafts")})
    assert_void(window(before, fewer), "drafts vanished")
    assert_void(window(replace(before, series=fewer.series), after), "drafts appeared")


@pytest.mark.parametrize("gauge", ["requests_running", "waiting"])
def test_a_busy_end_is_void(ends: tuple[Reading, Reading], gauge: str) -> None:
    before, after = ends
    assert_void(window(replace(before, **{gauge: 2}), after), "busy at the start")
    assert_void(window(before, replace(after, **{gauge: nan})), "busy at the end")


def test_sleep_is_void(ends: tuple[Reading, Reading]) -> None:
    before, after = ends
    assert_void(window(replace(before, asleep=True), after), "asleep at the start")
    assert_void(window(before, replace(after, asleep=True)), "asleep at the end")


def test_a_decrease_in_one_life_asks_for_the_order_of_the_scrapes(ends: tuple[Reading, Reading]) -> None:
    before, after = ends
    assert_void(window(after, before), "although the process is the same: are the scrapes in their order?")
    assert_void(window(before, after, elapsed=-5.0), "the later page is 5 s older")


def test_a_changed_configuration_is_void(ends: tuple[Reading, Reading]) -> None:
    small, large = (
        replace(page, configuration=frozenset({(Series("cache_config_info", (("block_size", size),)), 1.0)}))
        for page, size in zip(ends, ("16", "32"), strict=True)
    )
    assert_void(window(small, large), "the configuration changed: cache_config_info")
    assert window(small, replace(large, configuration=small.configuration)).status == "valid"
    assert window(small, ends[1]).status == "valid", "vLLM does not show it on every page"


def test_what_no_acceptance_can_be_had_from_is_void(ends: tuple[Reading, Reading]) -> None:
    unfit = [replace(page, unfit=("there are gauges only",)) for page in ends]
    assert window(*unfit).reasons == ("there are gauges only",)
    assert window(*unfit).status == "void"


@pytest.mark.parametrize(
    ("uptimes", "elapsed", "reason"),
    [
        ((900.0, 12.0), None, "its uptime fell from 900 s to 12 s"),
        ((5.0, 50.0), 60.0, "its uptime grew by 45 s in 60 s"),
        ((900.0, 12.0), 60.0, "its uptime fell from 900 s to 12 s"),
    ],
)
def test_an_uptime_shows_a_restart(
    ends: tuple[Reading, Reading], uptimes: tuple[float, float], elapsed: float | None, reason: str
) -> None:
    before, after = (replace(page, marker=(), uptime=uptime) for page, uptime in zip(ends, uptimes, strict=True))
    assert_void(window(before, after, elapsed=elapsed), reason)


def test_an_uptime_vouches_for_a_window_beside_a_clock_only(ends: tuple[Reading, Reading]) -> None:
    before, after = (replace(page, marker=(), uptime=up) for page, up in zip(ends, (100.0, 161.0), strict=True))
    assert window(before, after, elapsed=60.0).status == "valid"
    assert window(before, after).status == "unverified"


def test_a_server_that_does_not_say_whether_it_is_busy_is_unverified(ends: tuple[Reading, Reading]) -> None:
    before, after = (replace(page, requests_running=None) for page in ends)
    assert window(before, after).status == "unverified"
    assert "whether requests were running" in window(before, after).reasons[0]
    assert window(before, after, received_tokens=640).status == "valid"


# Several replicas on a page


def replicas_of(page: Reading) -> tuple[Reading, Reading]:
    return replace(page, replica="0"), replace(page, replica="1")


def test_replicas_have_windows_of_their_own(ends: tuple[Reading, Reading]) -> None:
    (zero, one), after = replicas_of(ends[0]), replicas_of(ends[1])
    windows = page_windows((zero, one), after, received_tokens=1280, requests=20)
    assert [(w.after.replica, w.status, w.generation_tokens) for w in windows] == [
        ("0", "valid", 640),
        ("1", "valid", 640),
    ]
    assert {w.received_tokens for w in windows} == {None}, "which of them answered is not known"
    restarted = replace(after[1], marker=((Series("process_start_time_seconds"), 2.0),))
    statuses = [w.status for w in page_windows((zero, one), (after[0], restarted))]
    assert statuses == ["valid", "void"]


def test_what_the_client_received_is_held_against_all_replicas(ends: tuple[Reading, Reading]) -> None:
    windows = page_windows(replicas_of(ends[0]), replicas_of(ends[1]), received_tokens=640, requests=10)
    for judged in windows:
        assert_void(judged, "the server counted 1,280 emitted tokens and the client received 640")
    unmarked = [[replace(page, marker=()) for page in replicas_of(end)] for end in ends]
    assert [w.status for w in page_windows(*unmarked)] == ["unverified", "unverified"]
    assert [w.status for w in page_windows(*unmarked, received_tokens=1280)] == ["valid", "valid"]


def test_other_replicas_than_before_are_void(ends: tuple[Reading, Reading]) -> None:
    before, after = replicas_of(ends[0]), replicas_of(ends[1])
    (judged,) = page_windows(before, after[:1])
    assert_void(judged, "the engines on the page were 0, 1 and are 0")
    (judged,) = page_windows(before[:1], after[1:])
    assert_void(judged, "the engines on the page were 0 and are 1")


def test_foreign_traffic_is_void(ends: tuple[Reading, Reading]) -> None:
    assert_void(window(*ends, received_tokens=639), "somebody else used the server")
    assert_void(window(*ends, received_tokens=641), "counts too few")


def test_too_few_drafts_are_void(ends: tuple[Reading, Reading]) -> None:
    before, after = ends
    assert_void(window(before, before), "0 drafts are too few")
    floor = int(after.drafts - before.drafts)
    assert window(before, after, min_drafts=floor).status == "valid"
    assert_void(window(before, after, min_drafts=floor + 1), "the floor is")


def test_without_positions_a_window_is_unverified(ends: tuple[Reading, Reading]) -> None:
    before, after = (replace(page, accepted_per_position=()) for page in ends)
    judged = window(before, after, received_tokens=640)
    assert judged.status == "unverified"
    assert "no per-position counters" in judged.reasons[0]


# Counters that contradict themselves


def test_the_bonus_counted_as_accepted_contradicts(ends: tuple[Reading, Reading]) -> None:
    counted = [replace(page, accepted=page.accepted + page.drafts) for page in ends]
    assert_void(window(*counted), "the positions add up to", contradicts=True)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda r: {"draft_tokens": r.accepted - 1}, "proposed"),
        (lambda r: {"draft_tokens": 4 * r.drafts + 100}, "more than 4 a step"),
        (lambda r: {"accepted_per_position": r.accepted_per_position[::-1]}, "although"),
        (lambda r: {"drafts": r.accepted_per_position[0] - 1}, "accepted at position 0 although"),
    ],
)
def test_each_identity_contradicts(ends: tuple[Reading, Reading], change, reason: str) -> None:
    zero = Server(seed=0).read()
    after = replace(ends[1], **change(ends[1]))
    assert_void(window(zero, after, declared_limit=4), reason, contradicts=True)


def test_a_tree_has_more_tokens_than_positions(ends: tuple[Reading, Reading]) -> None:
    zero = Server(seed=0).read()
    tree = replace(ends[1], draft_tokens=7 * ends[1].drafts)
    assert window(zero, tree).status == "valid"
    assert_void(window(zero, tree, declared_limit=4), "more than 4 a step", contradicts=True)


def test_steps_that_emit_nothing_contradict(ends: tuple[Reading, Reading]) -> None:
    before, after = ends
    # No more than K tokens per sequence can be lost to a stop or the cap; here all steps' extra tokens are.
    silent = replace(after, generation_tokens=before.generation_tokens + 100)
    assert_void(window(before, silent, received_tokens=100, requests=10), "emit at least", contradicts=True)
    assert window(before, silent, requests=10).status == "valid", "somebody else may have sent more sequences"


def test_a_contradiction_beside_a_restart_is_a_restart(ends: tuple[Reading, Reading]) -> None:
    before, after = ends
    restarted = replace(after, accepted=after.accepted + 5, marker=())
    assert_void(window(before, restarted), "the server restarted")


def test_without_a_marker_broken_differences_may_be_an_unseen_restart() -> None:
    old, new = Server(seed=4, alpha=0.5, marked=False), Server(seed=5, alpha=0.9, marked=False)
    old.serve(100, 64)
    new.serve(220, 64)
    # The new life overtook every count of the old one, and accepted more drafts than it has steps beyond it.
    assert_void(window(old.read(), new.read()), "drafts were accepted at position 0 although")


def test_without_a_marker_totals_of_one_life_still_contradict(ends: tuple[Reading, Reading]) -> None:
    before, after = (replace(page, accepted=page.accepted + page.drafts, marker=()) for page in ends)
    assert_void(window(before, after), "the positions add up to", contradicts=True)


# Simulated servers

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["own", "own", "own", "foreign", "restart", "busy", "asleep", "gap"]),
        st.integers(1, 4),
        st.integers(2, 40),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(events=EVENTS, marked=st.booleans(), seed=st.integers(0, 99), received_known=st.booleans())
def test_no_valid_window_holds_a_reset_or_foreign_tokens(
    events: list[tuple[str, int, int]], marked: bool, seed: int, received_known: bool
) -> None:
    server = Server(seed, marked=marked)
    before, lives, own, sequences, undisturbed = server.read(), 1, 0, 0, True
    for event, number, cap in events:
        server.running, server.asleep = int(event == "busy"), event == "asleep"
        undisturbed &= event in ("own", "gap")
        if event == "own":
            own += server.serve(number, cap)
            sequences += number
        elif event == "foreign" and marked:  # unmarked, foreign tokens may stand in exactly for those of a lost life
            server.serve(number, cap)
        elif event == "restart":
            server.restart()
        if event == "gap":
            continue
        known = {"received_tokens": own, "requests": sequences} if received_known else {}
        judged = window(before, server.read(), **known)
        assert not judged.contradicts
        if judged.status == "valid":
            assert marked or received_known
            assert not marked or lives == server.lives
            assert not received_known or judged.generation_tokens == own
        if undisturbed and judged.drafts:
            assert judged.status == ("valid" if marked or received_known else "unverified")
        busy_now = server.running or server.asleep
        before, lives, own, sequences, undisturbed = server.read(), server.lives, 0, 0, not busy_now


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    values=st.lists(st.floats() | st.integers(-2, 9).map(float), min_size=16, max_size=16),
    received=st.none() | st.integers(0, 9),
    requests=st.none() | st.integers(0, 9),
)
def test_any_readings_are_judged_without_an_exception(
    values: list[float], received: int | None, requests: int | None
) -> None:
    def any_reading(v: list[float]) -> Reading:
        return replace(
            Server(seed=0, draft_tokens=2).read(),
            drafts=v[0],
            draft_tokens=v[1],
            accepted=v[2],
            accepted_per_position=(v[3], v[4]),
            generation_tokens=v[5],
            requests_finished=v[6],
            requests_running=v[7],
        )

    judged = window(any_reading(values[:8]), any_reading(values[8:]), received, requests)
    assert (judged.status == "valid") == (judged.reasons == ())
    assert judged.status == "void" or not judged.contradicts
