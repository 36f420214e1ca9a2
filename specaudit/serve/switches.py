"""How a served decoder may be made to behave like gateways that hide or forbid something."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from specaudit.serve.forms import ChatForm, CompletionForm, Form


class Refused(Exception):
    """A request that the server does not take, and the field that is to blame."""

    def __init__(self, message: str, param: str) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


@dataclass(frozen=True, kw_only=True)
class Switches:
    """What the server withholds, refuses or adds. By default it behaves as vLLM does."""

    chat_only: bool = False
    """`/v1/completions` is not there."""
    stream_only: bool = False
    """A request that does not ask for a stream is refused."""
    logprobs: bool = True
    """Logprobs are answered; otherwise asking for them is refused."""
    token_ids: bool = True
    """Token ids are told, and taken as prompts; otherwise who asks for them is told none, in silence."""
    rate_limit: int | None = None
    """Requests a minute; more are refused with 429 and Retry-After."""
    cache: Literal["body", "prompt"] | None = None
    """Answer again what was answered before: to a body that differs in its seed only, or to the same prompt."""
    fixed_temperature: float | None = None
    """The one temperature; requests that name another are refused."""
    ignore_temperature: bool = False
    """With a fixed temperature: what requests name is not refused but ignored."""
    reasoning: bool = False
    """Chat answers have a reasoning segment before their content, and only `max_completion_tokens` caps them."""
    template_date: str | None = None
    """The chat template prints this date, unless the request pins another."""
    refuse: tuple[str, ...] = ()
    """Fields that are answered with an error, wherever they stand in a body."""

    def admit(self, form: Form, body: Mapping[str, Any]) -> None:
        """Let a request pass.

        Args:
            form: the request as it was read.
            body: the request as it was sent, unknown fields and all.

        Raises:
            Refused: a switch forbids something that it asks for.
        """
        for refused in self._refusals(form, body):
            raise refused

    def _refusals(self, form: Form, body: Mapping[str, Any]) -> Iterator[Refused]:
        for field in self.refuse:
            if body.get(field) is not None:
                yield Refused(f"Unrecognized request argument supplied: {field}", field)
        if self.stream_only and not form.stream:
            yield Refused("This model only streams: set stream to true.", "stream")
        scored = isinstance(form, CompletionForm) and form.prompt_logprobs is not None
        if not self.logprobs and (scored or form.wanted_logprobs is not None):
            yield Refused("You are not allowed to request logprobs from this model.", "logprobs")
        if not self.token_ids and isinstance(form, CompletionForm) and not all(_is_text(form.prompt)):
            yield Refused("Invalid type for 'prompt': expected a string.", "prompt")
        if self._forbids(form.temperature):
            yield Refused(
                f"Unsupported value: 'temperature' does not support {form.temperature:g} with this model. "
                f"Only the default ({self.fixed_temperature:g}) value is supported.",
                "temperature",
            )
        if self.reasoning and isinstance(form, ChatForm) and form.max_tokens is not None:
            yield Refused(
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
                "max_tokens",
            )

    def _forbids(self, temperature: float | None) -> bool:
        fixed = self.fixed_temperature
        return None not in (fixed, temperature) and temperature != fixed and not self.ignore_temperature


AS_VLLM = Switches()
"""Nothing is hidden or forbidden."""


def _is_text(prompt: str | list[Any]) -> Iterator[bool]:
    return (isinstance(item, str) for item in ([prompt] if isinstance(prompt, str) else prompt))
