"""What is known of speed, from the inputs it was stated with; tolerances are half a unit of the last digit stated."""

import numpy as np
import pytest

from specaudit.claims import drafters
from specaudit.claims.experts import touched, weights_read
from specaudit.claims.speed_up import best_lengths
from specaudit.claims.tokens import Shape, acceptance_for, chain_tokens, chain_tokens_without_bonus
from tests.claims.cases import CONTEXT, DEEPSEEK, LLAMA_8B, LLAMA_70B, STATED, stated


def test_tokens_of_a_chain() -> None:
    assert chain_tokens(0.8, 4) == pytest.approx(3.3616, abs=5e-5)
    assert chain_tokens(0.7, 3) == pytest.approx(2.5330, abs=5e-5)
    assert chain_tokens_without_bonus(0.7, 3) == pytest.approx(2.190, abs=5e-4)


def test_parameters_and_cache() -> None:
    assert [model.parameters / 1e9 for model in (LLAMA_70B, LLAMA_8B)] == pytest.approx([70.554, 8.030], abs=5e-4)
    assert DEEPSEEK.parameters / 1e9 == pytest.approx(671, abs=0.5)
    assert DEEPSEEK.active / 1e9 == pytest.approx(37.55, abs=5e-3)
    assert [2 * model.cached for model in (LLAMA_70B, LLAMA_8B, DEEPSEEK)] == [327_680, 131_072, 70_272]


def test_two_tokens_touch_nearly_sixteen_of_256_experts() -> None:
    assert DEEPSEEK.experts is not None
    assert touched(DEEPSEEK.experts, [1, 2]) == pytest.approx([8, 15.75], abs=5e-3)


def mtp_speed_up(acceptance: float, verify: float) -> float:
    """Of one draft a step; the verifier's and the drafter's price in steps of the target."""
    return (1 + acceptance) / (verify + drafters.mtp(DEEPSEEK).share(DEEPSEEK.active))


def test_mtp_of_deepseek() -> None:
    head = drafters.mtp(DEEPSEEK)
    assert DEEPSEEK.layer / 1e9 == pytest.approx(0.585, abs=5e-4)
    assert 2 * DEEPSEEK.hidden**2 / 1e9 == pytest.approx(0.103, abs=5e-4)
    assert DEEPSEEK.embedding / 1e9 == pytest.approx(0.927, abs=5e-4)
    assert head.weights / 1e9 == pytest.approx(1.61, abs=5e-3)
    assert head.share(DEEPSEEK.active) == pytest.approx(0.043, abs=5e-4)
    speeds = [mtp_speed_up(acceptance, 1.0) for acceptance in (0.85, 0.875, 0.90)]
    assert speeds == pytest.approx([1.774, 1.798, 1.822], abs=5e-4)


def test_mtp_of_deepseek_with_the_experts_that_a_batch_of_one_touches() -> None:
    one, two = weights_read(DEEPSEEK, [1, 2])
    assert two / one == pytest.approx(1.53, abs=5e-3)
    assert mtp_speed_up(0.875, two / one) == pytest.approx(1.19, abs=5e-3)


def test_eagle_heads_on_70b() -> None:
    target = LLAMA_70B.parameters - LLAMA_70B.embedding  # of the input embedding one row is read
    bare = drafters.eagle(LLAMA_70B, head=False)
    assert bare.weights / 1e9 == pytest.approx(0.99, abs=5e-3)
    assert bare.share(target) == pytest.approx(0.014, abs=5e-4)
    assert drafters.eagle(LLAMA_70B).share(target) == pytest.approx(0.029, abs=5e-4)
    head = drafters.eagle3(LLAMA_70B)
    small_vocabulary = 32_000 * LLAMA_70B.hidden
    assert small_vocabulary / 1e9 == pytest.approx(0.262, abs=5e-4)
    assert (head.weights - small_vocabulary) / 1e9 == pytest.approx(1.141, abs=5e-4)
    assert head.share(target) == pytest.approx(0.020, abs=5e-4)


def test_best_draft_lengths_on_eight_h100() -> None:
    """Lengths and batches are whole numbers: there is no tolerance. .66 is stated to two digits."""
    assert STATED.cache_bytes == 163_840
    batches = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256, 384])
    best = best_lengths(stated(), batches, CONTEXT, 8)
    assert dict(zip(batches.tolist(), best.tolist(), strict=True)) == {
        **dict.fromkeys((1, 2, 4, 8, 16, 32), 3),
        64: 2,
        128: 1,
        256: 1,
        384: 0,
    }
    assert stated().speed_up(Shape.chain(4), 256, CONTEXT) == pytest.approx(0.66, abs=5e-3)


def test_best_draft_lengths_with_long_contexts() -> None:
    best = best_lengths(stated(), np.arange(1, 257), 8192, 8)
    assert set(best.tolist()) == {3, 4}


def test_one_division_decides_a_headline() -> None:
    bytes_a_step = LLAMA_70B.parameters
    steps = 4.8e12 / bytes_a_step
    assert bytes_a_step / 1e9 == pytest.approx(70.55, abs=5e-3)
    assert steps == pytest.approx(68, abs=0.5)
    assert 1700 / (4 * steps) > 6
    assert 181.74 / steps == pytest.approx(2.67, abs=5e-3)


def test_six_drafts_for_a_speed_up_of_6_66_need_nearly_all_of_them() -> None:
    """.984 is stated as what suffices, rounded up."""
    needed = acceptance_for(1665 / 250, 6)
    assert needed is not None
    assert 0.983 < needed <= 0.984
    assert acceptance_for(1665 / 250, 5) is None
