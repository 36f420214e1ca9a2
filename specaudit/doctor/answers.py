"""What probing found, as lines of the checklist."""

from collections.abc import Iterator

from specaudit.engines.recognise import LOST
from specaudit.model.capabilities import Capabilities
from specaudit.model.checkup import Item, State

_TOKENS = {
    "ids": ("yes", "as ids"),
    "texts": ("partly", "as the text of each, in logprobs"),
    "retokenized": ("partly", "none of its own: its text is divided, by --tokenizer or into characters"),
    "none": ("no", "none, neither as ids nor in logprobs"),
}

_MODES = {
    "raw": "before the sampling filters",
    "processed": "after the sampling filters",
    "unknown": "before or after the filters is not known",
}

_TEMPERATURES = {
    "any": ("yes", "any"),
    "one": ("partly", "1 only"),
    "default": ("no", "none is taken: its default is used"),
    "ignored": ("no", "ignored in silence: greedy requests are sampled"),
}

_REPEATS = {
    "never": ("no", "requests that differ in their seed get answers of their own"),
    "bypassed": ("partly", "yes, and it is bypassed by naming a user with each request"),
    "always": ("yes", "requests that differ in their seed only get one answer"),
}


def probed_items(found: Capabilities, *, known: bool) -> Iterator[Item]:
    """Yield a line for everything that probing settles."""
    named = f"{found.engine} {found.version or '(it tells no version)'}"
    yield _item("engine", "Which engine is it?", "yes" if known else "partly", named if known else LOST)
    yield _item("engine", "Which model?", "yes", f"{found.model}{_size(found)}")
    yield _item("tokens", "Does it tell single tokens?", *_TOKENS[found.tokens])
    yield _item(
        "tokens", "Does it take token ids as a prompt?", _state(found.token_prompts), _word(found.token_prompts)
    )
    choices = f"{found.max_choices} in one request"
    yield _item("tokens", "Does it give several choices?", _state(found.max_choices > 1), choices)
    logprobs = f"{found.logprobs} most likely tokens, {_MODES[found.logprobs_mode]}" if found.logprobs else "none"
    yield _item("logprobs", "Does it tell logprobs?", _state(bool(found.logprobs)), logprobs)
    scores = _word(found.scores_prompts)
    yield _item("logprobs", "Does it score a prompt's own tokens?", _state(found.scores_prompts), scores)
    yield _item("sampling", "Does it take temperatures?", *_TEMPERATURES[found.temperature])
    yield _item("sampling", "Does a cache answer?", *_REPEATS[found.repeats])
    if found.reasoning != "none":
        told = found.reasoning + (", and it is known where it ends" if found.segments else ", and its end is not known")
        yield _item("sampling", "Does it reason first?", "partly", told)


def _size(found: Capabilities) -> str:
    return "" if found.vocabulary_size is None else f", {found.vocabulary_size:,} tokens"


def _state(yes: bool) -> State:
    return "yes" if yes else "no"


def _word(yes: bool) -> str:
    return "yes" if yes else "no"


def _item(topic: str, question: str, state: str, answer: str) -> Item:
    return Item(topic=topic, question=question, state=state, answer=answer)  # type: ignore[arg-type]
