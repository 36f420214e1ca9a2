"""A metrics page behind an address."""

from specaudit.engines.http import HttpClient
from specaudit.engines.interface import Access, Page


class MetricsAddress:
    """Reads one metrics page over HTTP.

    Raises:
        CouldNotTest: the address is not one of HTTP.
    """

    def __init__(self, url: str, access: Access) -> None:
        self._client = HttpClient(url, access)

    async def scrape(self) -> Page:
        """Read the page.

        Raises:
            EngineFailure: there is no page.
        """
        return await self._client.get_page()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
