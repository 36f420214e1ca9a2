"""Any server with an OpenAI-compatible `/v1/completions` or `/v1/chat/completions`, whichever engine it is."""

from specaudit.engines.adapter import Adapter
from specaudit.engines.interface import Access
from specaudit.engines.openai_form import OpenAIForm
from specaudit.engines.server import ServerEngine
from specaudit.engines.server import build as build_server
from specaudit.model.plan import Arm

ADAPTER = Adapter(name="openai", form=lambda api: OpenAIForm())


def build(arm: Arm, access: Access) -> ServerEngine:
    """Return the engine of an arm that has an endpoint; for errors see `specaudit.engines.server.build`."""
    return build_server(arm, access, ADAPTER)
