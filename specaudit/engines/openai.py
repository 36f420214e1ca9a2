"""Any server with an OpenAI-compatible `/v1/completions`, over HTTP.

Fields beyond OpenAI's own (`top_k`, `min_p`, `repetition_penalty`, `ignore_eos`, `return_token_ids`,
`return_tokens_as_token_ids`) are vLLM's; SGLang, llama.cpp and most gateways take or ignore them. Those that a
server answers with an error are not sent to it, and are part of its Capabilities.
"""

from specaudit.engines.http import HttpClient
from specaudit.engines.interface import Access, Probe
from specaudit.engines.openai_call import Manner, call
from specaudit.engines.openai_probe import Prober
from specaudit.model.completion import Response
from specaudit.model.errors import UsageError
from specaudit.model.law import RevealedLaw
from specaudit.model.plan import Arm
from specaudit.model.request import Request


def build(arm: Arm, access: Access) -> "OpenAIEngine":
    """Return the engine of an arm that has an endpoint.

    Raises:
        UsageError: it has none.
        CouldNotTest: it is not an http(s) address.
    """
    if arm.endpoint is None:
        raise UsageError("The engine 'openai' needs an address.", hint="specaudit run --endpoint URL")
    return OpenAIEngine(arm.endpoint, model=arm.model, access=access)


class OpenAIEngine:
    """One server, asked through `/v1/completions`."""

    def __init__(self, endpoint: str, *, model: str | None, access: Access) -> None:
        self._client = HttpClient(endpoint, access)
        self._manner = Manner(model=model)

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
        return await call(self._client, self._manner, request)

    async def probe(self) -> Probe:
        """Find out by behaviour what the server reveals, and how it has to be asked.

        Raises:
            CouldNotTest: it cannot be reached, refuses the key, does not serve the model, or speaks no JSON.
        """
        prober = Prober(self._client, self._manner)
        probe = await prober.probe()
        self._manner = prober.manner
        return probe
