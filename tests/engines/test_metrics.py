import asyncio

import pytest
from starlette.responses import RedirectResponse, Response

from specaudit.counters.read import read_page
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.interface import Access, EngineFailure, Page, Scraper
from specaudit.engines.metrics import MetricsAddress
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.errors import CouldNotTest
from specaudit.serve.app import make_app
from tests.engines.serving import closed_address, running, text


def scrape(address, **access):
    async def use():
        metrics = MetricsAddress(address, Access(**access))
        try:
            return await metrics.scrape()
        finally:
            await metrics.close()

    return asyncio.run(use())


def test_a_page_comes_as_it_is(odd):
    reply = Response("a_total 1\n\n# EOF\n", headers={"content-type": "application/openmetrics-text; version=1.0.0"})
    page = scrape(f"{odd(models=reply).address}/metrics")
    assert page == Page(text="a_total 1\n\n# EOF\n", content_type="application/openmetrics-text; version=1.0.0")


def test_its_headers_come_along_without_cookies_and_keys(odd):
    reply = Response("a_total 1\n", headers={"Set-Cookie": "session=1", "Age": "3", "X-Echo": "my-secret-key"})
    page = scrape(f"{odd(models=reply).address}/metrics", api_key="my-secret-key")
    assert page.headers["age"] == "3"
    assert "set-cookie" not in page.headers
    assert "my-secret-key" not in str(page.headers)


def test_a_served_decoders_page_is_read():
    engine = ReferenceEngine(SpeculativeDecoder(MARKOV4, draft_tokens=2))
    with running(make_app(engine)) as base:
        page = scrape(f"{base}/metrics")
    assert page == asyncio.run(engine.scrape())
    (reading,) = read_page(page.text, page.content_type)
    assert reading.accepted_per_position == (0, 0)


def test_the_query_and_the_key_go_along(odd):
    server = odd(models=text("a 1\n"))
    scrape(f"{server.address}/metrics?format=text", api_key="a-long-secret")
    assert server.queries == ["format=text"]
    assert server.headers[0]["authorization"] == "Bearer a-long-secret"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (text("", 404), "answered 404: Not Found"),
        (text("no a-long-secret", 401), r"answered 401: no \[key\]"),
        (RedirectResponse("/metrics/"), "it redirects to '/metrics/'"),
    ],
)
def test_no_page_is_a_failure(odd, reply, said):
    with pytest.raises(EngineFailure, match=said):
        scrape(f"{odd(models=reply).address}/metrics", api_key="a-long-secret")


def test_nobody_listens():
    with pytest.raises(EngineFailure, match="Nothing answers at"):
        scrape(closed_address())


def test_no_address():
    with pytest.raises(CouldNotTest, match="'metrics' is not"):
        MetricsAddress("metrics", Access())


def test_it_is_a_scraper():
    assert isinstance(MetricsAddress("http://h/metrics", Access()), Scraper)
