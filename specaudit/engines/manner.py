"""How one server has to be asked: in which form, and what of it the server takes."""

from dataclasses import dataclass, field
from typing import Any, Literal

from specaudit.engines.form import Fields, Form
from specaudit.engines.openai_form import OpenAIForm
from specaudit.model.plan import Api
from specaudit.model.request import Request


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a server has to be asked."""

    model: str | None
    form: Form = field(default_factory=OpenAIForm)
    api: Api = "completions"
    stream: bool = False
    refused: tuple[str, ...] = ()
    """Optional fields that it answers with an error, and that are therefore not sent."""
    cap: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The name under which it takes the number of tokens."""
    tokens_need_logprobs: bool = False
    """It reveals tokens in logprobs only, so that these are always asked for."""
    only_neutral_temperature: bool = False
    """It takes no temperature but 1."""
    tells_ids: bool = False
    """It was seen to tell tokens as ids: an answer that tells texts in their place, as from another server behind the
    same address, tells no tokens."""
    retokenizes: bool = False
    """It tells text only, which the user's tokenizer divides into tokens; without one its characters are."""
    users: str | None = None
    """How the names of users begin, of whom every request names one of its own to get past a cache."""

    @property
    def path(self) -> str:
        """Where requests go."""
        return self.form.path(self.api)

    def fields(self, request: Request) -> Fields:
        """Return all that is to be said of a request, those fields with it that the server refuses."""
        return self.form.fields(request, self)

    def cannot_ask(self, request: Request, fields: Fields, where: str) -> str:
        """Say why a request cannot be sent to a server; nothing where it can be.

        What is refused is never left out in silence where it matters: another law would be asked for.
        """
        if request.draft_tokens is not None:
            return "The number of drafts is the server's own, and this request sets it."
        if why := self.form.objection(request, self):
            return why
        neutral = self.form.neutral
        needed = [name for name in self.refused if name in neutral and fields[name] != neutral[name]]
        if self.only_neutral_temperature and request.sampling.temperature != 1.0:
            needed.append("every temperature but 1")
        return f"{where} refuses {', '.join(needed)}, which this request needs." if needed else ""

    def body(self, fields: Fields) -> dict[str, Any]:
        """Return the body that says what the server takes of some fields."""
        return self.form.written({name: value for name, value in fields.items() if name not in self.refused})
