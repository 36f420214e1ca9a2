"""The audit's processors and the decoder's are two implementations of one definition."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.decoding.history import History as DecoderHistory
from specaudit.decoding.parameters import TO_THE_END
from specaudit.decoding.processors import ORDERS as DECODER_ORDERS
from specaudit.decoding.processors import Processors, SamplingParameters, process
from specaudit.decoding.rules import RuleTable
from specaudit.laws.orders import LLAMA_CPP, TRANSFORMERS, VLLM
from specaudit.laws.processors import History, asked_for, processed
from specaudit.model.request import Sampling

LAWS = st.lists(st.integers(-12, 12).map(lambda x: x / 4), min_size=1, max_size=12).map(np.array)


@given(
    logits=LAWS,
    temperature=st.sampled_from([0.0, 0.3, 0.7, 1.0, 1.5]),
    top_k=st.integers(0, 14),
    top_p=st.sampled_from([1.0, 0.9, 0.5, 0.1]),
)
@settings(max_examples=400)
def test_both_implementations_agree(logits, temperature, top_k, top_p):
    ours = processed(logits, Sampling(temperature=temperature, top_k=top_k, top_p=top_p))
    theirs = process(logits, SamplingParameters(temperature=temperature, top_k=top_k, top_p=top_p))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@given(
    weights=st.lists(st.integers(1, 60), min_size=2, max_size=8).map(np.array),
    kept=st.integers(1, 8),
    rounding=st.sampled_from([0.0, 1e-16, -1e-16, 1e-12, -1e-12]),
)
@settings(max_examples=400)
def test_both_agree_where_the_nucleus_ends_exactly_at_a_token(weights, kept, rounding):
    """top_p = .93 on a law with .59 + .34: which side of the edge a sum falls on must not depend on its order."""
    law = weights / weights.sum()
    edge = float(np.sort(law)[::-1][: min(kept, len(law))].sum()) + rounding
    if 0 < edge <= 1:
        ours = processed(np.log(law), Sampling(top_p=edge))
        theirs = process(np.log(law), SamplingParameters(top_p=edge))
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@given(logits=LAWS, shift=st.floats(-50, 50))
def test_a_constant_does_not_matter(logits, shift):
    sampling = Sampling(temperature=0.7, top_k=3)
    np.testing.assert_allclose(processed(logits + shift, sampling), processed(logits, sampling), atol=1e-9)


def test_impossible_tokens_stay_impossible():
    law = processed(np.array([0.0, -np.inf, 0.0]), Sampling())
    assert law.tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(), [0.5, 0.3, 0.15, 0.05]),
        (Sampling(temperature=0), [1, 0, 0, 0]),
        (Sampling(top_k=2), [0.625, 0.375, 0, 0]),
        (Sampling(top_p=0.5), [1, 0, 0, 0]),
        (Sampling(top_p=0.51), [0.625, 0.375, 0, 0]),
        (Sampling(temperature=0.5), [0.25 / 0.365, 0.09 / 0.365, 0.0225 / 0.365, 0.0025 / 0.365]),
    ],
)
def test_known_values(sampling, expected):
    law = processed(np.log([0.5, 0.3, 0.15, 0.05]), sampling)
    np.testing.assert_allclose(law, expected, atol=1e-12)


LAW = np.log([0.5, 0.3, 0.15, 0.05])


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(min_p=0.31), [0.625, 0.375, 0, 0]),
        (Sampling(min_p=0.3), [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0]),
        (Sampling(min_p=1.0), [1, 0, 0, 0]),
        (Sampling(logit_bias=((3, np.log(10)),)), [0.5 / 1.45, 0.3 / 1.45, 0.15 / 1.45, 0.5 / 1.45]),
        (Sampling(allowed_token_ids=(1, 2)), [0, 2 / 3, 1 / 3, 0]),
        (Sampling(bad_words=((0,), (3,))), [0, 2 / 3, 1 / 3, 0]),
        (Sampling(temperature=0, logit_bias=((3, 10.0),)), [0, 0, 0, 1]),
        (Sampling(temperature=0, allowed_token_ids=(2, 3)), [0, 0, 1, 0]),
        (Sampling(temperature=0, min_p=0.5, top_k=1, top_p=0.1), [1, 0, 0, 0]),
    ],
)
def test_known_values_of_later_filters(sampling, expected):
    np.testing.assert_allclose(processed(LAW, sampling), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("sampling", "moved"),
    [
        (Sampling(presence_penalty=0.5), [0, -0.5, -0.5, 0]),
        (Sampling(frequency_penalty=0.5), [0, -1.0, -0.5, 0]),
        (Sampling(presence_penalty=-1.0, frequency_penalty=0.25), [0, 0.5, 0.75, 0]),
    ],
)
def test_penalties_look_at_the_completion_and_not_at_the_prompt(sampling, moved):
    history = History(prompt=(0, 3), completion=(1, 2, 1))
    law = processed(LAW, sampling, history=history)
    np.testing.assert_allclose(law, processed(LAW + np.array(moved), Sampling()), atol=1e-12)


def test_a_repetition_penalty_makes_what_was_said_less_likely_whatever_the_sign_of_its_logit():
    logits = np.array([2.0, 2.0, -2.0, -2.0])
    history = History(prompt=(0,), completion=(2,))
    law = processed(logits, Sampling(repetition_penalty=2.0), history=history)
    np.testing.assert_allclose(law, processed(np.array([1.0, 2.0, -4.0, -2.0]), Sampling()), atol=1e-12)


@pytest.mark.parametrize(
    ("before", "banned"), [((), []), ((1,), [2]), ((1, 2), [3]), ((2, 1), [2]), ((1, 1, 2), [3]), ((1, 2, 0), [])]
)
def test_a_bad_word_is_stopped_at_its_last_token(before, banned):
    law = processed(LAW, Sampling(bad_words=((1, 2), (1, 2, 3))), history=History(completion=before))
    assert np.flatnonzero(law == 0).tolist() == banned


def test_tokens_may_be_named_by_their_text():
    sampling = Sampling(bad_words=(("b",),), presence_penalty=1.0)
    law = processed(LAW, sampling, history=History(completion=("c", "z")), tokens=["a", "b", "c", "d"])
    np.testing.assert_allclose(law, processed(LAW + np.array([0, -np.inf, -1, 0]), Sampling()), atol=1e-12)


def test_a_filter_that_leaves_nothing_is_told():
    with pytest.raises(ValueError, match="the filters leave no token"):
        processed(LAW, Sampling(allowed_token_ids=(7,)))


TOKENS = st.lists(st.integers(0, 4), max_size=6).map(tuple)
WORDS = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple), max_size=3).map(tuple)
PENALTIES = st.sampled_from([0.0, 0.0, 0.5, -0.75])


@st.composite
def requests(draw):
    return Sampling(
        temperature=draw(st.sampled_from([0.0, 0.6, 1.0, 1.7])),
        top_k=draw(st.integers(0, 5)),
        top_p=draw(st.sampled_from([1.0, 0.83, 0.41])),
        min_p=draw(st.sampled_from([0.0, 0.07, 0.37])),
        repetition_penalty=draw(st.sampled_from([1.0, 1.3, 0.8])),
        presence_penalty=draw(PENALTIES),
        frequency_penalty=draw(PENALTIES),
        logit_bias=draw(st.sampled_from([(), ((1, 1.3),), ((0, -2.1), (4, 0.7))])),
        bad_words=draw(WORDS),
        allowed_token_ids=draw(st.sampled_from([None, None, (0, 1, 3), (2,)])),
    )


def decoded(logits, sampling, order, prompt, output, drafts):
    """The decoder's laws behind each of the drafts, [T, V]; all 0 where no token is left."""
    parameters = SamplingParameters(**{name: getattr(sampling, name) for name in sampling.__struct_fields__})
    table = RuleTable(logits.shape[-1])
    rules = table.rules(np.array([table.number(parameters, TO_THE_END)]))
    past = DecoderHistory(
        tokens=np.array([(*prompt, *output, -1)], dtype=np.int64),  # the last is padding
        prompt_lengths=np.array([len(prompt)]),
        lengths=np.array([len(prompt) + len(output)]),
        drafts=np.array([drafts], dtype=np.int64),
        before=np.arange(len(drafts)) < np.arange(len(logits))[:, None],
        grammar=rules.grammar,
    )
    return Processors(DECODER_ORDERS[order])(logits[None], rules, past)[0]


@given(
    rows=st.lists(st.lists(st.integers(-12, 12).map(lambda x: x / 4), min_size=5, max_size=5), min_size=3, max_size=3),
    sampling=requests(),
    order=st.sampled_from([VLLM, TRANSFORMERS, LLAMA_CPP]),
    prompt=TOKENS,
    output=TOKENS,
    drafts=st.tuples(st.integers(0, 4), st.integers(0, 4)),
)
@settings(max_examples=500, deadline=None)
def test_both_agree_behind_any_history_in_the_orders_that_both_have(rows, sampling, order, prompt, output, drafts):
    """The decoder takes vLLM's view of what penalties look at, whatever the order: where another engine's differs, the
    prompt is left out, or the filter that this engine does not have."""
    if order is not VLLM:
        prompt = ()
    absent = {step for step in asked_for(sampling) if step not in order.steps}
    neutral = {"presence": {"presence_penalty": 0.0}, "frequency": {"frequency_penalty": 0.0}}
    neutral |= {"allowed": {"allowed_token_ids": None}, "bad words": {"bad_words": ()}}
    for step in absent:
        sampling = msgspec.structs.replace(sampling, **neutral[step])
    logits = np.array(rows)
    laws = decoded(logits, sampling, order.engine, prompt, output, drafts)
    for i, law in enumerate(laws):
        history = History(prompt=prompt, completion=(*output, *drafts[:i]))
        if law.any():
            ours = processed(logits[i], sampling, order=order, history=history)
            np.testing.assert_allclose(ours, law, atol=1e-12)
        else:
            with pytest.raises(ValueError, match="leave no token"):
                processed(logits[i], sampling, order=order, history=history)
