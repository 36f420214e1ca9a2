import numpy as np

from specaudit.checks.choices import are_copies, first_choices
from specaudit.model.evidence import Draws


def draws(tokens, choices, *, planned=None):
    count = len(tokens)
    return Draws(
        tokens=tokens,
        prompt_index=np.zeros(count, dtype=np.int64),
        slot=np.arange(count) // choices,
        vocabulary=tuple(range(4)),
        planned=planned or count,
    )


def test_choices_that_repeat_each_other_are_copies():
    rng = np.random.default_rng(0)
    assert are_copies(draws(np.repeat(rng.integers(0, 4, (100, 8)), 4, axis=0), 4), 1e-3)


def test_independent_choices_are_called_copies_at_most_at_the_level():
    """Of 300 audits at .05 more than 28 alarms have a probability below 1e-3."""
    rng = np.random.default_rng(1)
    assert sum(are_copies(draws(rng.integers(0, 2, (160, 2)), 4), 0.05) for _ in range(300)) <= 28


def test_answers_that_are_often_equal_by_their_law_are_no_copies():
    assert not are_copies(draws(np.zeros((200, 8), dtype=np.int64), 4), 0.05)


def test_one_choice_a_request_has_nothing_to_copy():
    assert not are_copies(draws(np.zeros((200, 8), dtype=np.int64), 1), 0.05)


def test_of_each_request_the_first_choice_is_kept_and_losses_stay_in_proportion():
    kept = first_choices(draws(np.arange(24).reshape(12, 2) % 4, 4, planned=16))
    assert kept.tokens.tolist() == [[0, 1], [0, 1], [0, 1]]
    assert kept.slot.tolist() == [0, 1, 2]
    assert kept.planned == 4
