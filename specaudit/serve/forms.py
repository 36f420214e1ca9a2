"""The JSON that is asked of `/v1/completions` and `/v1/chat/completions`, as vLLM takes it."""

from typing import Annotated, Any

import msgspec

from specaudit.engines.reference import MAX_CHOICES
from specaudit.model.request import Prompt, Request, Sampling
from specaudit.serve.template import Message, rendered

MAX_LOGPROBS = 20

_Cap = Annotated[int, msgspec.Meta(ge=1, le=65536)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_LOGPROBS)]
_Penalty = Annotated[float, msgspec.Meta(ge=-2, le=2)]
_DEFAULT_CAP = 16


class StreamOptions(msgspec.Struct, kw_only=True):
    """What a stream carries beside its choices."""

    include_usage: bool = False


class StructuredOutputs(msgspec.Struct, kw_only=True):
    """What the text must look like."""

    regex: str | None = None


class _Form(msgspec.Struct, kw_only=True):
    """What both kinds of body have in common. Unknown fields are ignored in silence, as real servers do."""

    model: str
    max_tokens: _Cap | None = None
    n: Annotated[int, msgspec.Meta(ge=1, le=MAX_CHOICES)] = 1
    seed: int | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    top_k: Annotated[int, msgspec.Meta(ge=-1)] = -1
    min_p: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    repetition_penalty: Annotated[float, msgspec.Meta(gt=0, le=100)] = 1.0
    presence_penalty: _Penalty = 0.0
    frequency_penalty: _Penalty = 0.0
    logit_bias: dict[int, Annotated[float, msgspec.Meta(ge=-100, le=100)]] = msgspec.field(default_factory=dict)
    bad_words: list[str] = msgspec.field(default_factory=list)
    allowed_token_ids: list[int] | None = None
    structured_outputs: StructuredOutputs | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    stop_token_ids: list[int] = msgspec.field(default_factory=list)
    stop: str | list[Annotated[str, msgspec.Meta(min_length=1)]] = msgspec.field(default_factory=list)
    min_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    ignore_eos: bool = False
    return_token_ids: bool = False
    return_tokens_as_token_ids: bool = False

    @property
    def cap(self) -> int:
        """Tokens per choice at most."""
        return _DEFAULT_CAP if self.max_tokens is None else self.max_tokens

    def _requests(self, prompts: list[Prompt], logprobs: int | None, *, unseeded: int, **more: Any) -> list[Request]:
        """One request per prompt.

        A seed serves every prompt of a batch, as in vLLM; without one, the draws take the seeds from `unseeded` on,
        one each.
        """
        sampling = Sampling(
            temperature=1.0 if self.temperature is None else self.temperature,
            top_k=max(0, self.top_k),
            top_p=self.top_p,
            min_p=self.min_p,
            repetition_penalty=self.repetition_penalty,
            presence_penalty=self.presence_penalty,
            frequency_penalty=self.frequency_penalty,
            logit_bias=tuple(sorted(self.logit_bias.items())),
            bad_words=tuple((word,) for word in self.bad_words),
            allowed_token_ids=None if self.allowed_token_ids is None else tuple(self.allowed_token_ids),
            grammar=None if self.structured_outputs is None else self.structured_outputs.regex,
        )
        return [
            Request(
                prompt=prompt,
                sampling=sampling,
                seed=unseeded + index * self.n if self.seed is None else self.seed,
                n=self.n,
                max_tokens=self.cap,
                stop_token_ids=tuple(self.stop_token_ids),
                stop=tuple([self.stop] if self.stop and isinstance(self.stop, str) else self.stop),
                min_tokens=self.min_tokens,
                ignore_eos=self.ignore_eos,
                logprobs=logprobs,
                **more,
            )
            for index, prompt in enumerate(prompts)
        ]


class CompletionForm(_Form, kw_only=True):
    """The body of a completion request."""

    prompt: str | list[int | str | list[int]] = ""
    """A text, token ids, or a list of texts or of token ids."""
    logprobs: _Count | None = None
    prompt_logprobs: _Count | None = None
    """Most likely tokens that are reported at each position of the prompt but the first."""

    @property
    def wanted_logprobs(self) -> int | None:
        """Most likely tokens that are reported at each position; None reports nothing."""
        return self.logprobs

    def requests(self, *, unseeded: int) -> list[Request]:
        """Return one request per prompt, whose tokens are scored if their logprobs are wanted.

        Args:
            unseeded: where the seeds of a request without one begin.

        Raises:
            ValueError: the prompt mixes token ids with prompts.
        """
        prompts = self._prompts()
        if self.prompt_logprobs is None:
            return self._requests(prompts, self.logprobs, unseeded=unseeded)
        count = max(self.prompt_logprobs, self.logprobs or 0)
        return self._requests(prompts, count, unseeded=unseeded, score_from=1)

    def _prompts(self) -> list[Prompt]:
        if isinstance(self.prompt, str):
            return [self.prompt]
        ids = [item for item in self.prompt if isinstance(item, int)]
        if len(ids) == len(self.prompt):
            return [tuple(ids)]
        if ids:
            raise ValueError("prompt mixes token ids with prompts")
        return [item if isinstance(item, str) else tuple(item) for item in self.prompt if not isinstance(item, int)]


class ChatForm(_Form, kw_only=True):
    """The body of a chat request."""

    messages: list[Message]
    max_completion_tokens: _Cap | None = None
    logprobs: bool = False
    top_logprobs: _Count | None = None
    chat_template_kwargs: dict[str, Any] = msgspec.field(default_factory=dict)
    """What the template is told; `date_string` pins its date, as in Llama's."""

    @property
    def cap(self) -> int:
        """Tokens per choice at most, reasoning included."""
        return super().cap if self.max_completion_tokens is None else self.max_completion_tokens

    @property
    def wanted_logprobs(self) -> int | None:
        """Most likely tokens that are reported at each position; None reports nothing."""
        return (self.top_logprobs or 0) if self.logprobs else None

    def requests(self, *, unseeded: int, date: str | None = None) -> list[Request]:
        """Return the one request for the conversation as the chat template renders it.

        Args:
            unseeded: where the seeds of a request without one begin.
            date: what the template prints, unless the request pins it.

        Raises:
            ValueError: the template cannot render it.
        """
        pinned = None if date is None else str(self.chat_template_kwargs.get("date_string", date))
        prompts: list[Prompt] = [rendered(self.messages, date=pinned)]
        return self._requests(prompts, self.wanted_logprobs, unseeded=unseeded)


Form = CompletionForm | ChatForm
"""Either body."""
