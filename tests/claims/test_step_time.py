from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.claims import drafters
from specaudit.claims.capacity import capacity
from specaudit.claims.experts import touched, weights_read
from specaudit.claims.precisions import PRECISIONS
from specaudit.claims.price import price
from specaudit.claims.speed_up import Speculation, buckets, flips, loses_from
from specaudit.claims.step_time import Deployment
from specaudit.claims.tables import devices, models
from specaudit.claims.tails import Spread, tail
from specaudit.claims.tokens import Shape, chain_tokens
from specaudit.claims.vllm import speculative_config
from specaudit.model.errors import UsageError
from tests.claims.cases import CONTEXT, DEEPSEEK, LLAMA_8B, STATED, chosen_deployment, light, stated


def by_hand(batch: int, drafts: int, context: int) -> float:
    """The formula as it was stated, for eight H100."""
    memory = (70.5537e9 + 163_840 * batch * context) / (8 * 3.35e12 * 0.75)
    compute = 2 * 70.5537e9 * batch * (drafts + 1) / (8 * 1979e12 * 0.5)
    return max(memory, compute) + 2e-3


@given(st.integers(1, 1024), st.integers(0, 16), st.integers(0, 65_536))
def test_a_step_by_hand(batch: int, drafts: int, context: int) -> None:
    assert float(STATED.step(batch, context, drafts + 1)) == pytest.approx(by_hand(batch, drafts, context), rel=1e-5)


def test_attention_and_links_only_add() -> None:
    batch, context = np.array([1, 64, 512])[:, None], np.array([128, 8192, 131_072])
    whole = chosen_deployment(attention=True, links=True)
    assert (whole.step(batch, context, 5) >= STATED.step(batch, context, 5)).all()
    # Two FLOPs for each of keys and values, over 64 heads of 128: 80 layers of 4 × 8192.
    assert whole.model.attended == 80 * 4 * 8192
    # Ring all-reduce: 2 · 7/8 of 8192 × 2 bytes, twice a layer, over 450 GB/s.
    assert float(whole.link_seconds(1, 1)) == pytest.approx(160 * 2 * 7 / 8 * 16_384 / 450e9)


def test_one_device_has_no_links() -> None:
    one = Deployment(model=LLAMA_8B, device=devices().find("H100"))
    assert float(one.link_seconds(64, 4)) == 0


def test_what_a_device_cannot_multiply_is_told() -> None:
    bare = devices().find("Groq LPU")
    with pytest.raises(UsageError, match="no arithmetic for weights in fp8"):
        Deployment(
            model=LLAMA_8B,
            device=type(bare)(
                **{**{n: getattr(bare, n) for n in bare.__struct_fields__}, "dense": {"int8": "1 TOP/s"}}
            ),
            precision=PRECISIONS["fp8"],
        )


def test_experts_touched_by_simulation() -> None:
    rng = np.random.default_rng(0)
    assert DEEPSEEK.experts is not None
    for tokens in (1, 2, 16, 100):
        runs = [len({e for _ in range(tokens) for e in rng.choice(256, 8, replace=False)}) for _ in range(150)]
        assert np.mean(runs) == pytest.approx(
            float(touched(DEEPSEEK.experts, tokens)), abs=4 * np.std(runs) / 12 + 1e-9
        )
    assert weights_read(DEEPSEEK, 1) == pytest.approx(DEEPSEEK.active)
    assert weights_read(DEEPSEEK, 10_000) == pytest.approx(DEEPSEEK.parameters, rel=1e-3)
    assert weights_read(DEEPSEEK, 2, shared_choice=1.0) == pytest.approx(DEEPSEEK.active)


def test_batches_of_one_length_are_joined_without_gaps() -> None:
    found = buckets(stated(), CONTEXT, largest=512, most=8)
    assert found[0].first == 1
    assert found[-1].last == 512
    assert all(one.last + 1 == other.first for one, other in pairwise(found))
    assert [bucket.draft_tokens for bucket in found] == [3, 2, 1, 0]


def test_the_option_for_vllm() -> None:
    found = buckets(stated(), CONTEXT, largest=512, most=8)
    option = speculative_config(found)
    assert option.startswith('--speculative-config \'{"num_speculative_tokens": 3, ')
    assert '"num_speculative_tokens_per_batch_size": [[1, ' in option
    assert option.endswith(", 512, 0]]}'")


def test_where_speculation_loses() -> None:
    first = loses_from(stated(), Shape.chain(4), CONTEXT, largest=512)
    assert first is not None
    speeds = stated().speed_up(Shape.chain(4), np.array([first - 1, first]), CONTEXT)
    assert speeds[0] >= 1 > speeds[1]
    assert loses_from(stated(0.99), Shape.chain(1), CONTEXT, largest=16) is None
    assert loses_from(stated(0.0), Shape.chain(4), CONTEXT, largest=16) == 1


def test_the_request_at_the_threshold_is_neither_faster_nor_slower() -> None:
    found = tail(stated(), Shape.chain(4), 64, CONTEXT, Spread(mean=0.6, deviation=0.15))
    assert found.acceptance_needed is not None
    assert float(chain_tokens(found.acceptance_needed, 4)) == pytest.approx(found.tokens_needed)
    assert float(stated(found.acceptance_needed).speed_up(Shape.chain(4), 64, CONTEXT)) == pytest.approx(1)
    rng = np.random.default_rng(0)
    a, b = Spread(mean=0.6, deviation=0.15).shape
    drawn = rng.beta(a, b, 40_000)
    assert drawn.mean() == pytest.approx(0.6, abs=3e-3)
    assert drawn.std() == pytest.approx(0.15, abs=3e-3)
    assert (drawn < found.acceptance_needed).mean() == pytest.approx(found.slowed, abs=5e-3)


def test_an_impossible_spread() -> None:
    with pytest.raises(ValueError, match="no beta law"):
        Spread(mean=0.6, deviation=0.6)


def test_a_full_cache() -> None:
    found = capacity(stated(), Shape.chain(4), 2048)
    weights = 1.016 * STATED.model.parameters
    assert found.pool_bytes == pytest.approx(8 * 80e9 * 0.9 - weights)
    assert found.batch == int(found.pool_bytes // (163_840 * 2048))
    assert found.preemption_seconds == pytest.approx(float(STATED.step(1, 1024, 2048)))
    small = Speculation(deployment=chosen_deployment(devices=1), drafter=light(0.016), acceptance=0.6)
    assert capacity(small, Shape.chain(4), 2048).batch < 10
    nothing = Speculation(
        deployment=chosen_deployment(devices=1, precision=PRECISIONS["bf16"]), drafter=light(0.016), acceptance=0.6
    )
    full = capacity(nothing, Shape.chain(4), 2048)
    assert full.batch == 0
    assert full.user_speed is None


def test_drafters_cost_what_they_read() -> None:
    target = STATED.model
    heads = drafters.blind_heads(target)
    one = float(heads.seconds(STATED, Shape.chain(1), 1, CONTEXT))
    assert float(heads.seconds(STATED, Shape.chain(4), 1, CONTEXT)) == pytest.approx(4 * one)
    small = drafters.small_model(models().find("Llama-3.1-8B"), launch=1e-3)
    cache = 65_536 * CONTEXT / STATED.bandwidth
    passes = float(small.seconds(STATED, Shape.chain(3), 1, CONTEXT))
    assert passes == pytest.approx(3 * (small.weights / STATED.bandwidth + cache + 1e-3))
    assert float(drafters.prompt_lookup(launch=1e-4).seconds(STATED, Shape.chain(5), 7, CONTEXT)) == pytest.approx(1e-4)
    assert float(small.seconds(STATED, Shape.chain(0), 7, CONTEXT)) == 0


def test_what_of_a_drafter_lies_in_memory() -> None:
    heads, head = drafters.blind_heads(STATED.model), drafters.mtp(DEEPSEEK)
    assert heads.resident(Shape.chain(4)) == 4 * heads.weights
    assert drafters.eagle(STATED.model).resident(Shape.chain(4)) == drafters.eagle(STATED.model).weights
    # The module is published as 14 billion, its copy of the embedding counted.
    assert (head.resident(Shape.chain(1)) + DEEPSEEK.embedding) / 1e9 == pytest.approx(14, abs=0.6)


def test_flips() -> None:
    assert flips(np.array([1.0, 3.0, 3.0]), np.array([2.0, 2.0, 4.0]), [1, 2, 3]) == (2, 3)


def test_a_price_list_holds_what_its_parts_say() -> None:
    listed = price(stated(), batches=[1, 64], contexts=[1024, 8192], most=8, largest=512, memory_used=0.9, spread=0.15)
    cell = next(cell for cell in listed.cells if (cell.batch, cell.context) == (64, 1024))
    assert cell.best == 2
    assert cell.speed_up == pytest.approx(float(stated().speed_up(Shape.chain(2), 64, 1024)))
    assert cell.user == pytest.approx(float(stated().user_speed(Shape.chain(2), 64, 1024)))
    assert listed.contexts[0].loses_from == 285
    assert listed.losses[1].slowed == tail(stated(), Shape.chain(8), 64, 1024, Spread(mean=0.6, deviation=0.15)).slowed


def test_a_drafter_with_experts_reads_those_that_its_batch_touches() -> None:
    deployment = Deployment(
        model=DEEPSEEK, device=devices().find("B200"), devices=8, precision=PRECISIONS["fp8"], links=False
    )
    head = drafters.mtp(DEEPSEEK)
    one, many = head.seconds(deployment, Shape.chain(1), [1, 512], 0)
    assert one * deployment.bandwidth == pytest.approx(head.weights)
    assert many * deployment.bandwidth == pytest.approx(head.weights + 248 * DEEPSEEK.expert, rel=1e-3)
