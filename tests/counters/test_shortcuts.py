"""The bias of common shortcuts, computed exactly and by simulation, and what careless tools show."""

import pytest

from specaudit.counters.acceptance import acceptance
from specaudit.counters.shortcuts import shortcuts
from specaudit.counters.window import Window
from specaudit.counters.windows import window

from .recorded import reading
from .simulated import Server
from .test_acceptance import VERIFIER_LENGTH, expected_steps

ROWS = ("accepted-per-draft", "emitted-after-first", "completion-per-step")

EXPECTED = {
    8: (VERIFIER_LENGTH, 7 / expected_steps(7), 8 / expected_steps(7)),
    128: (VERIFIER_LENGTH, 127 / expected_steps(127), 128 / expected_steps(127)),
}
"""What each converges to in requests of so many tokens. The first counts whole steps up to a stopping time: by Wald's
identity it is the verifier's length whatever the cap."""

PUBLISHED = {8: (3.354, 2.698, 3.084), 128: (3.363, 3.322, 3.348)}
"""A simulation of others; its own error is some thousandths."""


def values(windows: list[Window]) -> dict[str, float | None]:
    return {shortcut.name: shortcut.value for shortcut in shortcuts(windows)}


def served(cap: int, tokens: int, seed: int, windows: int = 20) -> list[Window]:
    server, found = Server(seed), []
    for _ in range(windows):
        before = server.read()
        received = server.serve(tokens // cap // windows, cap)
        found.append(window(before, server.read(), received, tokens // cap // windows))
    return found


@pytest.mark.parametrize("cap", [8, 128])
def test_the_published_table_is_reproduced(cap: int) -> None:
    assert EXPECTED[cap] == pytest.approx(PUBLISHED[cap], abs=0.01)
    exact = {8: ("3.362", "2.699", "3.085"), 128: ("3.362", "3.321", "3.347")}
    assert tuple(f"{value:.3f}" for value in EXPECTED[cap]) == exact[cap]


@pytest.mark.parametrize("cap", [8, 128])
def test_a_simulation_shows_the_bias_and_our_interval_does_not_have_it(cap: int) -> None:
    windows = served(cap, tokens=2_000_000, seed=1)
    found = values(windows)
    # The error of a ratio over some 600,000 steps is below .002; three digits are what can be compared.
    assert [found[name] for name in ROWS] == pytest.approx(EXPECTED[cap], abs=0.006)
    figures = acceptance(windows, confidence=0.999)
    assert figures is not None
    assert figures.verifier_length is not None
    interval = figures.verifier_length.interval
    assert interval is not None
    assert interval.low < VERIFIER_LENGTH < interval.high
    assert interval.high < VERIFIER_LENGTH + 0.02
    # In short answers both of the others lie far outside of it.
    if cap == 8:
        assert max(found["emitted-after-first"], found["completion-per-step"]) < interval.low


def test_each_is_named_with_its_bias() -> None:
    named = {shortcut.name: shortcut for shortcut in shortcuts([])}
    assert list(named) == [*ROWS, "subtracted", "clamped"]
    assert "users get less" in named["accepted-per-draft"].bias
    assert "prefill token" in named["completion-per-step"].bias
    assert {shortcut.value for shortcut in named.values()} == {None}


def test_careless_tools_take_a_reset_for_traffic() -> None:
    before, after = reading("vllm/draft_before"), reading("vllm/draft_after")
    windows = [window(before, after), window(after, reading("vllm/draft_restart"))]
    found = values(windows)
    assert found["accepted-per-draft"] == found["clamped"] == 1 + 5352 / 43707
    assert found["subtracted"] == 1 + (0 - 13) / (0 - 17), "a length made of nothing"


def test_what_the_engine_does_not_count_is_unknown() -> None:
    windows = [window(reading("sglang/before"), reading("sglang/after"), 6040, 40)]
    found = values(windows)
    assert found["accepted-per-draft"] is None
    assert found["completion-per-step"] == 6040 / 2000
