"""The JSON that answers a request, in vLLM's form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from specaudit.engines.reference_answer import letters
from specaudit.model.completion import Completion, Response, TokenLogprobs
from specaudit.model.request import Token
from specaudit.serve.forms import ChatForm, CompletionForm, Form


@dataclass(frozen=True, kw_only=True)
class Style:
    """What a server tells beside the text, and how."""

    token_ids: bool = True
    """Ids are told where they are asked for."""
    reasoning_ends_with: int | None = None
    """In chat: the token that ends the reasoning segment; None where there is no such segment."""


_STYLE = Style()


def answer(
    form: Form, responses: Sequence[Response], *, identity: str, created: int, style: Style = _STYLE
) -> dict[str, Any]:
    """Return the JSON object that answers a request: the choices of its prompts, one after the other."""
    chat = isinstance(form, ChatForm)
    choices = [(response, completion) for response in responses for completion in response.completions]
    told: dict[str, Any] = {
        "id": f"{'chatcmpl' if chat else 'cmpl'}-{identity}",
        "object": "chat.completion" if chat else "text_completion",
        "created": created,
        "model": form.model,
        "choices": [_choice(form, style, index, *choice) for index, choice in enumerate(choices)],
        "usage": _usage(form, style, responses),
    }
    if len(responses) == 1 and responses[0].speculation is not None:
        told |= responses[0].speculation
    if chat and form.return_token_ids and style.token_ids:
        told["prompt_token_ids"] = responses[0].prompt_token_ids
    return told


def _usage(form: Form, style: Style, responses: Sequence[Response]) -> dict[str, Any]:
    prompt_tokens = sum(response.prompt_tokens or 0 for response in responses)
    completion_tokens = sum(response.completion_tokens or 0 for response in responses)
    usage: dict[str, Any] = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
    if isinstance(form, ChatForm) and style.reasoning_ends_with is not None:
        completions = (completion for response in responses for completion in response.completions)
        reasoning = sum(_reasoning_length(completion, style) for completion in completions)
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return usage


def _reasoning_length(completion: Completion, style: Style) -> int:
    """Tokens of the reasoning segment, the one that ends it included; all, where none ends it."""
    tokens = completion.tokens or ()
    ending = style.reasoning_ends_with
    return tokens.index(ending) + 1 if ending in tokens else len(tokens)


def _choice(form: Form, style: Style, index: int, response: Response, completion: Completion) -> dict[str, Any]:
    chat = isinstance(form, ChatForm)
    choice: dict[str, Any] = {"index": index}
    if isinstance(form, ChatForm):
        choice["message"] = _message(style, completion)
    else:
        choice["text"] = letters(completion.tokens or ())
    as_ids = form.return_tokens_as_token_ids and style.token_ids
    choice["logprobs"] = None
    if completion.logprobs is not None and form.wanted_logprobs is not None:
        told = _content_logprobs if chat else _listed_logprobs
        choice["logprobs"] = told(completion.logprobs, as_ids=as_ids)
    choice["finish_reason"] = completion.finish_reason
    if form.return_token_ids and style.token_ids:
        choice["token_ids"] = completion.tokens
        if isinstance(form, CompletionForm):
            choice["prompt_token_ids"] = response.prompt_token_ids
    if response.scores is not None and style.token_ids:
        choice["prompt_logprobs"] = [None, *map(_scored, response.scores)]
    return choice


def _scored(position: TokenLogprobs) -> dict[str, Any]:
    """What vLLM reports of a token of the prompt: its logprob among those of the most likely ones, by their ids."""
    told = dict(position.top) | {position.token: position.logprob}
    return {str(token): {"logprob": logprob, "decoded_token": letters([token])} for token, logprob in told.items()}


def _message(style: Style, completion: Completion) -> dict[str, Any]:
    tokens = completion.tokens or ()
    message: dict[str, Any] = {"role": "assistant"}
    if style.reasoning_ends_with is None:
        return message | {"content": letters(tokens)}
    end = _reasoning_length(completion, style)
    ended = style.reasoning_ends_with in tokens
    return message | {
        "reasoning_content": letters(tokens[: end - ended]),
        "content": letters(tokens[end:]) if ended else None,
    }


def _word(token: Token, *, as_ids: bool) -> str:
    return f"token_id:{token}" if as_ids else letters([token])


def _listed_logprobs(positions: Sequence[TokenLogprobs], *, as_ids: bool) -> dict[str, Any]:
    return {
        "text_offset": list(range(len(positions))),
        "tokens": [_word(position.token, as_ids=as_ids) for position in positions],
        "token_logprobs": [position.logprob for position in positions],
        "top_logprobs": [
            {_word(token, as_ids=as_ids): value for token, value in position.top} for position in positions
        ],
    }


def _content_logprobs(positions: Sequence[TokenLogprobs], *, as_ids: bool) -> dict[str, Any]:
    def entry(token: Token, logprob: float | None) -> dict[str, Any]:
        return {"token": _word(token, as_ids=as_ids), "logprob": logprob, "bytes": list(letters([token]).encode())}

    return {
        "content": [
            entry(position.token, position.logprob) | {"top_logprobs": [entry(*likely) for likely in position.top]}
            for position in positions
        ]
    }


def error(message: str, kind: str, status: int, *, param: str | None = None) -> dict[str, Any]:
    """Return an error in vLLM's form."""
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}
