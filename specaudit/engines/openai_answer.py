"""Reading the JSON of an answer of `/v1/completions` or `/v1/chat/completions`.

Token ids come in one of three places: `choices[].token_ids` (vLLM, `return_token_ids`), `token_id:N` strings in
the logprobs (vLLM, `return_tokens_as_token_ids`), or `logprobs.content[].id` (llama.cpp). Where there are none, the
logprobs' token strings stand in for them.

A reasoning segment comes before a chat answer's content, as `reasoning_content` (DeepSeek, vLLM, SGLang, llama.cpp)
or `reasoning` (OpenRouter, newer vLLM). Tokens, where they are told, are those of both segments.
"""

from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Annotated, Any

import msgspec

from specaudit.engines.openai_speculation import speculation_in
from specaudit.model.completion import Completion, Response, TokenLogprobs
from specaudit.model.request import Token

TokenId = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]

_ID_PREFIX = "token_id:"

_IMPOSSIBLE = -9999.0
"""vLLM's stand-in for minus infinity, which JSON cannot write."""


class _Position(msgspec.Struct):
    """One position in the newer form of logprobs, or one of its most likely tokens."""

    token: str | None = None
    id: TokenId | None = None
    logprob: float | None = None
    top_logprobs: list["_Position"] | None = None


class _Logprobs(msgspec.Struct):
    """Both forms of logprobs: `content`, or the three parallel lists."""

    content: list[_Position] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float | None] | None] | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct):
    index: int = 0
    text: str | None = None
    message: _Message | None = None
    finish_reason: str | None = None
    token_ids: list[TokenId] | None = None
    prompt_token_ids: list[TokenId] | None = None
    prompt_logprobs: list[dict[TokenId, _Position] | None] | None = None
    logprobs: _Logprobs | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: _Count | None = None


class _CompletionDetails(msgspec.Struct):
    reasoning_tokens: _Count | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None
    prompt_token_ids: list[TokenId] | None = None


def read_response(answer: Mapping[str, Any], *, score_from: int | None = None) -> Response:
    """Return the choices of an answer in order of their index.

    Args:
        answer: the JSON object.
        score_from: the first of the prompt's tokens whose logprobs were asked for.

    Raises:
        ValueError: the answer is not of the form; the message names the place.
    """
    try:
        read = msgspec.convert(answer, _Answer, str_keys=True)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    choices = sorted(read.choices, key=lambda choice: choice.index)
    usage = read.usage or _Usage()
    billed = usage.completion_tokens_details or _CompletionDetails()
    cached = usage.prompt_tokens_details or _PromptDetails()
    prompt = choices[0].prompt_token_ids if choices else None
    if prompt is None:
        prompt = read.prompt_token_ids
    return Response(
        completions=tuple(
            _completion(choice, billed.reasoning_tokens if len(choices) == 1 else None) for choice in choices
        ),
        prompt_token_ids=None if prompt is None else tuple(prompt),
        scores=_scores(choices[0], prompt, score_from) if choices and prompt and score_from is not None else None,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=billed.reasoning_tokens,
        cached_tokens=cached.cached_tokens,
        speculation=speculation_in(answer),
    )


def _completion(choice: _Choice, reasoning_tokens: int | None) -> Completion:
    logprobs = None if choice.logprobs is None else _logprobs(choice.logprobs)
    tokens: tuple[Token, ...] | None = None
    if choice.token_ids is not None:
        tokens = tuple(choice.token_ids)
    elif logprobs is not None:
        tokens = tuple(position.token for position in logprobs)
    message = choice.message or _Message(content=choice.text)
    reasoning = message.reasoning_content if message.reasoning is None else message.reasoning
    return Completion(
        tokens=tokens,
        text=message.content,
        finish_reason=choice.finish_reason,
        logprobs=logprobs,
        reasoning=reasoning,
        reasoning_length=_reasoning_length(tokens, reasoning, reasoning_tokens),
    )


def _reasoning_length(tokens: tuple[Token, ...] | None, reasoning: str | None, billed: int | None) -> int | None:
    """How many of the tokens are reasoning: as billed, or those whose texts make up the segment's."""
    if tokens is None or reasoning is None:
        return None
    if billed is not None:
        return billed if billed <= len(tokens) else None
    if not reasoning:
        return 0
    ends = list(accumulate(len(token) if isinstance(token, str) else 0 for token in tokens))
    spelled = "".join(token for token in tokens if isinstance(token, str)).startswith(reasoning)
    return ends.index(len(reasoning)) + 1 if spelled and len(reasoning) in ends else None


def _scores(choice: _Choice, prompt: list[int], score_from: int) -> tuple[TokenLogprobs, ...] | None:
    """The logprobs of the prompt's tokens, of which vLLM reports each among the most likely ones of its place."""
    places = choice.prompt_logprobs
    if places is None or len(places) != len(prompt):
        return None
    told = [(token, place or {}) for token, place in zip(prompt, places, strict=True)][score_from:]
    return tuple(
        TokenLogprobs(
            token=token,
            logprob=place[token].logprob if token in place else None,
            top=_ordered((likely, entry.logprob) for likely, entry in place.items()),
        )
        for token, place in told
    )


def _logprobs(data: _Logprobs) -> tuple[TokenLogprobs, ...] | None:
    if data.content is not None:
        return tuple(_content_position(position) for position in data.content)
    if data.tokens is None:
        return None
    absent = [None] * len(data.tokens)
    values, tops = data.token_logprobs or absent, data.top_logprobs or absent
    if not len(data.tokens) == len(values) == len(tops):
        raise ValueError("the lists of its logprobs differ in length")
    return tuple(
        TokenLogprobs(
            token=_token(token),
            logprob=value,
            top=_ordered((_token(word), logprob) for word, logprob in (top or {}).items()),
        )
        for token, value, top in zip(data.tokens, values, tops, strict=True)
    )


def _content_position(position: _Position) -> TokenLogprobs:
    top = position.top_logprobs or ()
    return TokenLogprobs(
        token=_identity(position),
        logprob=position.logprob,
        top=_ordered((_identity(entry), entry.logprob) for entry in top),
    )


def _ordered(top: Iterable[tuple[Token, float | None]]) -> tuple[tuple[Token, float], ...]:
    """Most likely first, without the tokens that have no probability."""
    pairs = [(token, logprob) for token, logprob in top if logprob is not None and logprob > _IMPOSSIBLE]
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))


def _identity(position: _Position) -> Token:
    if position.id is not None:
        return position.id
    if position.token is None:
        raise ValueError("a position of its logprobs has neither token nor id")
    return _token(position.token)


def _token(token: str) -> Token:
    if not token.startswith(_ID_PREFIX):
        return token
    try:
        return msgspec.convert(token.removeprefix(_ID_PREFIX), TokenId, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"{token[:40]!r} is no token id: {error}") from error
