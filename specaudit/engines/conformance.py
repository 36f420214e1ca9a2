"""What every adapter owes to an audit, each as a finding: for authors of adapters, through `specaudit.testing`."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import pairwise
from math import exp
from typing import Any

import msgspec

from specaudit.engines.behaviour import PROMPT
from specaudit.engines.form import Form
from specaudit.engines.interface import Engine, EngineFailure
from specaudit.engines.manner import Manner
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Response
from specaudit.model.finding import Finding, Verdict
from specaudit.model.request import GREEDY, Request, Sampling

_CAP = 5
_ENDINGS = ("length", "stop")

CHANGED: dict[str, Sampling] = {
    "temperature": Sampling(temperature=0.5),
    "top_k": Sampling(top_k=3),
    "top_p": Sampling(top_p=0.5),
    "min_p": Sampling(min_p=0.25),
    "repetition_penalty": Sampling(repetition_penalty=1.5),
    "presence_penalty": Sampling(presence_penalty=0.5),
    "frequency_penalty": Sampling(frequency_penalty=0.5),
    "logit_bias": Sampling(logit_bias=((1, 1.0),)),
    "bad_words": Sampling(bad_words=(("a",),)),
    "allowed_token_ids": Sampling(allowed_token_ids=(1, 2)),
    "grammar": Sampling(grammar="[ab]*"),
}
"""Each parameter by itself, away from its neutral value."""

ASKED: dict[str, Any] = {
    "seed": 2,
    "n": 2,
    "max_tokens": 6,
    "stop": ("a",),
    "stop_token_ids": (1,),
    "min_tokens": 3,
    "logprobs": 2,
}
"""What else a request may ask for, each by itself, otherwise than the plain one."""

Rule = Callable[[Engine, Capabilities], Awaitable[str]]
"""Returns what is wrong in a sentence, nothing where all is well."""


async def examine_adapter(engine: Engine) -> AsyncIterator[Finding]:
    """Yield a finding for each thing that an adapter owes."""
    try:
        found = (await engine.probe()).capabilities
    except Exception as error:
        yield _finding("probe", f"probing ended with {type(error).__name__}: {error}")
        return
    yield _finding("probe", _of_capabilities(found))
    rules: dict[str, Rule] = {
        "cap": _cap,
        "choices": _choices,
        "tokens": _tokens,
        "logprobs": _logprobs,
        "greedy": _greedy,
        "failures": _failures,
    }
    for name, rule in rules.items():
        try:
            wrong = await rule(engine, found)
        except Exception as error:  # of any kind: an adapter may raise EngineFailure and nothing else
            wrong = f"it raised {type(error).__name__}: {error}"
        yield _finding(name, wrong)


def examine_form(form: Form) -> Iterator[Finding]:
    """Yield a finding for each parameter: it changes what is sent or is objected to, and is sent where neutral, too."""
    manner = Manner(model="m", form=form)
    plain = _request(Sampling())
    fields = form.fields(plain, manner)
    sent = manner.body(fields)
    changes = {name: {"sampling": sampling} for name, sampling in CHANGED.items()}
    changes |= {name: {name: value} for name, value in ASKED.items()}
    for name, change in changes.items():
        request = msgspec.structs.replace(plain, **change)
        wrong = ""
        if not form.objection(request, manner) and manner.body(form.fields(request, manner)) == sent:
            wrong = f"{name} changes nothing of what is sent, and nothing objects to it"
        elif form.neutral.get(name) is not None and name not in fields:
            wrong = f"{name} is left out where it is neutral, so that the server's default decides"
        yield _finding(f"parameter {name}", wrong)


def _request(sampling: Sampling, **changes: object) -> Request:
    request = Request(prompt=PROMPT, sampling=sampling, seed=1, max_tokens=_CAP)
    return msgspec.structs.replace(request, **changes)


def _of_capabilities(found: Capabilities) -> str:
    if found.logprobs and found.tokens == "none":
        return "it reports logprobs and tells no tokens: they belong to some"
    if found.token_prompts and found.tokens not in ("ids", "retokenized"):
        return "it takes token ids as prompts and tells none"
    return "" if found.max_choices >= 1 else "it gives no choice at all"


async def _cap(engine: Engine, found: Capabilities) -> str:
    (completion, *_) = (await engine.complete(_request(Sampling()))).completions
    count = len(completion.tokens or ())
    if count > _CAP:
        return f"{count} tokens came for a cap of {_CAP}"
    if count == _CAP and completion.finish_reason not in _ENDINGS:
        return f"the finish reason is {completion.finish_reason!r}, and is to be one of {', '.join(_ENDINGS)}"
    if 0 < count < _CAP and completion.finish_reason != "stop":
        return f"{count} tokens of {_CAP} came, and the finish reason is {completion.finish_reason!r}, not 'stop'"
    return ""


async def _choices(engine: Engine, found: Capabilities) -> str:
    wanted = min(2, found.max_choices)
    answer = await engine.complete(_request(Sampling(), n=wanted))
    return (
        "" if len(answer.completions) == wanted else f"{len(answer.completions)} choices came, {wanted} were asked for"
    )


async def _tokens(engine: Engine, found: Capabilities) -> str:
    answer = await engine.complete(_request(Sampling()))
    tokens = [token for completion in answer.completions for token in completion.tokens or ()]
    if found.tokens == "none":
        return "" if not tokens else "tokens come that the capabilities do not tell of"
    kind: type = str if found.tokens == "texts" else int
    if found.tokens in ("ids", "texts") and not all(isinstance(token, kind) for token in tokens):
        return f"the capabilities tell of {found.tokens}, and other tokens come"
    if not tokens:
        return f"the capabilities tell of {found.tokens}, and no tokens come"
    return ""


async def _logprobs(engine: Engine, found: Capabilities) -> str:
    if not found.logprobs:
        return ""
    answer = await engine.complete(_request(Sampling(), max_tokens=1, logprobs=found.logprobs))
    (completion, *_) = answer.completions
    if not completion.logprobs or completion.tokens is None:
        return f"the capabilities tell of {found.logprobs} logprobs, and none come"
    position = completion.logprobs[0]
    values = [value for _, value in position.top]
    if position.token != completion.tokens[0]:
        return f"the first logprob is of token {position.token!r}, and the first token is {completion.tokens[0]!r}"
    if len(values) < found.logprobs:
        return f"the capabilities tell of {found.logprobs} likely tokens, and {len(values)} come"
    if any(one < other for one, other in pairwise(values)):
        return "likely tokens do not come most likely first"
    mass = sum(map(exp, values))
    return "" if mass <= 1.001 else f"likely tokens have a mass of {mass:.3f}: no natural logarithms of probabilities"


async def _greedy(engine: Engine, found: Capabilities) -> str:
    if found.temperature != "any":
        return ""
    request = _request(GREEDY, max_tokens=1)
    first: set[object] = set()
    for seed in range(1, 13):
        first.add(_said(await engine.complete(msgspec.structs.replace(request, seed=seed))))
    return "" if len(first) <= 2 else f"{len(first)} different first tokens at temperature 0: it is not sent"


def _said(answer: Response) -> object:
    (completion, *_) = answer.completions
    return completion.tokens or completion.text


async def _failures(engine: Engine, found: Capabilities) -> str:
    """What cannot be answered is an EngineFailure with a sentence, and nothing of it was generated."""
    if not found.token_prompts:
        return ""
    try:
        await engine.complete(_request(Sampling(), prompt=((1 << 31) - 2,)))
    except EngineFailure as error:
        message = error.failure.message
        return "" if message and message == " ".join(message.split()) else f"its message is no sentence: {message!r}"
    return ""


def _finding(check: str, wrong: str) -> Finding:
    verdict = Verdict.VIOLATES if wrong else Verdict.CONFORMS
    return Finding(check=check, verdict=verdict, required=True, summary=wrong or "As it is to be.")
