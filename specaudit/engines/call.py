"""One call of a server: a request goes out, a Response comes back."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from specaudit.engines.http import HttpClient
from specaudit.engines.interface import EngineFailure, NotOffered
from specaudit.engines.manner import Manner
from specaudit.model.completion import Completion, Response
from specaudit.model.entries import Failure
from specaudit.model.request import Request
from specaudit.prompts.tokenizers import CHARACTERS, Tokenizer

_SAID = 100
"""Characters that are kept of what a server says it is."""


async def call(
    client: HttpClient,
    manner: Manner,
    request: Request,
    *,
    tokenizer: Tokenizer | None = None,
    further: Mapping[str, Any] | None = None,
) -> Response:
    """Ask a server for completions.

    Args:
        client: the server.
        manner: how it has to be asked.
        request: what is asked.
        tokenizer: finds where reasoning ends, and divides text into tokens where the manner says so; without one it is
            divided into characters.
        further: fields that are sent beside, as they are.

    Raises:
        EngineFailure: there is no usable answer, or the request needs something that the server refuses.
    """
    request = await manner.form.prepared(client, request)
    fields = manner.fields(request)
    if message := manner.cannot_ask(request, fields, client.where):
        raise NotOffered(message)
    answered = await client.post(manner.path, manner.body(fields) | dict(further or {}))
    try:
        response = manner.form.read(answered, request)
    except ValueError as error:
        message = f"{client.where} answered with completions that cannot be read: {error}."
        raise EngineFailure(Failure(reason="protocol", message=message, lost=True)) from error
    served_by = _served_by(answered.objects, manner.model)
    if answered.cache is not None or answered.first is not None or served_by is not None:
        response = msgspec.structs.replace(
            response, cache=answered.cache, first_token=answered.first, served_by=served_by
        )
    if manner.tells_ids:
        response = msgspec.structs.replace(response, completions=tuple(map(_ids_only, response.completions)))
    if tokenizer is None and manner.retokenizes:
        tokenizer = CHARACTERS
    if tokenizer is None:
        return response
    read = _retokenized if manner.retokenizes else _divided
    completions = tuple(read(completion, tokenizer) for completion in response.completions)
    return msgspec.structs.replace(response, completions=completions)


def _served_by(objects: Sequence[Mapping[str, Any]], asked: str | None) -> str | None:
    """What an answer says answered it, so that several engines behind one address are told apart."""
    first: Mapping[str, Any] = objects[0] if objects else {}
    told = (first.get("model"), first.get("system_fingerprint"))
    said = [word[:_SAID] for word in told if isinstance(word, str) and word and word != asked]
    return " ".join(said) or None


def _ids_only(completion: Completion) -> Completion:
    """A completion without its tokens, where any of them came as a text: it may be any of several tokens."""
    if all(isinstance(token, int) for token in completion.tokens or ()):
        return completion
    return msgspec.structs.replace(completion, tokens=None, logprobs=None)


def _retokenized(completion: Completion, tokenizer: Tokenizer) -> Completion:
    """A completion with the tokens of its text, the reasoning segment first, in place of any that are told."""
    reasoning = tokenizer.encode(completion.reasoning or "")
    return msgspec.structs.replace(
        completion,
        tokens=(*reasoning, *tokenizer.encode(completion.text or "")),
        reasoning_length=None if completion.reasoning is None else len(reasoning),
    )


def _divided(completion: Completion, tokenizer: Tokenizer) -> Completion:
    """A completion with the length of its reasoning segment, where that is what the tokenizer makes of its text."""
    if completion.reasoning is None or completion.tokens is None or completion.reasoning_length is not None:
        return completion
    reasoning = tokenizer.encode(completion.reasoning)
    if completion.tokens[: len(reasoning)] != reasoning:
        return completion
    return msgspec.structs.replace(completion, reasoning_length=len(reasoning))
