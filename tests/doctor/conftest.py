from collections.abc import Iterator

import pytest

from tests.engines.serving import OddServers, running


@pytest.fixture(scope="session")
def odd() -> Iterator[OddServers]:
    """Makes servers of odd behaviour, all behind one socket."""
    servers = OddServers()
    with running(servers.app) as address:
        servers.address = address
        yield servers
