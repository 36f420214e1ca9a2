import numpy as np
import pytest

from specaudit.checks.copies import between_choices, between_requests, first_choices, independence, tellable_choices
from specaudit.model.evidence import END, Draws

RNG_SEED = 20


def drawn(tokens, slot, prompt=None, *, asked=None, planned=None):
    """Draws of so many completions `[N, T]`, with the request and the prompt of each."""
    return Draws(
        tokens=tokens,
        prompt_index=np.zeros(len(tokens), dtype=np.int64) if prompt is None else prompt,
        slot=slot,
        asked=np.full(len(tokens), tokens.shape[1]) if asked is None else asked,
        vocabulary=tuple(range(50)),
        planned=planned or len(tokens),
    )


def independent(rng, requests, choices, *, length=16, weights=(0.6, 0.3, 0.1)):
    tokens = rng.choice(len(weights), size=(requests * choices, length), p=weights)
    return tokens, np.repeat(np.arange(requests), choices)


@pytest.fixture
def rng():
    return np.random.default_rng(RNG_SEED)


@pytest.mark.parametrize("choices", [1, 2, 4, 7, 64])
def test_independent_draws_are_no_copies(rng, choices):
    found = between_requests(drawn(*independent(rng, 60, choices)))
    assert found.pairs == 30
    assert found.equal == 0
    assert found.p_value > 0.01


@pytest.mark.parametrize("choices", [4, 16, 64])
@pytest.mark.parametrize("share", [0.7, 1.0])
def test_requests_that_repeat_all_choices_are_found(rng, choices, share):
    tokens, slot = independent(rng, 60, choices)
    shaped = tokens.reshape(60, choices, -1)
    shaped[rng.random(60) < share] = shaped[0]
    found = between_requests(drawn(tokens, slot))
    assert found.p_value < 1e-4
    assert found.equal >= (1 if share < 1 else 30)


@pytest.mark.parametrize("sources", [3, 5])
def test_single_answers_from_a_few_sources_are_found(rng, sources):
    """Several caches, each with an answer of its own."""
    answers, _ = independent(rng, sources, 1)
    tokens = answers[rng.integers(0, sources, 2000)]
    assert between_requests(drawn(tokens, np.arange(2000))).p_value < 1e-4


def test_a_favourite_answer_is_no_copy(rng):
    """Most draws of a peaked law are one and the same sentence, and the others are all different."""
    tokens, slot = independent(rng, 2000, 1)
    prompt = slot % 2
    for which in (0, 1):
        tokens[(rng.random(2000) < 0.7) & (prompt == which)] = tokens[which]
    assert between_requests(drawn(tokens, slot, prompt=prompt)).p_value > 0.01


@pytest.mark.parametrize("choices", [1, 8])
def test_an_engine_without_choice_is_no_copy(choices):
    tokens = np.tile(np.arange(16), (60 * choices, 1))
    found = between_requests(drawn(tokens, np.repeat(np.arange(60), choices)))
    assert (found.equal, found.p_value) == (30, 1.0)


def test_equal_choices_within_a_request_are_another_matter(rng):
    """Each request repeats its first choice: across requests they still differ."""
    tokens, slot = independent(rng, 60, 8)
    tokens = np.repeat(tokens[::8], 8, axis=0)
    assert between_requests(drawn(tokens, slot)).p_value > 0.01


def test_only_requests_with_the_same_prompt_are_compared(rng):
    tokens, slot = independent(rng, 1, 8)
    tokens, slot = np.vstack([tokens, tokens]), np.repeat([0, 1], 8)
    assert between_requests(drawn(tokens, slot, prompt=slot)).pairs == 0
    assert between_requests(drawn(tokens, slot, prompt=slot)).p_value == 1.0
    assert between_requests(drawn(tokens, slot)).pairs == 1


def test_prompts_may_be_mixed(rng):
    tokens, slot = independent(rng, 40, 4)
    prompt = np.repeat(rng.permutation(np.arange(40) % 4), 4)
    tokens[prompt == 2] = np.tile(tokens[prompt == 2][:4], (10, 1))
    found = between_requests(drawn(tokens, slot, prompt=prompt))
    assert (found.pairs, found.equal) == (20, 5)
    assert found.p_value < 1e-3


def test_requests_that_lost_a_choice_are_left_out(rng):
    tokens, slot = independent(rng, 10, 4)
    found = between_requests(drawn(tokens[1:], slot[1:]))
    assert found.pairs == 4


def test_ends_are_compared_like_tokens(rng):
    tokens, slot = independent(rng, 60, 8)
    tokens[:, 4:] = END
    assert between_requests(drawn(tokens, slot)).p_value > 0.01


def test_nothing_is_no_copy():
    empty = drawn(np.zeros((0, 4), dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert between_requests(empty).p_value == 1.0


@pytest.mark.parametrize("choices", [1, 4])
def test_false_alarms_are_as_rare_as_the_p_value_says(choices):
    """Of 400 healthy engines with a peaked law of short answers, about 5 % at most are below .05."""
    rng = np.random.default_rng(7)
    law = {"length": 8 if choices == 1 else 4, "weights": (0.8, 0.2)}
    p_values = [between_requests(drawn(*independent(rng, 40, choices, **law))).p_value for _ in range(400)]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.08


def test_short_answers_among_long_ones_are_no_copies(rng):
    """Two short answers end alike, and often begin alike; two long ones do neither."""
    tokens, slot = independent(rng, 2000, 1, length=32)
    asked = np.where(np.arange(2000) % 2, 4, 32)
    tokens[asked == 4, 4:] = END
    assert between_requests(drawn(tokens, slot, asked=asked)).p_value > 0.01
    tokens[asked == 32] = tokens[rng.choice(np.flatnonzero(asked == 32)[:5], 1000)]
    assert between_requests(drawn(tokens, slot, asked=asked)).p_value < 1e-4


def test_where_halves_had_to_do_the_p_value_does_not_hold_for_every_law(rng):
    """Ten sentences, each of which is settled by its first words: independent, and still like copies."""
    sentences, _ = independent(rng, 10, 1)
    found = between_requests(drawn(sentences[rng.integers(0, 10, 2000)], np.arange(2000)))
    assert found.p_value < 1e-3
    assert not found.exact
    assert between_requests(drawn(np.repeat(sentences, 8, axis=0), np.repeat(np.arange(10), 8))).exact


def repeated(rng, requests, choices):
    """Each request gives its first answer again and again."""
    tokens, slot = independent(rng, requests, choices)
    return np.repeat(tokens[::choices], choices, axis=0), slot


def test_choices_that_repeat_each_other_are_copies(rng):
    found = between_choices(drawn(*repeated(rng, 100, 4)))
    assert (found.equal, found.pairs) == (found.pairs, 100)
    assert found.p_value == found.least_p < 1e-9


def test_independent_choices_are_called_copies_at_most_at_the_level():
    """Of 300 audits at .05 more than 28 alarms have a probability below 1e-3."""
    rng = np.random.default_rng(1)
    found = [between_choices(drawn(*independent(rng, 40, 4, length=2))) for _ in range(300)]
    assert sum(one.p_value <= 0.05 for one in found) <= 28


def test_choices_of_several_lengths_and_prompts_are_called_copies_at_most_at_the_level():
    """Short answers agree more often than long ones: the mixture must be the same within requests and across."""
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(400):
        tokens, slot = independent(rng, 40, 4, length=8)
        asked = np.repeat(rng.permutation(np.arange(40) % 8 + 1), 4)
        tokens[np.arange(8) >= asked[:, None]] = END
        prompt = np.repeat(rng.integers(0, 2, 40), 4)
        tokens[prompt == 1] = np.where(tokens[prompt == 1] == END, END, 0)  # one prompt has no choice at all
        alarms += between_choices(drawn(tokens, slot, prompt=prompt, asked=asked)).p_value <= 0.05
    assert alarms <= 34


def test_answers_that_are_often_equal_by_their_law_are_no_copies():
    same = np.zeros((200, 8), dtype=np.int64)
    found = between_choices(drawn(same, np.arange(200) // 4))
    assert (found.p_value, found.least_p) == (1.0, 1.0)


def test_it_is_known_whether_choices_are_copies_only_where_copies_would_have_been_seen(rng):
    one_request = {"subject": drawn(*repeated(rng, 1, 16))}
    assert independence(one_request, 1e-3).choices == "unknown"
    assert not independence(one_request, 1e-3).settled
    assert independence({"subject": drawn(*repeated(rng, 60, 16))}, 1e-3).choices == "copies"
    found = independence({"subject": drawn(*independent(rng, 60, 16))}, 1e-3)
    assert (found.choices, found.requests_known, found.copied, found.settled) == ("independent", True, "", True)


def test_one_choice_a_request_has_nothing_to_copy(rng):
    few, many = (independence({"subject": drawn(*independent(rng, n, 1))}, 1e-3) for n in (10, 200))
    assert few.choices == many.choices == "independent"
    assert (few.settled, many.settled) == (False, True)  # a cache would not show in ten answers


def test_of_each_request_the_first_choice_is_kept_and_losses_stay_in_proportion():
    kept = first_choices(drawn(np.arange(24).reshape(12, 2) % 4, np.arange(12) // 4, planned=16))
    assert kept.tokens.tolist() == [[0, 1], [0, 1], [0, 1]]
    assert kept.slot.tolist() == [0, 1, 2]
    assert kept.asked.tolist() == [2, 2, 2]
    assert kept.planned == 4


def test_small_samples_are_planned_with_fewer_choices():
    assert tellable_choices(64, 10_000, 2) == 64
    assert tellable_choices(64, 400, 2) == 25
    assert tellable_choices(64, 10, 2) == 1
