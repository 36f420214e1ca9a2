"""`check_adapter`: right adapters owe nothing, and each fault that it looks for is found."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from specaudit.engines.interface import Access, Engine, Probe
from specaudit.engines.manner import Manner
from specaudit.engines.openai_form import OpenAIForm
from specaudit.engines.recognise import adapters
from specaudit.engines.registry import build
from specaudit.engines.server import ServerEngine
from specaudit.model.completion import Response
from specaudit.model.plan import Api, Arm
from specaudit.model.request import Request
from specaudit.serve.app import make_app
from specaudit.testing import assert_adapter, check_adapter
from tests.engines.serving import running


def in_process() -> Any:
    return build(Arm(role="subject", engine="reference", draft_tokens=3), Access())


def owed(engine: Engine, **options: Any) -> list[str]:
    report = check_adapter(engine, **options)
    return [finding.check for finding in report.findings if finding.verdict != "conforms"]


class Faulty:
    """The embedded decoder behind an adapter with one fault."""

    def __init__(self, **fault: Any) -> None:
        self._engine = in_process()
        self._fault = fault

    async def probe(self) -> Probe:
        if "probe" in self._fault:
            raise KeyError("models")
        found = (await self._engine.probe()).capabilities
        return Probe(capabilities=msgspec.structs.replace(found, **self._fault.get("capabilities", {})))

    async def complete(self, request: Request) -> Response:
        if "raises" in self._fault:
            raise self._fault["raises"]
        if "asks" in self._fault:
            request = self._fault["asks"](request)
        answer: Response = await self._engine.complete(request)
        return answer if "tells" not in self._fault else self._fault["tells"](answer)

    def law(self) -> None:
        return None

    async def close(self) -> None:
        pass


def first(answer: Response, **changes: Any) -> Response:
    one, *others = answer.completions
    return msgspec.structs.replace(answer, completions=(msgspec.structs.replace(one, **changes), *others))


def unsorted(answer: Response) -> Response:
    positions = answer.completions[0].logprobs
    if positions is None:
        return answer
    return first(answer, logprobs=tuple(msgspec.structs.replace(one, top=one.top[::-1]) for one in positions))


def linear(answer: Response) -> Response:
    positions = answer.completions[0].logprobs
    if positions is None:
        return answer
    tops = [tuple((token, 0.5) for token, _ in one.top) for one in positions]
    told = (msgspec.structs.replace(one, top=top) for one, top in zip(positions, tops, strict=True))
    return first(answer, logprobs=tuple(told))


replaced = msgspec.structs.replace


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ({"probe": True}, "probe"),
        ({"capabilities": {"tokens": "none"}}, "probe"),
        ({"asks": lambda request: replaced(request, max_tokens=request.max_tokens + 1)}, "cap"),
        ({"tells": lambda answer: first(answer, finish_reason="max_length")}, "cap"),
        ({"asks": lambda request: replaced(request, n=1)}, "choices"),
        ({"tells": lambda answer: first(answer, tokens=("a",) * 5)}, "tokens"),
        ({"tells": lambda answer: first(answer, tokens=None)}, "tokens"),
        ({"tells": unsorted}, "logprobs"),
        ({"tells": linear}, "logprobs"),
        ({"capabilities": {"logprobs": 9}}, "logprobs"),
        (
            {"asks": lambda request: replaced(request, sampling=replaced(request.sampling, temperature=50.0))},
            "greedy",
        ),
        ({"raises": KeyError("choices")}, "failures"),
    ],
)
def test_each_fault_is_found(fault: dict[str, Any], check: str) -> None:
    assert check in owed(Faulty(**fault))


def test_the_embedded_decoder_owes_nothing() -> None:
    assert_adapter(in_process())


def test_a_served_decoder_owes_nothing() -> None:
    with running(make_app(in_process())) as address:
        engine = ServerEngine(f"{address}/v1", manner=Manner(model=None), access=Access())
        assert owed(engine) == []


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_no_form_lets_a_default_decide(api: Api) -> None:
    for adapter in adapters():
        assert owed(Faulty(), form=adapter.form(api)) == [], adapter.name


@dataclass(frozen=True, kw_only=True)
class Forgetful(OpenAIForm):
    """Forgets top_k in silence."""

    def written(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in super().written(fields).items() if name != "top_k"}


@dataclass(frozen=True, kw_only=True)
class Leaving(OpenAIForm):
    """Leaves top_p to the server where it is neutral, and never thinks of grammars and stop tokens."""

    def fields(self, request: Request, manner: Manner) -> dict[str, Any]:
        left = {"structured_outputs", "stop_token_ids", *(() if request.sampling.top_p < 1 else ("top_p",))}
        return {name: value for name, value in super().fields(request, manner).items() if name not in left}


def test_a_form_that_leaves_a_default_to_decide_is_found() -> None:
    assert owed(Faulty(), form=Leaving()) == ["parameter top_p", "parameter grammar", "parameter stop_token_ids"]


def test_a_form_that_forgets_a_parameter_is_found() -> None:
    assert owed(Faulty(), form=Forgetful()) == ["parameter top_k"]
    with pytest.raises(AssertionError, match="top_k changes nothing of what is sent"):
        assert_adapter(in_process(), form=Forgetful())
