import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.decoding.automata import Grammar
from specaudit.decoding.history import History
from specaudit.decoding.parameters import TO_THE_END, UNFILTERED, SamplingParameters, StopRules
from specaudit.decoding.processors import ORDERS, Processors, process
from specaudit.decoding.rules import RuleTable
from specaudit.laws import processors as laws
from specaudit.laws.orders import LLAMA_CPP, TRANSFORMERS
from specaudit.model.request import Sampling

from .strategies import steady

# Few different values, so that ties are frequent; −inf forbids a token.
LOGITS = st.lists(
    st.sampled_from([-math.inf, -3.0, -1.0, 0.0, 0.5, 2.0]) | st.floats(-50, 50), min_size=1, max_size=8
).filter(lambda row: max(row) > -math.inf)
TEMPERATURES = st.floats(0.05, 20)
MASSES = st.floats(0.01, 1)


def sampling(temperature=1.0, top_k=0, top_p=1.0):
    return SamplingParameters(temperature=temperature, top_k=top_k, top_p=top_p)


@steady
@given(logits=LOGITS, temperature=st.just(0.0) | TEMPERATURES, top_k=st.integers(0, 9), top_p=MASSES)
def test_the_result_is_a_law_on_allowed_tokens(logits, temperature, top_k, top_p):
    law = process(logits, sampling(temperature, top_k, top_p))
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert (law >= 0).all()
    assert (law[np.isneginf(logits)] == 0).all()
    # Logits that differ by less than a rounding of their exponentials are equally likely.
    whole = process(logits, sampling(temperature))
    assert whole[np.argmax(law)] == whole.max()


@steady
@given(logits=LOGITS, temperature=TEMPERATURES)
def test_without_filters_it_is_the_softmax(logits, temperature):
    weights = [math.exp((logit - max(logits)) / temperature) for logit in logits]
    expected = np.array(weights) / math.fsum(weights)
    np.testing.assert_allclose(process(logits, sampling(temperature)), expected, rtol=1e-12)


@steady
@given(logits=LOGITS, top_k=st.integers(1, 9), temperature=TEMPERATURES)
def test_top_k_keeps_the_k_first_of_a_stable_ranking(logits, top_k, temperature):
    law, whole = process(logits, sampling(temperature, top_k)), process(logits, sampling(temperature))
    ranking = sorted(range(len(logits)), key=lambda token: -logits[token])
    assert (law[ranking[top_k:]] == 0).all()
    kept = ranking[:top_k]
    np.testing.assert_allclose(law[kept], whole[kept] / whole[kept].sum(), rtol=1e-12)


@steady
@given(logits=LOGITS, top_p=MASSES, top_k=st.integers(0, 9), temperature=TEMPERATURES)
def test_top_p_keeps_the_smallest_set_that_reaches_the_mass(logits, top_p, top_k, temperature):
    law = process(logits, sampling(temperature, top_k, top_p))
    before = process(logits, sampling(temperature, top_k))
    ranking = sorted(range(len(before)), key=lambda token: -before[token])
    kept = int(np.count_nonzero(law))
    assert set(np.flatnonzero(law)) == {token for token in ranking[:kept] if before[token] > 0}
    assert before[ranking[:kept]].sum() >= top_p - 1e-12
    assert before[ranking[: kept - 1]].sum() < top_p + 1e-12
    np.testing.assert_allclose(law[law > 0], before[law > 0] / before[law > 0].sum(), rtol=1e-12)


@pytest.mark.parametrize(
    ("probabilities", "parameters", "expected"),
    [
        pytest.param([0.5, 0.3, 0.2], sampling(top_p=0.5), [1, 0, 0], id="reached exactly"),
        pytest.param([0.5, 0.3, 0.2], sampling(top_p=0.51), [0.625, 0.375, 0], id="the crossing token stays"),
        pytest.param([0.5, 0.3, 0.2], sampling(top_p=1e-9), [1, 0, 0], id="never empty"),
        pytest.param([0.25] * 4, sampling(top_p=0.5), [0.5, 0.5, 0, 0], id="nucleus ties: lowest index"),
        pytest.param([0.25] * 4, sampling(top_k=1), [1, 0, 0, 0], id="top-k ties: lowest index"),
        pytest.param([0.2, 0.4, 0.2, 0.2], sampling(top_k=2), [1 / 3, 2 / 3, 0, 0], id="tie at the threshold"),
        pytest.param([0.4, 0.3, 0.2, 0.1], sampling(top_k=2, top_p=0.57), [1, 0, 0, 0], id="top-k before top-p"),
        pytest.param([0.1, 0.45, 0.45], sampling(temperature=0), [0, 1, 0], id="greedy ties: lowest index"),
        pytest.param([0.1, 0.9], sampling(temperature=0, top_k=1, top_p=0.1), [0, 1], id="greedy ignores filters"),
        pytest.param([0.1, 0.9], sampling(temperature=0.5), [0.01 / 0.82, 0.81 / 0.82], id="temperature"),
        pytest.param([0.3, 0.7], sampling(temperature=1e-300), [0, 1], id="a tiny temperature"),
        pytest.param([0.3, 0.7], sampling(top_k=5), [0.3, 0.7], id="top-k beyond the vocabulary"),
    ],
)
def test_cases(probabilities, parameters, expected):
    np.testing.assert_allclose(process(np.log(probabilities), parameters), expected, atol=1e-15)


def test_temperature_comes_before_top_p():
    # At temperature 2 the head of this law has 0.6 of the mass, at temperature 1 it had 0.69.
    law = process(np.log([9 / 13, 4 / 13]), sampling(temperature=2, top_p=0.65))
    np.testing.assert_allclose(law, [0.6, 0.4])


@steady
@given(rows=st.lists(st.lists(st.floats(-20, 20), min_size=4, max_size=4), min_size=6, max_size=6))
def test_every_row_is_processed_by_itself(rows):
    parameters = sampling(0.7, 3, 0.8)
    batch = process(np.reshape(rows, (2, 3, 4)), parameters)
    np.testing.assert_array_equal(batch.reshape(6, 4), [process(row, parameters) for row in rows])


def test_the_callers_logits_stay_as_they_are():
    logits = np.array([1.0, 3.0, 2.0])
    process(logits, sampling(0.5, 2, 0.5))
    assert logits.tolist() == [1, 3, 2]


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        ([[0, 1], [-np.inf, -np.inf]], r"logits\[1\] have no finite maximum: \[-inf, -inf\]"),
        ([0, np.nan], "no finite maximum"),
        ([0, np.inf], "no finite maximum"),
    ],
)
@pytest.mark.parametrize("temperature", [0, 1])
def test_logits_that_are_no_law_are_refused(logits, message, temperature):
    with pytest.raises(ValueError, match=message):
        process(logits, sampling(temperature))


@pytest.mark.parametrize(
    "parameters",
    [{"temperature": -1}, {"temperature": np.inf}, {"temperature": np.nan}, {"top_k": -1}, {"top_p": 0}, {"top_p": 2}],
)
def test_parameters_out_of_range_are_refused(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"{name} must be"):
        SamplingParameters(**parameters)


def test_the_default_changes_nothing():
    assert SamplingParameters() == UNFILTERED == sampling(1.0, 0, 1.0)


V = 5
TOKENS = st.lists(st.integers(0, V - 1), max_size=6)
PENALTIES = st.sampled_from([0.0, 0.5, -1.0])
PARAMETERS = st.builds(
    SamplingParameters,
    temperature=st.sampled_from([0.0, 0.6, 1.0, 1.7]),
    top_k=st.sampled_from([0, 0, 2, 3]),
    top_p=st.sampled_from([1.0, 0.8, 0.5]),
    min_p=st.sampled_from([0.0, 0.2]),
    repetition_penalty=st.sampled_from([1.0, 1.3, 0.8]),
    presence_penalty=PENALTIES,
    frequency_penalty=PENALTIES,
    logit_bias=st.sampled_from([(), ((1, 2.0), (3, -4.0))]),
    bad_words=st.sampled_from([(), ((2,),), ((0, 1), (1, 1, 3))]),
    allowed_token_ids=st.sampled_from([None, (0, 1, 3)]),
)


@st.composite
def batches(draw):
    rows = draw(st.integers(1, 4))
    drafts = draw(st.integers(0, 3))
    prompts = [draw(TOKENS) for _ in range(rows)]
    outputs = [draw(TOKENS) for _ in range(rows)]
    drafted = [draw(st.lists(st.integers(0, V - 1), min_size=drafts, max_size=drafts)) for _ in range(rows)]
    logits = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(rows, drafts + 1, V)) * 2
    parameters = [draw(PARAMETERS) for _ in range(rows)]
    return prompts, outputs, drafted, logits, parameters


def histories(prompts, outputs, drafted, rules):
    said = [prompt + output for prompt, output in zip(prompts, outputs, strict=True)]
    tokens = np.full((len(said), max(map(len, said))), -1)
    for row, one in zip(tokens, said, strict=True):
        row[: len(one)] = one
    drafts = np.array(drafted, dtype=int).reshape(len(said), -1)
    return History(
        tokens=tokens,
        prompt_lengths=np.array([len(prompt) for prompt in prompts]),
        lengths=np.array([len(one) for one in said]),
        drafts=drafts,
        before=np.tri(drafts.shape[1] + 1, drafts.shape[1], k=-1, dtype=bool),
        grammar=rules.grammar,
    )


def rules_of(parameters, stops=None):
    table = RuleTable(V, eos=0)
    stops = stops or [TO_THE_END] * len(parameters)
    return table.rules(np.array([table.number(*one) for one in zip(parameters, stops, strict=True)]))


@settings(steady, max_examples=150)
@given(batches(), st.sampled_from([("vllm", laws.VLLM), ("transformers", TRANSFORMERS), ("llama.cpp", LLAMA_CPP)]))
def test_every_row_is_processed_as_the_audit_would_by_itself(batch, order):
    """Against the audit's own processors, which take one law at a time and share no code with these."""
    prompts, outputs, drafted, logits, parameters = batch
    engine, auditors = order
    if engine != "vllm":
        neutral = {"repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
        neutral |= {"bad_words": (), "allowed_token_ids": None}
        parameters = [dataclasses.replace(one, **neutral) for one in parameters]
    rules = rules_of(parameters)
    got = Processors(ORDERS[engine])(logits, rules, histories(prompts, outputs, drafted, rules))
    for row, one in enumerate(parameters):
        asked = {name: value for name, value in vars(one).items() if name != "grammar"}
        for place in range(logits.shape[1]):
            history = laws.History(tuple(prompts[row]), tuple(outputs[row] + drafted[row][:place]))
            try:
                wanted = laws.processed(logits[row, place], Sampling(**asked), order=auditors, history=history)
            except ValueError:
                wanted = np.zeros(V)
            np.testing.assert_allclose(got[row, place], wanted, atol=1e-9)


# Accepts 0 1 0 1 …, ended by 4.
GRAMMAR = Grammar(np.array([[1, -1, -1, -1, 2], [-1, 0, -1, -1, 2], [-1, -1, -1, -1, -1]]))


def test_a_grammar_masks_every_row_behind_the_drafts_before_it():
    rules = rules_of([SamplingParameters(grammar=GRAMMAR), UNFILTERED])
    history = histories([[3], [3]], [[], []], [[0, 1, 4], [0, 1, 4]], rules)
    laws = Processors()(np.zeros((2, 4, V)), rules, history)
    allowed = [np.flatnonzero(law).tolist() for law in laws[0]]
    assert allowed == [[0, 4], [1, 4], [0, 4], []]
    assert (laws[1] == 1 / V).all()


def test_behind_a_draft_that_the_grammar_refuses_anything_goes():
    rules = rules_of([SamplingParameters(grammar=GRAMMAR)])
    history = histories([[]], [[]], [[3, 2]], rules)
    laws = Processors()(np.zeros((1, 3, V)), rules, history)
    assert [np.count_nonzero(law) for law in laws[0]] == [2, V, V]


def test_stop_tokens_are_forbidden_until_there_are_enough():
    stops = [StopRules(min_tokens=2, token_ids=(3,)), StopRules(min_tokens=2, ignore_eos=True), TO_THE_END]
    rules = rules_of([UNFILTERED] * 3, stops)
    history = histories([[1]] * 3, [[1]] * 3, [[1, 1]] * 3, rules)
    laws = Processors()(np.zeros((3, 3, V)), rules, history)
    forbidden = [[np.flatnonzero(law == 0).tolist() for law in row] for row in laws]
    assert forbidden == [[[0, 3], [], []], [[], [], []], [[], [], []]]


def test_a_first_token_that_nothing_is_left_for_is_refused():
    with pytest.raises(ValueError, match=r"SamplingParameters\(.* leave no token of a row"):
        process(np.zeros(3), SamplingParameters(allowed_token_ids=(1,), bad_words=((1,),)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_p": 1.5}, "min_p must be in"),
        ({"repetition_penalty": 0}, "repetition_penalty must be finite and above 0"),
        ({"presence_penalty": np.inf}, "presence_penalty must be finite"),
        ({"logit_bias": ((0, np.nan),)}, "logit_bias must be numbers below infinity"),
        ({"bad_words": ((),)}, "bad_words must be sequences of at least one token"),
        ({"allowed_token_ids": ()}, "allowed_token_ids must name at least one token"),
    ],
)
def test_later_parameters_out_of_range_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        SamplingParameters(**parameters)
