"""Finding out what a server reveals, by some twenty short requests."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from secrets import token_hex
from typing import Any, Literal

import msgspec

from specaudit.engines.adapter import Recognised
from specaudit.engines.asking import Asker
from specaudit.engines.behaviour import (
    LONG,
    OPEN_PROMPT,
    PROMPT,
    find_reasoning,
    find_temperature,
    probing,
    repeat,
)
from specaudit.engines.interface import EngineFailure, Probe
from specaudit.engines.models import choose_model
from specaudit.engines.recognise import LOST
from specaudit.engines.refused import find_refused
from specaudit.model.capabilities import Capabilities
from specaudit.model.request import Token
from specaudit.prompts.choose import TINY_VOCABULARY
from specaudit.prompts.tokenizers import Tokenizer

_LOGPROBS_ASKED = (20, 5)
"""vLLM's and OpenAI's usual limits."""

_CHOICES_ASKED = (64, 32, 16, 8, 4, 2)

Revealed = Literal["ids", "texts", "retokenized", "none"]
LogprobsMode = Literal["raw", "processed", "unknown"]
Repeats = Literal["never", "bypassed", "always"]
Temperature = Literal["any", "one", "default", "ignored"]
Recogniser = Callable[[Mapping[str, Any]], Awaitable[Recognised]]
"""Says which engine a server is, from its list of models."""


class Prober:
    """Asks one server what it can do.

    Args:
        asker: asks it; its manner is settled by probing.
        tokenizer: divides text into tokens where the server tells none.
        recognised: says from the list of models which engine the server is.
    """

    def __init__(self, asker: Asker, tokenizer: Tokenizer | None, recognised: Recogniser) -> None:
        self._asker = asker
        self._tokenizer = tokenizer
        self._recognised = recognised
        self._version: str | None = None

    async def probe(self) -> Probe:
        """Find out what the server reveals.

        Raises:
            CouldNotTest: it cannot be reached, refuses the key, does not serve the model, or speaks no JSON.
        """
        vocabulary_size = await self._find_model()
        first = await find_refused(self._asker)
        repeats = await self._find_repeats()
        temperature = await self._find_temperature()
        scored_tokens, logprobs = await self._find_logprobs(vocabulary_size)
        tokens = first.completions[0].tokens
        if tokens is None and scored_tokens is not None:
            tokens = scored_tokens
            self._asker.manner = replace(self._asker.manner, tokens_need_logprobs=True)
        ids = tuple(token for token in tokens or () if isinstance(token, int))
        revealed: Revealed = "ids" if ids and ids == tokens else "texts" if tokens else "none"
        self._asker.manner = replace(self._asker.manner, tells_ids=revealed == "ids")
        if revealed == "none" and (self._tokenizer is not None or first.completions[0].text):
            revealed = "retokenized"
            self._asker.manner = replace(self._asker.manner, retokenizes=True)
        choices = await self._find_choices()
        reasoning = find_reasoning(first)
        capabilities = Capabilities(
            engine=self._asker.manner.form.engine,
            version=self._version,
            model=self._asker.manner.model,
            tokens=revealed,
            token_prompts=revealed == "ids" and await self._takes_token_prompts(ids),
            vocabulary_size=vocabulary_size,
            max_choices=choices,
            logprobs=logprobs,
            logprobs_mode=await self._find_logprobs_mode(logprobs) if logprobs else "unknown",
            scores_prompts=bool(logprobs) and await self._scores_prompts(logprobs),
            temperature=temperature,
            repeats=repeats,
            reasoning=reasoning,
            segments=reasoning == "none" or await self._divides(min(2, choices)),
            prompt_tokens=await self._count_prompts(),
            tokenizer=self._tokenizer.digest if self._tokenizer is not None else None,
            refused=self._asker.manner.refused,
            counts_in_answers=self._asker.counted_in_answers,
        )
        return Probe(capabilities=capabilities, exchanges=tuple(self._asker.exchanges), spent=self._asker.spent)

    async def _find_model(self) -> int | None:
        """Settle which model is asked for; return its vocabulary size where the server tells it."""
        try:
            listing = await self._asker.models()
        except EngineFailure as error:
            if error.failure.status not in (404, 405) or not self._asker.manner.model:
                raise self._asker.could_not_test(error.failure) from error
            listing = {}
        model = choose_model(listing, self._asker.manner.model, self._asker.where)
        engine = await self._recognised(listing)
        self._asker.note("GET /models", ", ".join(model.served) or "no model")
        self._asker.note("engine", f"{engine.form.engine} {engine.version or ''}" if engine.known else LOST)
        self._asker.manner = replace(self._asker.manner, model=model.name, form=engine.form)
        self._version = engine.version
        return model.vocabulary_size

    async def _find_repeats(self) -> Repeats:
        """Find whether a cache answers requests that differ in their seed, and whether naming users gets past it.

        The users are new with every probe: those of an audit before this one are in the cache.
        """
        if not await repeat(self._asker.answers, "a new draw"):
            return "never"
        self._asker.manner = replace(self._asker.manner, users=f"specaudit-{token_hex(6)}")
        if not await repeat(self._asker.answers, "a new draw for another user"):
            return "bypassed"
        self._asker.manner = replace(self._asker.manner, users=None)
        return "always"

    async def _find_temperature(self) -> Temperature:
        if "temperature" in self._asker.manner.refused:
            return "default"
        found = await find_temperature(self._asker.answers)
        if found == "one":
            self._asker.manner = replace(self._asker.manner, only_neutral_temperature=True)
        return found

    async def _scores_prompts(self, logprobs: int) -> bool:
        """True if the server tells the logprobs of a prompt's own tokens, as many as of generated ones.

        Where it has to generate these once more (llama.cpp), it tells none on verification steps; the prompt repeats
        itself so that n-gram drafters draft there too.
        """
        request = msgspec.structs.replace(probing(prompt=f"{PROMPT} {PROMPT}", logprobs=logprobs), score_from=1)
        response = await self._asker.answers(request, "logprobs of the prompt")
        scores = response.scores if response is not None else None
        return bool(scores) and all(len(score.top) >= logprobs for score in scores or ())

    async def _divides(self, choices: int) -> bool:
        """True if it is known where the reasoning of each choice ends."""
        request = probing(prompt=OPEN_PROMPT, n=choices, max_tokens=LONG)
        response = await self._asker.answers(request, f"reasoning of {choices} choices")
        return response is not None and all(choice.reasoning_length is not None for choice in response.completions)

    async def _count_prompts(self) -> tuple[int, ...]:
        """Return how many tokens the server counts in the probing prompts; nothing where it does not tell."""
        responses = [
            await self._asker.answers(probing(prompt=prompt), "prompt tokens") for prompt in (PROMPT, OPEN_PROMPT)
        ]
        counts = [response.prompt_tokens for response in responses if response is not None]
        return tuple(count for count in counts if count is not None) if None not in counts else ()

    async def _find_logprobs(self, vocabulary_size: int | None) -> tuple[tuple[Token, ...] | None, int]:
        """Return the tokens of a completion with logprobs, and how many most likely tokens each position has.

        Of a toy's vocabulary all are asked for: some servers tell the whole law.
        """
        whole = vocabulary_size if vocabulary_size is not None and vocabulary_size <= TINY_VOCABULARY else 0
        for asked in (whole, *_LOGPROBS_ASKED) if whole > _LOGPROBS_ASKED[0] else _LOGPROBS_ASKED:
            response = await self._asker.answers(probing(logprobs=asked), f"logprobs={asked}")
            first = response.completions[0] if response is not None and response.completions else None
            if first is not None and first.logprobs:
                # vLLM adds the emitted token to those asked for, but refuses to be asked for more.
                # The first token is never drafted; llama.cpp reports none where tokens were verified.
                count = min(asked, len(first.logprobs[0].top))
                return first.tokens, count if self._asker.manner.form.tells_law else 0
        return None, 0

    async def _takes_token_prompts(self, ids: tuple[int, ...]) -> bool:
        response = await self._asker.answers(probing(prompt=ids), "token-id prompt")
        return response is not None and len(response.completions) == 1 and response.prompt_token_ids in (None, ids)

    async def _find_choices(self) -> int:
        """Return the most choices that one request was seen to return; a server may cap n in silence."""
        for asked in _CHOICES_ASKED:
            response = await self._asker.answers(probing(n=asked), f"n={asked}")
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
            request = probing(logprobs=logprobs, temperature=temperature)
            response = await self._asker.answers(request, f"logprobs at temperature {temperature}")
            if response is None or not response.completions or not response.completions[0].logprobs:
                return "unknown"
            laws.append(dict(response.completions[0].logprobs[0].top))
        at_1, at_half = laws
        shared = [token for token in at_1 if token in at_half]
        before, after = (sum(law[shared[0]] - law[token] for token in shared[1:]) for law in laws)
        stretch = after / before if before else 0.0
        return "raw" if 0.75 < stretch < 1.25 else "processed" if 1.75 < stretch < 2.25 else "unknown"
