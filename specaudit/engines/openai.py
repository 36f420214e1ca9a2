"""Any server with an OpenAI-compatible `/v1/completions` or `/v1/chat/completions`, over HTTP.

Fields beyond OpenAI's own (`top_k`, `min_p`, `repetition_penalty`, `ignore_eos`, `return_token_ids`,
`return_tokens_as_token_ids`, `chat_template_kwargs`) are vLLM's; SGLang, llama.cpp and most gateways take or ignore
them. Those that a server answers with an error are not sent to it, and are part of its Capabilities.
"""

from dataclasses import replace
from pathlib import Path

from specaudit.engines.http import HttpClient
from specaudit.engines.interface import Access, Probe
from specaudit.engines.openai_asking import Asker
from specaudit.engines.openai_call import call
from specaudit.engines.openai_manner import Manner
from specaudit.engines.openai_probe import Prober
from specaudit.model.completion import Response
from specaudit.model.errors import UsageError
from specaudit.model.law import RevealedLaw
from specaudit.model.plan import Arm
from specaudit.model.request import Request
from specaudit.prompts.tokenizers import Tokenizer, load_tokenizer


def build(arm: Arm, access: Access) -> "OpenAIEngine":
    """Return the engine of an arm that has an endpoint.

    Raises:
        UsageError: it has none, or its tokenizer cannot be read.
        CouldNotTest: it is not an http(s) address.
    """
    if arm.endpoint is None:
        raise UsageError("The engine 'openai' needs an address.", hint="specaudit run --endpoint URL")
    tokenizer = None if arm.tokenizer is None else load_tokenizer(Path(arm.tokenizer))
    manner = Manner(model=arm.model, api=arm.api, stream=arm.stream)
    return OpenAIEngine(arm.endpoint, manner=manner, access=access, tokenizer=tokenizer)


class OpenAIEngine:
    """One server, asked in one manner, which probing settles."""

    def __init__(self, endpoint: str, *, manner: Manner, access: Access, tokenizer: Tokenizer | None = None) -> None:
        self._client = HttpClient(endpoint, access)
        self._manner = manner
        self._tokenizer = tokenizer
        self._pace = access.pace

    def law(self) -> RevealedLaw | None:
        """A server's law is never revealed whole."""
        return None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def complete(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            EngineFailure: there is no usable answer.
        """
        return await call(self._client, self._manner, request, tokenizer=self._tokenizer)

    def retokenize(self) -> None:
        """From now on, answer with the tokenizer's tokens in place of the server's own."""
        self._manner = replace(self._manner, retokenizes=True)

    async def probe(self) -> Probe:
        """Find out by behaviour what the server reveals, and how it has to be asked.

        Raises:
            CouldNotTest: it cannot be reached, refuses the key, does not serve the model, or speaks no JSON.
        """
        asker = Asker(self._client, self._manner, self._tokenizer, self._pace)
        probe = await Prober(asker, self._tokenizer).probe()
        self._manner = asker.manner
        return probe
