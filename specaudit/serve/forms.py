"""The JSON of `/v1/completions` as vLLM speaks it: what is asked, and what is answered."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from specaudit.engines.reference import MAX_CHOICES
from specaudit.model.completion import Completion, Response, TokenLogprobs
from specaudit.model.request import Prompt, Request, Sampling, Token

MAX_LOGPROBS = 20


class CompletionForm(msgspec.Struct, kw_only=True):
    """The body of a completion request. Unknown fields are ignored in silence, as real servers do."""

    model: str
    prompt: str | list[int | str | list[int]] = ""
    """A text, token ids, or a list of texts or of token ids."""
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=65536)] = 16
    n: Annotated[int, msgspec.Meta(ge=1, le=MAX_CHOICES)] = 1
    seed: int | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    top_k: Annotated[int, msgspec.Meta(ge=-1)] = -1
    logprobs: Annotated[int, msgspec.Meta(ge=0, le=MAX_LOGPROBS)] | None = None
    stream: bool = False
    stop_token_ids: list[int] = msgspec.field(default_factory=list)
    ignore_eos: bool = False
    return_token_ids: bool = False
    return_tokens_as_token_ids: bool = False

    def requests(self, *, unseeded: int) -> list[Request]:
        """Return one request per prompt.

        A seed serves every prompt of a batch, as in vLLM; without one, the draws take the seeds from `unseeded` on,
        one each.

        Raises:
            ValueError: the prompt mixes token ids with prompts.
        """
        sampling = Sampling(temperature=self.temperature, top_k=max(0, self.top_k), top_p=self.top_p)
        return [
            Request(
                prompt=prompt,
                sampling=sampling,
                seed=unseeded + index * self.n if self.seed is None else self.seed,
                n=self.n,
                max_tokens=self.max_tokens,
                stop_token_ids=tuple(self.stop_token_ids),
                ignore_eos=self.ignore_eos,
                logprobs=self.logprobs,
            )
            for index, prompt in enumerate(self._prompts())
        ]

    def _prompts(self) -> list[Prompt]:
        if isinstance(self.prompt, str):
            return [self.prompt]
        ids = [item for item in self.prompt if isinstance(item, int)]
        if len(ids) == len(self.prompt):
            return [tuple(ids)]
        if ids:
            raise ValueError("prompt mixes token ids with prompts")
        return [item if isinstance(item, str) else tuple(item) for item in self.prompt if not isinstance(item, int)]


def letters(tokens: Sequence[Token]) -> str:
    """Return the text of token ids: a letter each."""
    return "".join(chr(ord("a") + int(token)) for token in tokens)


def answer(form: CompletionForm, responses: Sequence[Response], *, identity: str, created: int) -> dict[str, Any]:
    """Return the JSON object that answers a request: the choices of its prompts, one after the other."""
    choices = [(response, completion) for response in responses for completion in response.completions]
    prompt_tokens = sum(response.prompt_tokens or 0 for response in responses)
    completion_tokens = sum(response.completion_tokens or 0 for response in responses)
    return {
        "id": identity,
        "object": "text_completion",
        "created": created,
        "model": form.model,
        "choices": [_choice(form, index, *choice) for index, choice in enumerate(choices)],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def _choice(form: CompletionForm, index: int, response: Response, completion: Completion) -> dict[str, Any]:
    choice: dict[str, Any] = {
        "index": index,
        "text": letters(completion.tokens or ()),
        "logprobs": None if completion.logprobs is None else _logprobs(form, completion.logprobs),
        "finish_reason": completion.finish_reason,
    }
    if form.return_token_ids:
        choice |= {"token_ids": completion.tokens, "prompt_token_ids": response.prompt_token_ids}
    return choice


def _logprobs(form: CompletionForm, positions: Sequence[TokenLogprobs]) -> dict[str, Any]:
    def word(token: Token) -> str:
        return f"token_id:{token}" if form.return_tokens_as_token_ids else letters([token])

    return {
        "text_offset": list(range(len(positions))),
        "tokens": [word(position.token) for position in positions],
        "token_logprobs": [position.logprob for position in positions],
        "top_logprobs": [{word(token): value for token, value in position.top} for position in positions],
    }


def error(message: str, kind: str, status: int, *, param: str | None = None) -> dict[str, Any]:
    """Return an error in vLLM's form."""
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}
