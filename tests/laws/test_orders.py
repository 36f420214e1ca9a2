"""Each engine's order, worked by hand on laws where another order would give another law."""

import numpy as np
import pytest

from specaudit.laws.orders import LLAMA_CPP, ORDERS, SGLANG, TENSORRT_LLM, TGI, TRANSFORMERS, VLLM, order_of
from specaudit.laws.processors import History, processed
from specaudit.model.request import Sampling

LAW = np.array([0.5, 0.3, 0.15, 0.05])
LOGITS = np.log(LAW)
NOTHING = History()


def kept(sampling, order, history=NOTHING):
    return np.flatnonzero(processed(LOGITS, sampling, order=order, history=history)).tolist()


def law(sampling, order, history=NOTHING):
    return processed(LOGITS, sampling, order=order, history=history)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_an_order_names_every_step_once_and_says_where_it_was_read(order):
    assert len(set(order.steps)) == len(order.steps)
    assert order.engine in ORDERS
    assert order.source


def test_llama_cpp_cuts_before_the_temperature():
    """At T = 2 the law is flatter, so that .85 of its mass takes three tokens and not two plus one."""
    hot = Sampling(temperature=2.0, top_p=0.8)
    assert kept(hot, LLAMA_CPP) == [0, 1]
    assert kept(hot, VLLM) == [0, 1, 2]
    np.testing.assert_allclose(law(hot, LLAMA_CPP)[:2], np.sqrt(LAW[:2]) / np.sqrt(LAW[:2]).sum())


def test_vllm_renormalises_behind_top_k_and_sglang_does_not():
    """Of .5 + .3, renormalised to .625 + .375, the first alone is a nucleus of .6; of the whole law it is not."""
    both = Sampling(top_k=2, top_p=0.6)
    assert kept(both, VLLM) == [0]
    assert kept(both, SGLANG) == [0, 1]


def test_sglang_renormalises_where_min_p_follows():
    assert kept(Sampling(top_k=2, top_p=0.6, min_p=0.01), SGLANG) == [0]


def test_min_p_stands_before_top_p_in_vllm_and_behind_it_in_transformers():
    """Without its last token the law's first two hold .842 of the mass."""
    both = Sampling(min_p=0.2, top_p=0.84)
    assert kept(both, VLLM) == [0, 1]
    assert kept(both, TRANSFORMERS) == [0, 1, 2]


def test_tensorrt_llm_penalises_behind_the_temperature():
    sampling = Sampling(temperature=0.5, presence_penalty=1.0)
    said = History(completion=(0,))
    odds = {order.engine: np.divide(*law(sampling, order, said)[:2]) for order in (VLLM, TENSORRT_LLM)}
    assert odds["vllm"] == pytest.approx((0.5 / 0.3 / np.e) ** 2)
    assert odds["tensorrt-llm"] == pytest.approx((0.5 / 0.3) ** 2 / np.e)


def test_sglang_adds_before_it_scales():
    logits = np.array([3.0, 1.0])
    sampling = Sampling(presence_penalty=1.0, repetition_penalty=2.0)
    said = History(completion=(0,))
    assert np.log(np.divide(*processed(logits, sampling, order=SGLANG, history=said))) == pytest.approx(1.0 - 1.0)
    assert np.log(np.divide(*processed(logits, sampling, order=VLLM, history=said))) == pytest.approx(0.5 - 1.0)


@pytest.mark.parametrize(
    ("order", "seen"),
    [(VLLM, False), (SGLANG, False), (LLAMA_CPP, True), (TENSORRT_LLM, True)],
    ids=lambda value: getattr(value, "engine", str(value)),
)
def test_whether_presence_counts_the_prompt(order, seen):
    changed = law(Sampling(presence_penalty=1.0), order, History(prompt=(1,)))
    assert (changed[1] < LAW[1] - 0.01) == seen


@pytest.mark.parametrize("order", [VLLM, TRANSFORMERS, LLAMA_CPP, TENSORRT_LLM, TGI], ids=lambda order: order.engine)
def test_repetition_counts_the_prompt(order):
    assert law(Sampling(repetition_penalty=2.0), order, History(prompt=(1,)))[1] < LAW[1] - 0.01


def test_llama_cpp_forgets_what_is_further_back_than_its_window():
    far, near = (History(prompt=(1,), completion=(3,) * length) for length in (64, 63))
    penalised = Sampling(presence_penalty=1.0)
    assert np.divide(*law(penalised, LLAMA_CPP, far)[:2]) == pytest.approx(0.5 / 0.3)
    assert np.divide(*law(penalised, LLAMA_CPP, near)[:2]) == pytest.approx(0.5 / 0.3 * np.e)


@pytest.mark.parametrize(
    ("sampling", "order", "name"),
    [
        (Sampling(min_p=0.1), TENSORRT_LLM, "min-p"),
        (Sampling(frequency_penalty=0.1, presence_penalty=0.1), TGI, "presence, frequency"),
        (Sampling(allowed_token_ids=(0,)), LLAMA_CPP, "allowed"),
    ],
)
def test_a_filter_without_a_place_is_refused_by_name(sampling, order, name):
    with pytest.raises(ValueError, match=f"^the order of filters of {order.engine} has no place for {name}$"):
        law(sampling, order)


def test_an_engine_is_known_by_its_family_and_others_are_taken_for_vllm():
    assert order_of("llama.cpp:b5000") is LLAMA_CPP
    assert order_of("reference") is VLLM
