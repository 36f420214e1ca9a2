"""Whatever engine answers at an address: recognised when it is probed, else asked as any OpenAI-compatible server."""

from specaudit.engines.interface import Access
from specaudit.engines.server import ServerEngine
from specaudit.engines.server import build as build_server
from specaudit.model.plan import Arm


def build(arm: Arm, access: Access) -> ServerEngine:
    """Return the engine of an arm that has an endpoint; for errors see `specaudit.engines.server.build`."""
    return build_server(arm, access)
