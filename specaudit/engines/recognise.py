"""Which engine answers at an address: by what its list of models says, or by a page that only it has."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, cast

from specaudit.engines.adapter import Adapter, Recognised, settled
from specaudit.engines.http import HttpClient
from specaudit.engines.openai_form import OpenAIForm
from specaudit.model.plan import Api

KNOWN = ("vllm", "sglang", "llamacpp", "tgi", "tensorrt_llm")
"""Modules of this package, each with an `ADAPTER`."""

LOST = (
    "no engine that is known here: asked as any OpenAI-compatible server. Not known are the order of its filters "
    "(taken to be vLLM's), parameters of its own whose defaults may decide, and what answers say of speculation"
)


def adapters() -> Iterator[Adapter]:
    """Yield the adapters of engines that can be recognised."""
    for name in KNOWN:
        yield cast(Adapter, import_module(f"specaudit.engines.{name}").ADAPTER)


async def recognise(client: HttpClient, listing: Mapping[str, Any], api: Api) -> Recognised:
    """Return the engine that a server shows itself to be.

    Args:
        client: the server.
        listing: its list of models; empty where it has none.
        api: the interface that is asked.
    """
    known = list(adapters())
    owner = next((adapter for adapter in known if adapter.sign.owns(listing)), None)
    if owner is not None:
        return await settled(owner, client, api)
    for adapter in known:
        page = await adapter.sign.look(client) if adapter.sign.marks else None
        if page is not None and adapter.sign.marks <= page.keys():
            return Recognised(form=adapter.form(api), version=adapter.sign.told(page))
    return Recognised(form=OpenAIForm(), known=False)
