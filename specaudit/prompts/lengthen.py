"""Long prompts: a short one, said again and again."""

from specaudit.model.request import Prompt

_CHARACTERS_PER_TOKEN = 3
"""Of English text and code, rather too few: what was asked for is reached."""


def lengthen(prompt: Prompt, tokens: int) -> Prompt:
    """Return a prompt repeated until it has at least so many tokens; of a text they are estimated.

    It ends as the short one does, so that what follows is as much or as little determined.
    """
    if isinstance(prompt, str):
        missing = tokens * _CHARACTERS_PER_TOKEN - len(prompt)
        return f"{prompt}\n" * max(0, -(-missing // (len(prompt) + 1))) + prompt
    return prompt * max(1, -(-tokens // max(1, len(prompt))))
