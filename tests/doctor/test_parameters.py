"""What becomes of parameters at servers that obey, ignore or refuse them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from specaudit.doctor.parameters import examine_parameters
from specaudit.doctor.patient import Patient
from specaudit.engines.interface import Access
from specaudit.engines.manner import Manner
from specaudit.engines.server import ServerEngine
from specaudit.model.capabilities import Capabilities
from specaudit.model.checkup import Parameter, Treatment
from tests.engines.serving import OddServers, text

Body = dict[str, Any]
Tokens = Callable[[Body], list[int]]

FILTERS = ("top_k", "top_p", "min_p")
PENALTIES = ("repetition_penalty", "frequency_penalty", "presence_penalty")


def obedient(body: Body) -> list[int]:
    """A sampler of tokens 0, 1, 2, … whose greedy text repeats 1, 1, 1, 2 until a penalty forbids it."""
    cap, seed = body["max_tokens"], body["seed"]
    sampled = body["temperature"] > 0
    one_left = body["top_k"] == 1 or body["top_p"] < 1e-3 or body["min_p"] == 1
    penalised = body["repetition_penalty"] != 1 or body["frequency_penalty"] or body["presence_penalty"]
    if "logit_bias" in body or "allowed_token_ids" in body:
        (token, *_) = body.get("allowed_token_ids") or map(int, body["logit_bias"])
        return [token] * cap
    greedy = [1, 1, 1, 2] * cap if not penalised else list(range(1, cap + 1))
    tokens = greedy[:cap]
    if sampled and not one_left:
        tokens = [(seed + 3 * place) % 29 for place in range(cap)]
    if "bad_words" in body:
        tokens = [token + 1 for token in tokens]
    if "structured_outputs" in body:
        tokens = [0, 1] * cap
    for last in body.get("stop_token_ids", ()):
        tokens = tokens[: max(tokens.index(last) + 1, body.get("min_tokens", 0))]
    return tokens[: cap // 2] if "stop" in body else tokens


def careless(body: Body) -> list[int]:
    """The same, whatever is asked."""
    plain = {**body, "top_k": -1, "top_p": 1.0, "min_p": 0.0, **dict.fromkeys(PENALTIES, 0), "repetition_penalty": 1}
    aside = ("logit_bias", "allowed_token_ids", "bad_words", "stop_token_ids", "stop", "structured_outputs")
    return obedient({name: value for name, value in plain.items() if name not in aside})


def unseeded() -> Tokens:
    """Draws anew for every request."""
    asked = 0

    def draw(body: Body) -> list[int]:
        nonlocal asked
        asked += 1
        return obedient({**body, "seed": 7 * asked * asked})

    return draw


def answering(tokens: Tokens, *, most_choices: int = 64, apart: int = 1) -> Callable[[Body], Response]:
    """Answers with at most so many choices, choice i drawn with seed + i * apart."""

    def choice(index: int, told: list[int]) -> Body:
        text = "".join(chr(97 + token % 26) for token in told)
        return {"index": index, "text": text, "finish_reason": "length", "token_ids": told}

    def reply(body: Body) -> Response:
        count = min(body.get("n", 1), most_choices)
        drawn = (tokens({**body, "seed": body["seed"] + index * apart}) for index in range(count))
        return JSONResponse({"choices": [choice(index, told) for index, told in enumerate(drawn)]})

    return reply


def examined(odd: OddServers, reply: Callable[[Body], Response], **found: Any) -> dict[str, Parameter]:
    async def use() -> dict[str, Parameter]:
        engine = ServerEngine(odd(completions=reply).address, manner=Manner(model="toy"), access=Access())
        try:
            patient = Patient(engine=engine, found=Capabilities(engine="openai", tokens="ids", **found))
            return {one.name: one for one in await examine_parameters(patient)}
        finally:
            await engine.close()

    return asyncio.run(use())


def treated(odd: OddServers, reply: Callable[[Body], Response], **found: Any) -> dict[str, Treatment]:
    return {name: one.treatment for name, one in examined(odd, reply, **found).items()}


def test_what_is_obeyed_is_honoured(odd: OddServers) -> None:
    found = treated(odd, answering(obedient))
    assert found.pop("(a field that nobody knows)") == "ignored"
    assert set(found.values()) == {"honoured"}, found


def test_what_has_no_effect_is_ignored_or_left_no_trace(odd: OddServers) -> None:
    found = treated(odd, answering(careless, most_choices=1))
    ignored = (*FILTERS, "frequency_penalty", "logit_bias", "allowed_token_ids", "bad_words", "stop", "stop_token_ids")
    ignored += ("n", "grammar")
    assert {found[name] for name in ignored} == {"ignored"}, found
    assert found["repetition_penalty"] == found["presence_penalty"] == "unclear", "they may be too weak to show"
    assert found["min_tokens"] == "unclear", "there is no stop to be held off"


def test_a_stop_that_min_tokens_does_not_hold_off_is_seen(odd: OddServers) -> None:
    found = treated(odd, answering(lambda body: obedient({**body, "min_tokens": 0})))
    assert (found["stop_token_ids"], found["min_tokens"]) == ("honoured", "ignored")


@pytest.mark.parametrize(
    ("apart", "treatment", "seen"),
    [
        (1, "honoured", "the second is what the seed + 1 gives alone"),
        (5, "honoured", "the second is not what the seed + 1 gives alone"),
        (0, "unclear", "2 choices came and say the same, as copies would"),
    ],
)
def test_how_the_seeds_of_choices_follow_from_the_requests(
    odd: OddServers, apart: int, treatment: Treatment, seen: str
) -> None:
    by_seed = answering(lambda body: [(body["seed"] + place) % 29 for place in range(body["max_tokens"])], apart=apart)
    found = examined(odd, by_seed)["n"]
    assert found.treatment == treatment
    assert seen in found.seen


def test_a_seed_that_draws_anew_is_ignored(odd: OddServers) -> None:
    assert treated(odd, answering(unseeded()))["seed"] == "ignored"


def test_a_law_with_one_token_tells_nothing_of_filters(odd: OddServers) -> None:
    found = treated(odd, answering(lambda body: [5] * body["max_tokens"]))
    assert {found[name] for name in (*FILTERS, "seed")} == {"unclear"}


@pytest.mark.parametrize(("status", "treatment"), [(400, "refused"), (422, "refused"), (500, "unclear")])
def test_a_refusal_is_told_from_a_fault(odd: OddServers, status: int, treatment: Treatment) -> None:
    def reply(body: Body) -> Response:
        return text("", status) if body["min_p"] else answering(obedient)(body)

    assert treated(odd, reply)["min_p"] == treatment


def test_what_probing_found_refused_is_refused(odd: OddServers) -> None:
    async def use() -> dict[str, Treatment]:
        manner = Manner(model="toy", refused=("min_p",))
        engine = ServerEngine(odd(completions=answering(obedient)).address, manner=manner, access=Access())
        try:
            patient = Patient(engine=engine, found=Capabilities(engine="openai", tokens="ids", refused=("min_p",)))
            return {one.name: one.treatment for one in await examine_parameters(patient)}
        finally:
            await engine.close()

    assert asyncio.run(use())["min_p"] == "refused"
