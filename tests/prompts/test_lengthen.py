import pytest

from specaudit.prompts.lengthen import lengthen


@pytest.mark.parametrize("prompt", [(1, 2, 3), "two words"])
def test_no_length_leaves_a_prompt_as_it_is(prompt):
    assert lengthen(prompt, 0) == prompt


def test_token_prompts_reach_their_length_by_repetition():
    long = lengthen((1, 2, 3), 16_000)
    assert 16_000 <= len(long) < 16_003
    assert long[-3:] == (1, 2, 3)


def test_texts_reach_about_three_characters_a_token_and_end_as_they_did():
    long = lengthen("two words", 4000)
    assert 12_000 <= len(long) < 12_020
    assert long.endswith("\ntwo words")
