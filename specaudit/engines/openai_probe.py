"""Finding out what a server reveals, by some ten short requests."""

from dataclasses import replace
from typing import Any, Literal

import stamina

from specaudit.engines.http import BUSY, HttpClient, one_line
from specaudit.engines.interface import EngineFailure, Probe
from specaudit.engines.openai_call import OPTIONAL, Manner, call
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Response
from specaudit.model.entries import Failure
from specaudit.model.errors import CouldNotTest
from specaudit.model.nearest import nearest
from specaudit.model.request import Prompt, Request, Sampling, Token

_LOGPROBS_ASKED = (20, 5)
"""vLLM's and OpenAI's usual limits."""

_CHOICES_ASKED = (64, 32, 16, 8, 4, 2)
_PROMPT = "the quick brown fox"

_SHOWN = 300
"""Characters of an exchange that are kept."""

_LISTED = 10
"""Models that a sentence names."""

Revealed = Literal["ids", "texts", "none"]
LogprobsMode = Literal["raw", "processed", "unknown"]


def _is_busy(error: Exception) -> bool:
    return isinstance(error, EngineFailure) and error.failure.status in BUSY


_patiently = stamina.retry(on=_is_busy, attempts=4, timeout=60.0)


class Prober:
    """Asks one server what it can do.

    Args:
        client: the server.
        manner: how to ask it, as far as that is known.
    """

    def __init__(self, client: HttpClient, manner: Manner) -> None:
        self.manner = manner
        """How the server has to be asked; settled by probing."""
        self._client = client
        self._where = client.where.rstrip("/")
        self._exchanges: list[str] = []

    async def probe(self) -> Probe:
        """Find out what the server reveals.

        Raises:
            CouldNotTest: it cannot be reached, refuses the key, does not serve the model, or speaks no JSON.
        """
        vocabulary_size = await self._find_model()
        tokens = await self._find_refused()
        scored_tokens, logprobs = await self._find_logprobs()
        if tokens is None and scored_tokens is not None:
            tokens = scored_tokens
            self.manner = replace(self.manner, tokens_need_logprobs=True)
        ids = tuple(token for token in tokens or () if isinstance(token, int))
        revealed: Revealed = "ids" if ids and ids == tokens else "texts" if tokens else "none"
        capabilities = Capabilities(
            engine="openai",
            model=self.manner.model,
            tokens=revealed,
            token_prompts=revealed == "ids" and await self._takes_token_prompts(ids),
            vocabulary_size=vocabulary_size,
            max_choices=await self._find_choices(),
            logprobs=logprobs,
            logprobs_mode=await self._find_logprobs_mode(logprobs) if logprobs else "unknown",
            refused=self.manner.refused,
        )
        return Probe(capabilities=capabilities, exchanges=tuple(self._exchanges))

    async def _find_model(self) -> int | None:
        """Settle which model is asked for; return its vocabulary size where the server tells it."""
        model = self.manner.model
        try:
            served = _served(await self._models())
        except EngineFailure as error:
            if error.failure.status not in (404, 405) or not model:
                raise self._could_not_test(error.failure) from error
            served = {}
        self._note("GET /models", ", ".join(served) or "no model")
        if not served and model:
            return None  # gateways need not list models; the first completion will tell
        if not served:
            raise CouldNotTest(
                f"{self._where} lists no model.", hint=f"specaudit run --endpoint {self._where} --model NAME"
            )
        if model is None:
            model = next(iter(served))
            self.manner = replace(self.manner, model=model)
        if model not in served:
            raise self._not_served(model, list(served))
        size = served[model].get("vocab_size")
        return size if type(size) is int and 0 < size < 1 << 31 else None

    def _not_served(self, model: str, served: list[str]) -> CouldNotTest:
        listed = ", ".join(served[:_LISTED]) + (", …" if len(served) > _LISTED else "")
        return CouldNotTest(
            one_line(f"{self._where} does not serve the model {model!r}; it serves: {listed}.{nearest(model, served)}"),
            hint=one_line(f"specaudit run --endpoint {self._where} --model {served[0]}"),
        )

    async def _find_refused(self) -> tuple[Token, ...] | None:
        """Find the optional fields that the server refuses; return the tokens of a completion, where it reveals them.

        Messages name a field, several, or none; only leaving fields out tells which are to blame.
        """
        try:
            response = await self._ask(_request())
        except EngineFailure as error:
            if error.failure.reason != "status" or _is_final(error.failure):
                raise self._could_not_test(error.failure) from error
            self._note("POST /completions", error.failure.message)
            response = await self._without_refused()
        self._note("POST /completions", _described(response))
        if not response.completions:
            raise CouldNotTest(f"{self._where} answers without choices.", hint=f"curl {self._where}/completions")
        return response.completions[0].tokens

    async def _without_refused(self) -> Response:
        """Leave out all optional fields, then take back one after the other what the server answers."""
        self.manner = replace(self.manner, refused=OPTIONAL)
        try:
            response = await self._ask(_request())
        except EngineFailure as error:
            raise self._could_not_test(error.failure) from error
        for field in OPTIONAL:
            without = self.manner
            self.manner = replace(without, refused=tuple(name for name in without.refused if name != field))
            answer = await self._answers(_request(), f"with {field}")
            if answer is None:
                self.manner = without
            else:
                response = answer
        return response

    async def _find_logprobs(self) -> tuple[tuple[Token, ...] | None, int]:
        """Return the tokens of a completion with logprobs, and how many most likely tokens each position has."""
        for asked in _LOGPROBS_ASKED:
            response = await self._answers(_request(logprobs=asked), f"logprobs={asked}")
            first = response.completions[0] if response is not None and response.completions else None
            if first is not None and first.logprobs:
                # vLLM adds the emitted token to those asked for, but refuses to be asked for more.
                return first.tokens, min(asked, *(len(position.top) for position in first.logprobs))
        return None, 0

    async def _takes_token_prompts(self, ids: tuple[int, ...]) -> bool:
        response = await self._answers(_request(prompt=ids), "token-id prompt")
        return response is not None and len(response.completions) == 1 and response.prompt_token_ids in (None, ids)

    async def _find_choices(self) -> int:
        """Return the most choices that one request was seen to return; a server may cap n in silence."""
        for asked in _CHOICES_ASKED:
            response = await self._answers(_request(n=asked), f"n={asked}")
            if response is not None and len(response.completions) > 1:
                return min(asked, len(response.completions))
        return 1

    async def _find_logprobs_mode(self, logprobs: int) -> LogprobsMode:
        """Find whether logprobs are reported before or after the sampling filters.

        Halving the temperature doubles the distances between processed logprobs and leaves raw ones alone, up to
        the noise of a batched engine.
        """
        laws: list[dict[Token, float]] = []
        for temperature in (1.0, 0.5):
            request = _request(logprobs=logprobs, temperature=temperature)
            response = await self._answers(request, f"logprobs at temperature {temperature}")
            if response is None or not response.completions or not response.completions[0].logprobs:
                return "unknown"
            laws.append(dict(response.completions[0].logprobs[0].top))
        at_1, at_half = laws
        shared = [token for token in at_1 if token in at_half]
        before, after = (sum(law[shared[0]] - law[token] for token in shared[1:]) for law in laws)
        stretch = after / before if before else 0.0
        return "raw" if 0.75 < stretch < 1.25 else "processed" if 1.75 < stretch < 2.25 else "unknown"

    @_patiently
    async def _models(self) -> dict[str, Any]:
        return await self._client.get_json("models")

    @_patiently
    async def _ask(self, request: Request) -> Response:
        return await call(self._client, self.manner, request)

    async def _answers(self, request: Request, what: str) -> Response | None:
        """Return the answer to a request that the server may refuse, or None where it does.

        Raises:
            CouldNotTest: it would not answer any other request either.
        """
        try:
            response = await self._ask(request)
        except EngineFailure as error:
            if _is_final(error.failure):
                raise self._could_not_test(error.failure) from error
            self._note(f"POST /completions {what}", error.failure.message)
            return None
        self._note(f"POST /completions {what}", _described(response))
        return response

    def _note(self, asked: str, answered: str) -> None:
        self._exchanges.append(one_line(f"{asked}: {answered}")[:_SHOWN])

    def _could_not_test(self, failure: Failure) -> CouldNotTest:
        look = f"curl {self._where}/models"
        if failure.status in (401, 403):
            hint = "export OPENAI_API_KEY=… (or SPECAUDIT_REFERENCE_API_KEY for a reference on another host)"
        elif failure.status == 404 or failure.reason == "protocol":
            hint = f"Does the address end in /v1? {look}"
        elif failure.reason == "connect":
            hint = f"Is the server running? {look}"
        else:
            hint = look
        return CouldNotTest(failure.message, hint=hint)


def _is_final(failure: Failure) -> bool:
    """True where any other request would meet the same."""
    return failure.reason == "connect" or failure.status in (401, 403, *BUSY)


def _served(listing: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The listed models by name."""
    entries = listing.get("data")
    return {
        entry["id"]: entry
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    }


def _request(*, prompt: Prompt = _PROMPT, n: int = 1, logprobs: int | None = None, temperature: float = 1.0) -> Request:
    sampling = Sampling(temperature=temperature)
    return Request(prompt=prompt, sampling=sampling, seed=1, n=n, max_tokens=2, logprobs=logprobs)


def _described(response: Response) -> str:
    first = response.completions[0] if response.completions else None
    return f"{len(response.completions)} choices, first tokens {first.tokens if first else None}"
