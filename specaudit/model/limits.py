"""What an audit may cost, how fast it may ask, and what something costs."""

from typing import Annotated

import msgspec

from specaudit.model.completion import Response
from specaudit.model.record import Record
from specaudit.model.request import Prompt, Request

PER_MILLION = 1e-6

TEMPLATE = 128
"""Tokens that a server may put around a text: its first token, a chat template, a system prompt."""


class Spending(Record, frozen=True, kw_only=True):
    """What requests cost, in the units in which they are billed."""

    requests: int = 0
    prompt_tokens: int = 0
    """The prompt of a request counts once, however many choices it has."""
    generated_tokens: int = 0
    """Over all choices."""

    @property
    def tokens(self) -> int:
        """Prompt and generated tokens together, as limits count them."""
        return self.prompt_tokens + self.generated_tokens

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(
            requests=self.requests + other.requests,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            generated_tokens=self.generated_tokens + other.generated_tokens,
        )

    def __sub__(self, other: "Spending") -> "Spending":
        return Spending(
            requests=self.requests - other.requests,
            prompt_tokens=self.prompt_tokens - other.prompt_tokens,
            generated_tokens=self.generated_tokens - other.generated_tokens,
        )


NOTHING = Spending()

_Positive = Annotated[float, msgspec.Meta(gt=0)]
_Price = Annotated[float, msgspec.Meta(ge=0)]
_Count = Annotated[int, msgspec.Meta(ge=1)]


class Limits(Record, frozen=True, kw_only=True):
    """Limits over all arms together; None is no limit.

    All but the pace are never exceeded: what a request may cost at most is set aside before it is sent.
    """

    rpm: _Positive | None = None
    """Requests in any minute."""
    tpm: _Positive | None = None
    """Prompt and generated tokens in any minute."""
    price_in: _Price | None = None
    """Price of a million prompt tokens."""
    price_out: _Price | None = None
    """Price of a million generated tokens."""
    max_cost: _Positive | None = None
    """In the currency of the prices."""
    token_budget: _Count | None = None
    """Prompt and generated tokens."""
    max_requests: _Count | None = None

    @property
    def priced(self) -> bool:
        """A price is known, so that what was spent has a cost."""
        return self.price_in is not None or self.price_out is not None

    def cost(self, spending: Spending) -> float | None:
        """Return what was spent in the currency of the prices; None where there is no price."""
        if not self.priced:
            return None
        prompts = spending.prompt_tokens * (self.price_in or 0.0)
        return (prompts + spending.generated_tokens * (self.price_out or 0.0)) * PER_MILLION

    def exceeded_by(self, spending: Spending) -> str:
        """Return the option whose limit so much spending would exceed; nothing where there is room for it."""
        cost = self.cost(spending)
        over = {
            "--max-requests": self.max_requests is not None and spending.requests > self.max_requests,
            "--token-budget": self.token_budget is not None and spending.tokens > self.token_budget,
            "--max-cost": self.max_cost is not None and cost is not None and cost > self.max_cost,
        }
        return next((option for option, is_over in over.items() if is_over), "")


UNLIMITED = Limits()


def at_most(request: Request) -> Spending:
    """Return what a request may cost at most: every choice as long as its cap."""
    return Spending(requests=1, prompt_tokens=_longest(request.prompt), generated_tokens=request.n * request.max_tokens)


def cost_of(request: Request, response: Response) -> Spending:
    """Return what an answer is taken to have cost: the larger of what was billed and what was received."""
    told = response.prompt_tokens
    return Spending(
        requests=1,
        prompt_tokens=_longest(request.prompt) if told is None else told,
        generated_tokens=max(response.received, response.completion_tokens or 0),
    )


def _longest(prompt: Prompt) -> int:
    """The most tokens that a prompt can be: a token is at least a byte long."""
    return TEMPLATE + len(prompt.encode()) if isinstance(prompt, str) else len(prompt)
