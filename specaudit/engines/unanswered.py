"""What is said where a server gave no answer that can be read, and when it wants to be asked again."""

from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp
from aiohttp.http_exceptions import ContentEncodingError

from specaudit.engines.arrivals import Endless
from specaudit.model.entries import Failure


def broken_off(error: Exception, where: str) -> Failure:
    """Say why there is no answer, and whether the server may have worked on one."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return Failure(reason="connect", message=f"The certificate of {where} is not trusted.", lost=False)
        case aiohttp.ClientConnectorSSLError():
            return Failure(reason="connect", message=f"{where} does not speak TLS; is it http://?", lost=False)
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return Failure(
                reason="connect", message=f"The proxy on the way to {where} does not let through.", lost=False
            )
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
            return Failure(reason="connect", message=f"Nothing answers at {where}.", lost=False)
        case aiohttp.InvalidURL() | UnicodeError():
            return Failure(reason="connect", message=f"{where!r} is not an http(s) address.", lost=False)
        case TimeoutError():
            return Failure(reason="timeout", message=f"{where} did not finish its answer in time.", lost=True)
        case Endless():
            return garbled(f"{where} answered with more than any answer holds.")
        case _ if any(isinstance(cause, ContentEncodingError) for cause in _causes(error)):
            return garbled(f"{where} answered with something that cannot be decompressed.")
        case aiohttp.ClientResponseError():
            return garbled(f"{where} answered with something that is not HTTP.")
        case _:
            return garbled(f"{where} closed the connection before its answer was whole.")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def garbled(message: str) -> Failure:
    """What was generated, if anything, cannot be read."""
    return Failure(reason="protocol", message=message, lost=True)


def seconds(retry_after: str) -> float | None:
    """Return the seconds that a Retry-After header names, as a number or as a date; None where it names none."""
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
