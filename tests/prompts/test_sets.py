"""The shipped prompt sets: data, all different, and chosen by name."""

import pytest

from specaudit.model.capabilities import Capabilities
from specaudit.prompts import sets
from specaudit.prompts.choose import choose_prompts

TEXT = Capabilities(engine="openai")
LARGE = Capabilities(engine="openai", token_prompts=True, vocabulary_size=128_000)


def test_the_sets_are_there_and_say_what_they_are():
    assert sets.names() == ("chat", "code", "mixed", "numbers", "prose", "repetition", "tokens")
    assert all(sets.title(name) for name in sets.names())


@pytest.mark.parametrize("name", [name for name in sets.names() if name != sets.TOKENS])
def test_a_set_has_different_prompts_that_say_something(name):
    prompts = sets.load(name).prompts
    assert len(set(prompts)) == len(prompts) >= 20
    assert all(prompt.strip() for prompt in prompts)


def test_prompts_come_from_the_named_sets_only():
    both = {*sets.load("code").prompts, *sets.load("prose").prompts}
    assert set(choose_prompts(len(both), [TEXT], 3, ["code", "prose"])) == both
    assert set(choose_prompts(10, [TEXT], 3, ["code"])) <= set(sets.load("code").prompts)


def test_token_ids_may_be_asked_of_a_large_vocabulary():
    prompts = choose_prompts(5, [LARGE], 0, [sets.TOKENS])
    assert all(isinstance(prompt, tuple) and max(prompt) > 64 for prompt in prompts)
    assert all(isinstance(prompt, str) for prompt in choose_prompts(5, [TEXT], 0, [sets.TOKENS]))
