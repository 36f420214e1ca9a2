"""What only the answers themselves tell: caches that repeat them, temperatures without effect."""

from collections.abc import Awaitable, Callable
from typing import Literal

from specaudit.model.completion import Completion, Response
from specaudit.model.request import Prompt, Request, Sampling

PROMPT = "the quick brown fox"
"""Asked for what an answer looks like."""

OPEN_PROMPT = "Once upon a time, in a place that nobody remembers,"
"""Asked for how answers differ: it may be continued in many ways."""

LONG = 24
"""Of an answer that is compared with others: two draws from an unhurried law are hardly ever equal for so long."""

_TIMES = 4
"""Answers that are compared at temperature 0."""

_DISTINCT = 3
"""So many different ones are no accident of batching or of near ties, which part two ways."""

_SEEDS = (101, 1_000_003, 2_000_029, 3_000_017)
"""Far apart, as those of an audit are."""

_FIRST_SEEDS = tuple(5_000_011 * number for number in range(1, 7))

Ask = Callable[[Request, str], Awaitable[Response | None]]
"""Sends a request that may be refused: None stands for a refusal. The text says what the request is for."""


def probing(
    *,
    prompt: Prompt = PROMPT,
    seed: int = 1,
    n: int = 1,
    max_tokens: int = 2,
    logprobs: int | None = None,
    temperature: float = 1.0,
) -> Request:
    """Return a short request."""
    sampling = Sampling(temperature=temperature)
    return Request(prompt=prompt, sampling=sampling, seed=seed, n=n, max_tokens=max_tokens, logprobs=logprobs)


async def repeat(ask: Ask, what: str) -> bool:
    """True if requests at temperature 1 that differ in their seed only get one answer, three times in a row."""
    first: object = None
    for seed in _SEEDS[:3]:
        request = probing(prompt=OPEN_PROMPT, seed=seed, max_tokens=LONG)
        response = await ask(request, f"{what}, seed {seed}")
        said = _said(response)
        if said is None or (first is not None and said != first):
            return False
        first = said
    return True


async def find_temperature(ask: Ask) -> Literal["any", "one", "ignored"]:
    """Find what becomes of a temperature other than 1: `one` refuses it, `ignored` draws all the same."""
    answers = []
    for seed in _SEEDS[:_TIMES]:
        request = probing(prompt=OPEN_PROMPT, seed=seed, max_tokens=LONG, temperature=0.0)
        response = await ask(request, f"temperature 0, seed {seed}")
        if response is None:
            return "one"
        answers.append(_said(response))
    if len(set(answers)) < _DISTINCT or await _begins_as_asked(ask):
        return "any"
    return "ignored"


async def _begins_as_asked(ask: Ask) -> bool:
    """True if first tokens are one at temperature 0 and many at 1: what parts answers then comes from behind prefill.

    A first token is never drafted. A server that accepts drafts by chance obeys the temperature there and nowhere else,
    which is a fault of its verifier and to be shown as one.
    """
    first: dict[float, set[object]] = {}
    for temperature in (0.0, 1.0):
        for seed in _FIRST_SEEDS:
            request = probing(prompt=OPEN_PROMPT, seed=seed, max_tokens=1, temperature=temperature)
            response = await ask(request, f"first token at temperature {temperature:g}, seed {seed}")
            first.setdefault(temperature, set()).add(_said(response))
    return len(first[0.0]) < _DISTINCT <= len(first[1.0])


def find_reasoning(response: Response) -> Literal["none", "shown", "hidden"]:
    """Say whether an answer has a reasoning segment, and whether it can be read."""
    if any(completion.reasoning for completion in response.completions):
        return "shown"
    return "hidden" if response.reasoning_tokens else "none"


def _said(response: Response | None) -> tuple[object, ...] | None:
    """What an answer says; None where it says nothing, which is equal to nothing."""
    completion = response.completions[0] if response is not None and response.completions else Completion(tokens=None)
    said = (completion.tokens, completion.reasoning, completion.text)
    return said if any(said) else None
