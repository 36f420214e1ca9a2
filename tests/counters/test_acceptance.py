from dataclasses import replace

import numpy as np
import pytest

from specaudit.counters.acceptance import Acceptance, Estimate, acceptance
from specaudit.counters.window import Window
from specaudit.counters.windows import window

from .recorded import reading
from .simulated import Server

ALPHA, K = 0.8, 4
VERIFIER_LENGTH = (1 - ALPHA ** (K + 1)) / (1 - ALPHA)  # 3.3616; Leviathan et al. 2023, equation 1


def expected_steps(tokens: int) -> float:
    """Steps until so many tokens are emitted, by renewal: a step emits j tokens and the rest remains."""
    emits = [ALPHA**i * (1 - ALPHA) for i in range(K)] + [ALPHA**K]
    steps = [0.0]
    for remaining in range(1, tokens + 1):
        steps.append(1 + sum(p * steps[max(remaining - j, 0)] for j, p in enumerate(emits, start=1)))
    return steps[tokens]


def simulated_windows(number: int, seed: int, sequences: int = 8, cap: int = 128) -> list[Window]:
    server, windows = Server(seed, ALPHA, K), []
    for _ in range(number):
        before = server.read()
        received = server.serve(sequences, cap)
        windows.append(window(before, server.read(), received, sequences))
    return windows


def measured(windows: list[Window], confidence: float = 0.99) -> Acceptance:
    figures = acceptance(windows, confidence)
    assert figures is not None
    return figures


def assert_covers(estimate: Estimate | None, truth: float) -> None:
    assert estimate is not None
    assert estimate.interval is not None
    assert estimate.interval.low < truth < estimate.interval.high
    assert estimate.value == pytest.approx(estimate.interval.value)


def test_geometric_acceptance_is_within_every_interval() -> None:
    # Ten intervals at .9999 each: one seed in a thousand fails. Ten at .99 would fail every tenth.
    figures = measured(simulated_windows(40, seed=2), confidence=0.9999)
    assert_covers(figures.verifier_length, VERIFIER_LENGTH)
    assert_covers(figures.draft_acceptance_rate, (VERIFIER_LENGTH - 1) / K)
    for position in range(K):
        assert_covers(figures.per_position[position], ALPHA ** (position + 1))
        assert_covers(figures.per_position_conditional[position], ALPHA)
    assert figures.verifier_length.interval is not None
    assert figures.verifier_length.interval.windows == 40
    assert figures.verifier_length.interval.high - figures.verifier_length.interval.low < 0.15


def test_the_verifier_length_interval_covers() -> None:
    misses = 0
    for seed in range(200):
        interval = measured(simulated_windows(20, seed, sequences=2, cap=64)).verifier_length.interval
        assert interval is not None
        misses += not interval.low < VERIFIER_LENGTH < interval.high
    assert misses <= 7  # about Poisson with mean 2: more than 7 in one of 900 runs


@pytest.mark.parametrize("cap", [8, 128])
def test_the_users_length_leaves_out_what_the_cap_trimmed(cap: int) -> None:
    figures = measured(simulated_windows(30, seed=3, sequences=8000 // cap, cap=cap), confidence=0.999)
    assert_covers(figures.user_length, (cap - 1) / expected_steps(cap - 1))
    # Wald's identity: counted before trimming, whole steps up to a stopping time do not lean to long ones.
    assert_covers(figures.verifier_length, VERIFIER_LENGTH)


def test_a_recorded_window_has_figures_but_no_interval() -> None:
    figures = measured([window(reading("vllm/draft_before"), reading("vllm/draft_after"))])
    assert figures.windows == 1
    assert (figures.drafts, figures.draft_tokens, figures.accepted) == (43707, 131121, 5352)
    assert (figures.generation_tokens, figures.sequences) == (67004, 20615)
    assert figures.verifier_length.value == pytest.approx(1 + 5352 / 43707)
    assert figures.verifier_length.interval is None
    assert figures.user_length is not None
    assert figures.user_length.value == pytest.approx((67004 - 20615) / 43707)
    assert [round(e.value * 43707) for e in figures.per_position] == [3621, 1068, 663]
    conditional = [e.value for e in figures.per_position_conditional if e]
    assert conditional == pytest.approx([3621 / 43707, 1068 / 3621, 663 / 1068])
    assert figures.bonus_rows == 663
    assert figures.rejecting_steps == 41923


def test_intervals_start_at_twenty_windows() -> None:
    windows = simulated_windows(20, seed=5)
    assert measured(windows).draft_acceptance_rate.interval is not None
    assert measured(windows[1:]).draft_acceptance_rate.interval is None


def test_only_valid_windows_count() -> None:
    server = Server(seed=6)
    before = server.read()
    server.serve(8, 128)
    void = window(before, server.read(), received_tokens=1)
    windows = simulated_windows(3, seed=6)
    assert measured([*windows, void]) == measured(windows)
    assert acceptance([void], confidence=0.99) is None
    assert acceptance([], confidence=0.99) is None


def test_without_a_count_of_sequences_nothing_is_said_per_emitted_step() -> None:
    windows = simulated_windows(3, seed=7)
    unknown = [
        replace(
            w,
            requests=None,
            before=replace(w.before, requests_finished=None),
            after=replace(w.after, requests_finished=None),
        )
        for w in windows
    ]
    assert measured(unknown).user_length is None
    assert measured(unknown).sequences is None
    assert measured([*windows, unknown[0]]).user_length is None


def test_positions_that_no_step_reached_have_no_conditional_rate() -> None:
    server = Server(seed=8, alpha=0.0)
    before = server.read()
    server.serve(4, 16)
    figures = measured([window(before, server.read())])
    first, *later = figures.per_position_conditional
    assert first is not None
    assert first.value == 0
    assert later == [None, None, None]
    assert figures.verifier_length.value == 1
    assert (figures.rejecting_steps, figures.bonus_rows) == (60, 0)


@pytest.mark.parametrize("seed", range(5))
def test_exercised_paths_are_lower_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Drafts of ragged length, each token accepted with probability .8.
    lengths = rng.integers(1, K + 1, size=500)
    accepted = np.minimum(np.cumprod(rng.random((500, K)) < ALPHA, axis=1).sum(axis=1), lengths)
    zero = Server(seed=0).read()
    after = replace(
        zero,
        drafts=500,
        draft_tokens=int(lengths.sum()),
        accepted=int(accepted.sum()),
        accepted_per_position=tuple((accepted[:, None] > np.arange(K)).sum(axis=0).tolist()),
        generation_tokens=int(accepted.sum()) + 501,
        requests_finished=1,
    )
    figures = measured([window(zero, after)])
    assert 0 < figures.rejecting_steps <= (accepted < lengths).sum()
    assert 0 < figures.bonus_rows <= (accepted == lengths).sum()


def test_a_fraction_of_a_rejecting_step_is_a_step() -> None:
    """Two steps of four drafts accept one and two: five rejected tokens are those of at least two steps."""
    zero = Server(seed=0).read()
    counts = {"drafts": 2, "draft_tokens": 8, "accepted": 3, "accepted_per_position": (2, 1, 0, 0)}
    figures = measured([window(zero, replace(zero, **counts, generation_tokens=6, requests_finished=1))])
    assert figures.rejecting_steps == 2


def test_steps_that_accept_nothing_reject() -> None:
    figures = measured([window(reading("vllm/ngram_before"), reading("vllm/ngram_after"))])
    assert figures.rejecting_steps == figures.drafts - round(figures.per_position[0].value * figures.drafts) == 2160


def test_a_trees_other_branches_are_no_rejections() -> None:
    """Three steps of a tree with seven tokens and depth two: one of them accepts nothing."""
    zero = Server(seed=0, draft_tokens=2).read()
    counts = {"drafts": 3, "draft_tokens": 21, "accepted": 4, "accepted_per_position": (2, 2)}
    figures = measured([window(zero, replace(zero, **counts, generation_tokens=8, requests_finished=1))])
    assert figures.rejecting_steps == 1
    assert not figures.whole_drafts


def test_a_declared_limit_above_the_positions_leaves_no_bonus_row_certain() -> None:
    server = Server(seed=9)
    before = server.read()
    server.serve(8, 128)
    assert measured([window(before, server.read(), declared_limit=8)]).bonus_rows == 0


def test_ragged_drafts_are_told() -> None:
    assert measured(simulated_windows(3, seed=7)).whole_drafts
    assert not measured([window(reading("vllm/ngram_before"), reading("vllm/ngram_after"))]).whole_drafts
