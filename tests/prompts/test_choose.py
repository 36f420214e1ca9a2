"""Prompts are the same for the same seed, all different, and of a form that every arm takes."""

import pytest

from specaudit.model.capabilities import Capabilities
from specaudit.prompts.choose import choose_prompts
from specaudit.prompts.sets import MIXED, load

TINY = Capabilities(engine="reference", token_prompts=True, vocabulary_size=4)
LARGE = Capabilities(engine="openai", token_prompts=True, vocabulary_size=128_000)
TEXT = Capabilities(engine="openai")
TEXTS = load(MIXED).prompts


def test_a_tiny_vocabulary_gets_token_ids():
    prompts = choose_prompts(40, [TINY, TINY], seed=1)
    assert len(set(prompts)) == 40
    assert all(isinstance(prompt, tuple) and set(prompt) <= set(range(4)) for prompt in prompts)


@pytest.mark.parametrize("arms", [[TEXT], [TINY, TEXT], [LARGE, LARGE], [TINY, LARGE]])
def test_everything_else_gets_text(arms):
    assert all(isinstance(prompt, str) for prompt in choose_prompts(5, arms, seed=1))


def test_the_same_seed_gives_the_same_prompts_and_another_seed_others():
    assert choose_prompts(5, [TINY], 3) == choose_prompts(5, [TINY], 3)
    assert choose_prompts(5, [TINY], 3) != choose_prompts(5, [TINY], 4)
    assert choose_prompts(5, [TEXT], 3) != choose_prompts(5, [TEXT], 4)


def test_texts_are_used_once_before_any_is_used_again():
    count = 2 * len(TEXTS) + 3
    prompts = choose_prompts(count, [TEXT], seed=0)
    assert set(prompts[: len(TEXTS)]) == set(TEXTS)
    assert len(set(prompts)) == count
