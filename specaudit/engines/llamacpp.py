"""llama.cpp's server (builds 10434 to 11549): `/completion` natively, `/v1/chat/completions` in OpenAI's form.

Of `/completion` come token ids (`return_tokens`), logprobs of as many tokens as asked for, before its samplers
(`n_probs`), and in `timings` what was drafted and accepted: of every step, where answers are streams
(`timings_per_token`). A text is tokenized by the server first (`/tokenize`), so that prompts are token ids. Its
logprobs are wrong where tokens were drafted: they are passed on as they come.

`--engine llamacpp:adaptive_target=0.3` turns on a sampler that no other engine has; any name of `FURTHER` can be set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from specaudit.engines.adapter import Adapter, Sign
from specaudit.engines.form import Fields
from specaudit.engines.interface import Access
from specaudit.engines.llamacpp_answer import read_completions
from specaudit.engines.llamacpp_forcing import apart, forced, grammar_of
from specaudit.engines.openai_form import OpenAIForm
from specaudit.engines.server import ServerEngine
from specaudit.engines.server import build as build_server
from specaudit.model.completion import Response
from specaudit.model.errors import UsageError
from specaudit.model.nearest import nearest
from specaudit.model.plan import Api, Arm
from specaudit.model.request import Request

if TYPE_CHECKING:
    from specaudit.engines.form import Form
    from specaudit.engines.http import Answered, HttpClient
    from specaudit.engines.manner import Manner

NAME = "llama.cpp"
"""By which its order of filters is known."""

SAMPLERS = ("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature")
"""Its default order, which a server's options may change unless a request names it."""

_UNKNOWN_IN_CHAT = (
    "return_token_ids",
    "return_tokens_as_token_ids",
    "bad_words",
    "allowed_token_ids",
    "grammar",
    "stop_token_ids",
    "min_tokens",
    "prompt_logprobs",
)
"""Ignored in silence there; its own grammars are no regular expressions."""

NEUTRAL: Mapping[str, Any] = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}

FURTHER: Mapping[str, Any] = {
    "typical_p": 1.0,
    "top_n_sigma": -1.0,
    "xtc_probability": 0.0,
    "xtc_threshold": 0.1,
    "dynatemp_range": 0.0,
    "dynatemp_exponent": 1.0,
    "dry_multiplier": 0.0,
    "mirostat": 0,
    "adaptive_target": -1.0,
    "adaptive_decay": 0.9,
    "repeat_last_n": 64,
    "min_keep": 0,
}
"""Parameters of llama.cpp alone, with values that change nothing; penalties look at 64 tokens by its default."""

ANSWER = (
    "index",
    "content",
    "tokens",
    "stop",
    "stop_type",
    "tokens_predicted",
    "tokens_evaluated",
    "timings",
    "completion_probabilities",
)
"""What is asked of an answer: without this it repeats prompt and settings, most of its length."""


@dataclass(frozen=True, kw_only=True)
class CompletionForm:
    """The interface of `/completion`."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of llama.cpp alone that are not left neutral."""
    tokenized: dict[str, tuple[int, ...]] = field(default_factory=dict, compare=False)
    """Texts that the server has tokenized."""
    engine: str = NAME
    neutral: Mapping[str, Any] = field(default_factory=lambda: NEUTRAL)

    @property
    def optional(self) -> tuple[str, ...]:
        """Fields that a server may refuse, the most valuable first."""
        return ("return_tokens", "seed", *NEUTRAL, "samplers", "response_fields", *FURTHER)

    @property
    def tells_law(self) -> bool:
        """Logprobs are before all samplers: of those that are unknown here they tell nothing."""
        return all(self.options[name] == FURTHER[name] for name in self.options)

    def path(self, api: Api) -> str:
        """Where requests go, below the server's root."""
        return "/completion"

    def objection(self, request: Request, manner: Manner) -> str:
        """Say why the interface has no way to ask for a request; nothing where it has."""
        missing = [name for name in request.sampling.changed if name in ("bad_words", "allowed_token_ids", "grammar")]
        missing += ["stop_token_ids"] if request.stop_token_ids else []
        missing += ["min_tokens"] if request.min_tokens else []
        generated = request.score_from is None or (request.score_from and request.n == 1 and forced(request))
        missing += [] if generated else ["logprobs of a text, of a first token, or beside several choices"]
        return f"{NAME} has no {', '.join(missing)}, which this request needs." if missing else ""

    def fields(self, request: Request, manner: Manner) -> Fields:
        """Return everything that is to be said, every sampling parameter with it."""
        sampling = request.sampling
        further = {**FURTHER, **self.options}
        scored = forced(request)
        fields: Fields = {
            "prompt": request.prompt[: request.score_from] if scored else request.prompt,
            "n_predict": len(scored) + request.max_tokens,
            **({"grammar": grammar_of(scored)} if scored else {}),
            **({"n_cmpl": request.n} if request.n > 1 else {}),
            "seed": request.seed,
            "stream": manner.stream,
            "timings_per_token": manner.stream,
            **{name: getattr(sampling, name) for name in NEUTRAL},
            **further,
            "samplers": (*SAMPLERS, *(["adaptive_p"] if further["adaptive_target"] >= 0 else [])),
            "logit_bias": sampling.logit_bias,
            "stop": request.stop,
            "ignore_eos": request.ignore_eos,
            "return_tokens": True,
            "n_probs": request.logprobs or 0,
            "post_sampling_probs": False,
            "response_fields": ANSWER,
        }
        if manner.users is not None:
            fields["user"] = f"{manner.users}-{request.seed}"
        return fields

    def written(self, fields: Fields) -> Fields:
        """Return fields under llama.cpp's names."""
        return {"repeat_penalty" if name == "repetition_penalty" else name: fields[name] for name in fields}

    def read(self, answered: Answered, request: Request) -> Response:
        """Read one answer, a list of several, or a stream.

        Raises:
            ValueError: it is not of the form; the message says where.
        """
        prompt = request.prompt if isinstance(request.prompt, tuple) else None
        logprobs = request.logprobs is not None
        return apart(read_completions(answered.objects, prompt=prompt, logprobs=logprobs), request)

    async def prepared(self, client: HttpClient, request: Request) -> Request:
        """Return the request with its text as the server tokenizes it, asked once for each text.

        Raises:
            EngineFailure: the server does not tell it.
        """
        if not isinstance(request.prompt, str):
            return request
        if request.prompt not in self.tokenized:
            said = await client.post("/tokenize", _whole(request.prompt))
            try:
                tokens = msgspec.convert(said.objects[0].get("tokens"), tuple[int, ...])
            except msgspec.ValidationError:
                return request  # it stays a text
            self.tokenized[request.prompt] = tokens
        return msgspec.structs.replace(request, prompt=self.tokenized[request.prompt])


def _whole(text: str) -> Fields:
    """Ask for a text's tokens as `/completion` would have them, with whatever stands before a text."""
    return {"content": text, "add_special": True, "parse_special": True}


def form(api: Api, options: Mapping[str, Any] | None = None) -> Form:
    """Return the form of an interface.

    Args:
        api: the interface.
        options: parameters of llama.cpp alone that are not left neutral.
    """
    if api == "completions":
        return CompletionForm(options=options or {})
    changed = {**FURTHER, **(options or {})}
    adaptive = ["adaptive_p"] if changed["adaptive_target"] >= 0 else []
    return OpenAIForm(
        engine=NAME,
        neutral=NEUTRAL,
        names={"repetition_penalty": "repeat_penalty"},
        unknown=frozenset(_UNKNOWN_IN_CHAT),
        further={**changed, "samplers": (*SAMPLERS, *adaptive)},
        tells_law=CompletionForm(options=options or {}).tells_law,
    )


ADAPTER = Adapter(
    name="llamacpp",
    form=form,
    sign=Sign(
        owner="llamacpp",
        page="/props",
        marks=frozenset({"default_generation_settings", "build_info"}),
        version="build_info",
    ),
)


def build(arm: Arm, access: Access) -> ServerEngine:
    """Return the engine of an arm.

    Raises:
        UsageError: the arm has no endpoint, or sets what llama.cpp does not have.
        CouldNotTest: it is not an http(s) address.
    """
    options = _options(arm.engine.partition(":")[2])
    return build_server(arm, access, Adapter(name="llamacpp", form=lambda api: form(api, options), sign=ADAPTER.sign))


def _options(text: str) -> dict[str, float]:
    """Read `NAME=VALUE,…`."""
    found: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name not in FURTHER:
            raise UsageError(
                f"llama.cpp has no parameter {name!r} that can be set here.{nearest(name, FURTHER)}",
                hint=f"specaudit run --engine llamacpp:NAME=VALUE, with {', '.join(FURTHER)}",
            )
        try:
            found[name] = type(FURTHER[name])(value)
        except ValueError:
            raise UsageError(
                f"{name} is a number, and {value!r} is none.", hint=f"specaudit run --engine llamacpp:{name}=0.5"
            ) from None
    return found
