import pytest

from specaudit.model.completion import Completion, Response
from specaudit.model.limits import TEMPLATE, Limits, Spending, at_most, cost_of
from specaudit.model.request import Request, Sampling

SPENT = Spending(requests=3, prompt_tokens=2_000_000, generated_tokens=500_000)


def request(prompt: object = (0, 1, 2), n: int = 4, max_tokens: int = 5) -> Request:
    return Request(prompt=prompt, sampling=Sampling(), seed=0, n=n, max_tokens=max_tokens)  # type: ignore[arg-type]


def test_prices_are_for_a_million_tokens() -> None:
    assert Limits(price_in=0.5, price_out=2.0).cost(SPENT) == pytest.approx(2.0)
    assert Limits(price_out=2.0).cost(SPENT) == pytest.approx(1.0)
    assert Limits(max_cost=1.0).cost(SPENT) is None


@pytest.mark.parametrize(
    ("limits", "option"),
    [
        (Limits(), ""),
        (Limits(max_requests=3, token_budget=2_500_000, price_in=1.0, max_cost=2.0), ""),
        (Limits(max_requests=2), "--max-requests"),
        (Limits(token_budget=2_499_999), "--token-budget"),
        (Limits(price_in=1.0, max_cost=1.999), "--max-cost"),
    ],
)
def test_what_is_exactly_the_limit_does_not_exceed_it(limits: Limits, option: str) -> None:
    assert limits.exceeded_by(SPENT) == option


def test_spending_adds_up_and_is_taken_apart() -> None:
    other = Spending(requests=1, prompt_tokens=2, generated_tokens=3)
    assert other + other - other == other
    assert other.tokens == 5


def test_a_request_costs_its_prompt_once_and_every_choice_to_its_cap() -> None:
    assert at_most(request()) == Spending(requests=1, prompt_tokens=3, generated_tokens=20)
    assert at_most(request("häh")).prompt_tokens == TEMPLATE + 4


@pytest.mark.parametrize(
    ("billed", "prompt", "cost"),
    [
        (None, None, Spending(requests=1, prompt_tokens=3, generated_tokens=3)),
        (1, 7, Spending(requests=1, prompt_tokens=7, generated_tokens=3)),  # one choice of several was billed
        (9, 7, Spending(requests=1, prompt_tokens=7, generated_tokens=9)),  # hidden reasoning was billed
    ],
)
def test_the_larger_of_what_was_billed_and_received_counts(
    billed: int | None, prompt: int | None, cost: Spending
) -> None:
    completions = (Completion(tokens=(0, 1)), Completion(tokens=(2,)), Completion(tokens=None))
    response = Response(completions=completions, completion_tokens=billed, prompt_tokens=prompt)
    assert cost_of(request(), response) == cost
