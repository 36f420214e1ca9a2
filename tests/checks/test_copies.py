import numpy as np
import pytest

from specaudit.checks.copies import copies
from specaudit.model.evidence import END, Draws

RNG_SEED = 20


def drawn(tokens, slot, prompt=None):
    """Draws of so many completions `[N, T]`, with the request and the prompt of each."""
    return Draws(
        tokens=tokens,
        prompt_index=np.zeros(len(tokens), dtype=np.int64) if prompt is None else prompt,
        slot=slot,
        vocabulary=tuple(range(50)),
        planned=len(tokens),
    )


def independent(rng, requests, choices, *, length=16, weights=(0.6, 0.3, 0.1)):
    tokens = rng.choice(len(weights), size=(requests * choices, length), p=weights)
    return tokens, np.repeat(np.arange(requests), choices)


@pytest.fixture
def rng():
    return np.random.default_rng(RNG_SEED)


@pytest.mark.parametrize("choices", [1, 2, 4, 7, 64])
def test_independent_draws_are_no_copies(rng, choices):
    found = copies(drawn(*independent(rng, 60, choices)))
    assert found.pairs == 30
    assert found.equal == 0
    assert found.p_value > 0.01


@pytest.mark.parametrize("choices", [4, 16, 64])
@pytest.mark.parametrize("share", [0.7, 1.0])
def test_requests_that_repeat_all_choices_are_found(rng, choices, share):
    tokens, slot = independent(rng, 60, choices)
    shaped = tokens.reshape(60, choices, -1)
    shaped[rng.random(60) < share] = shaped[0]
    found = copies(drawn(tokens, slot))
    assert found.p_value < 1e-4
    assert found.equal >= (1 if share < 1 else 30)


@pytest.mark.parametrize("sources", [3, 5])
def test_single_answers_from_a_few_sources_are_found(rng, sources):
    """Several caches, each with an answer of its own."""
    answers, _ = independent(rng, sources, 1)
    tokens = answers[rng.integers(0, sources, 2000)]
    assert copies(drawn(tokens, np.arange(2000))).p_value < 1e-4


def test_a_favourite_answer_is_no_copy(rng):
    """Most draws of a peaked law are one and the same sentence, and the others are all different."""
    tokens, slot = independent(rng, 2000, 1)
    prompt = slot % 2
    for which in (0, 1):
        tokens[(rng.random(2000) < 0.7) & (prompt == which)] = tokens[which]
    assert copies(drawn(tokens, slot, prompt=prompt)).p_value > 0.01


@pytest.mark.parametrize("choices", [1, 8])
def test_an_engine_without_choice_is_no_copy(choices):
    tokens = np.tile(np.arange(16), (60 * choices, 1))
    found = copies(drawn(tokens, np.repeat(np.arange(60), choices)))
    assert (found.equal, found.p_value) == (30, 1.0)


def test_equal_choices_within_a_request_are_another_matter(rng):
    """Each request repeats its first choice: across requests they still differ."""
    tokens, slot = independent(rng, 60, 8)
    tokens = np.repeat(tokens[::8], 8, axis=0)
    assert copies(drawn(tokens, slot)).p_value > 0.01


def test_only_requests_with_the_same_prompt_are_compared(rng):
    tokens, slot = independent(rng, 1, 8)
    tokens, slot = np.vstack([tokens, tokens]), np.repeat([0, 1], 8)
    assert copies(drawn(tokens, slot, prompt=slot)).pairs == 0
    assert copies(drawn(tokens, slot, prompt=slot)).p_value == 1.0
    assert copies(drawn(tokens, slot)).pairs == 1


def test_prompts_may_be_mixed(rng):
    tokens, slot = independent(rng, 40, 4)
    prompt = np.repeat(rng.permutation(np.arange(40) % 4), 4)
    tokens[prompt == 2] = np.tile(tokens[prompt == 2][:4], (10, 1))
    found = copies(drawn(tokens, slot, prompt=prompt))
    assert (found.pairs, found.equal) == (20, 5)
    assert found.p_value < 1e-3


def test_requests_that_lost_a_choice_are_left_out(rng):
    tokens, slot = independent(rng, 10, 4)
    found = copies(drawn(tokens[1:], slot[1:]))
    assert found.pairs == 4


def test_ends_are_compared_like_tokens(rng):
    tokens, slot = independent(rng, 60, 8)
    tokens[:, 4:] = END
    assert copies(drawn(tokens, slot)).p_value > 0.01


def test_nothing_is_no_copy():
    empty = drawn(np.zeros((0, 4), dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert copies(empty).p_value == 1.0


@pytest.mark.parametrize("choices", [1, 4])
def test_false_alarms_are_as_rare_as_the_p_value_says(choices):
    """Of 400 healthy engines with a peaked law of short answers, about 5 % at most are below .05."""
    rng = np.random.default_rng(7)
    p_values = [copies(drawn(*independent(rng, 40, choices, length=4, weights=(0.8, 0.2)))).p_value for _ in range(400)]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.08
