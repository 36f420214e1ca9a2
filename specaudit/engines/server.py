"""An engine behind an address: one server, asked in one manner, which probing settles."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from specaudit.engines.adapter import Adapter, Recognised, settled
from specaudit.engines.asking import Asker
from specaudit.engines.call import call
from specaudit.engines.form import Form
from specaudit.engines.http import HttpClient
from specaudit.engines.interface import Access, Probe
from specaudit.engines.manner import Manner
from specaudit.engines.probing import Prober
from specaudit.engines.recognise import recognise
from specaudit.model.completion import Response
from specaudit.model.errors import UsageError
from specaudit.model.law import RevealedLaw
from specaudit.model.plan import Api, Arm
from specaudit.model.request import Request
from specaudit.prompts.tokenizers import Tokenizer, load_tokenizer

Recogniser = Callable[[HttpClient, Mapping[str, Any], Api], Awaitable[Recognised]]
"""Says which engine a server is, from the server and its list of models."""


def build(arm: Arm, access: Access, adapter: Adapter | None = None) -> "ServerEngine":
    """Return the engine of an arm that has an endpoint.

    Args:
        arm: the arm.
        access: how to reach it.
        adapter: of the engine that it is; None finds out which it is.

    Raises:
        UsageError: it has no endpoint, or its tokenizer cannot be read.
        CouldNotTest: it is not an http(s) address.
    """
    if arm.endpoint is None:
        raise UsageError(
            f"The engine {arm.engine!r} needs an address.", hint=f"specaudit run --engine {arm.engine} --endpoint URL"
        )
    tokenizer = None if arm.tokenizer is None else load_tokenizer(Path(arm.tokenizer))
    manner = Manner(model=arm.model, api=arm.api, stream=arm.stream)
    if adapter is None:
        return ServerEngine(arm.endpoint, manner=manner, access=access, tokenizer=tokenizer, recogniser=recognise)

    async def known(client: HttpClient, listing: Mapping[str, Any], api: Api) -> Recognised:
        return await settled(adapter, client, api)

    manner = replace(manner, form=adapter.form(arm.api))
    return ServerEngine(arm.endpoint, manner=manner, access=access, tokenizer=tokenizer, recogniser=known)


class ServerEngine:
    """One server.

    Args:
        endpoint: its address, with the `/v1` that OpenAI's interface stands below.
        manner: how to ask it, as far as that is known.
        access: how to reach it.
        tokenizer: divides text into tokens where the server tells none.
        recogniser: says which engine it is, when it is probed; None leaves the manner's form.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        manner: Manner,
        access: Access,
        tokenizer: Tokenizer | None = None,
        recogniser: Recogniser | None = None,
    ) -> None:
        self._client = HttpClient(endpoint, access)
        self._manner = manner
        self._tokenizer = tokenizer
        self._pacer = access.pacer
        self.asker = Asker(self._client, manner, tokenizer, access.pacer)
        """Asks as probing does, with a note of every exchange; in the manner that probing has settled."""
        self._recogniser = recogniser

    @property
    def form(self) -> Form:
        """How the engine is written to and read."""
        return self._manner.form

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
        self.asker = Asker(self._client, self._manner, self._tokenizer, self._pacer)
        probe = await Prober(self.asker, self._tokenizer, self._recognised).probe()
        self._manner = self.asker.manner
        return probe

    async def _recognised(self, listing: Mapping[str, Any]) -> Recognised:
        if self._recogniser is None:
            return Recognised(form=self._manner.form)
        return await self._recogniser(self._client, listing, self._manner.api)
