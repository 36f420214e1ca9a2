"""One circumstance by itself: soft excess, its floors, and the sentence that tells bit-equal, tied and different."""

import numpy as np
import pytest

from specaudit.checks.greedy.conditions import condition
from specaudit.checks.greedy.floor import Floor
from specaudit.checks.greedy.partings import Compared, Parting
from specaudit.model.finding import Verdict
from specaudit.stats.ties import flip_floor

MARGIN = 0.05


def prompt(index, *, flips, gap=MARGIN):
    """A prompt of ten positions with small margins, at the last of which it may part."""
    parting = Parting(prompt=(index,), position=9, emitted=1, expected=0, gap=gap) if flips else None
    gaps = (0.0,) * 9 + ((gap if flips else 0.0),)
    return Compared(prompt_index=index, prompt=(index,), parting=parting, gaps=gaps, margins=(MARGIN,) * 10)


def floor(diverging, prompts=200, *, wide=False, hard=0):
    gaps = np.where(np.arange(10 * prompts) < diverging, MARGIN, 0.0)
    return Floor(
        name="8 in flight",
        prompts=prompts,
        lost=0,
        diverging=diverging,
        ties=0,
        hard=hard,
        gaps=(MARGIN,) * diverging,
        flips=flip_floor(gaps, np.full(10 * prompts, MARGIN)),
        wide=wide,
    )


def judged(apart, floors, *, gap=MARGIN, prompts=200, tolerance=0.15, before=None):
    spread = {round((place + 0.5) * prompts / apart) for place in range(apart)}
    rows = [prompt(index, flips=index in spread, gap=gap) for index in range(prompts)]
    found = condition(
        "alone",
        rows,
        floors,
        before=before,
        planned=prompts,
        tolerance=tolerance,
        hard_gap=2.0,
        alpha=1e-3,
        delta=1e-3,
        shared=True,
    )
    return found, found.verdict(floors), found.told(floors)


def test_token_for_token():
    _, verdict, told = judged(0, [floor(0)])
    assert verdict is Verdict.CONFORMS
    assert told == "All 200 greedy completions equal the plain target's, token for token."


def test_as_many_partings_as_plain_decoding_has_are_numeric_ties():
    found, verdict, told = judged(12, [floor(12)])
    assert verdict is Verdict.CONFORMS
    assert "up to numeric ties: 12 part" in told
    assert found.effect.value == 0


def test_a_soft_excess_violates_over_a_floor_at_the_verifiers_width_only():
    for wide, expected in ((True, Verdict.VIOLATES), (False, Verdict.INCONCLUSIVE)):
        found, verdict, told = judged(100, [floor(2), floor(1, wide=wide)])
        assert found.excess
        assert verdict is expected
        assert "more often than plain decoding differs from itself" in told
        assert ("width is to blame" in told) is not wide


def test_the_subject_alone_is_a_floor_at_the_verifiers_width():
    alone, _, _ = judged(0, [floor(0)])
    _, verdict, _ = judged(100, [floor(0)], before=alone)
    assert verdict is Verdict.VIOLATES
    noisy, _, _ = judged(100, [floor(0)])
    _, verdict, _ = judged(100, [floor(0)], before=noisy)
    assert verdict is Verdict.INCONCLUSIVE


def test_a_hard_parting_violates_unless_plain_decoding_has_them_too():
    assert judged(1, [floor(1)], gap=2.1)[1] is Verdict.VIOLATES
    _, verdict, told = judged(1, [floor(1, hard=1)], gap=2.1)
    assert verdict is Verdict.INCONCLUSIVE
    assert "not one target" in told


def test_without_a_floor_partings_are_left_open():
    assert judged(1, [])[1] is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("apart", [40, 60])
def test_too_many_partings_to_be_bounded_do_not_conform(apart):
    assert judged(apart, [floor(40)], tolerance=0.05)[1] is Verdict.INCONCLUSIVE


def test_what_the_reference_scored_behind_a_parting_can_be_hard():
    rows = [prompt(0, flips=True)]
    behind = Compared(
        prompt_index=1, prompt=(1,), parting=rows[0].parting, gaps=(0.0, MARGIN, 0.0, 3.0), margins=(MARGIN,) * 4
    )
    found = condition(
        "alone",
        [*rows, behind],
        [floor(1)],
        before=None,
        planned=2,
        tolerance=0.5,
        hard_gap=2.0,
        alpha=1e-3,
        delta=1e-3,
        shared=True,
    )
    assert [one.prompt_index for one in found.hard] == [1]
