"""The way to a server: the proxy that the environment names, and the certificates that are trusted."""

import base64
import ssl
from pathlib import Path
from urllib.request import getproxies, proxy_bypass

import httpx

from specaudit.engines.addresses import public_address
from specaudit.model.errors import UsageError


def trusted(ca_file: Path | None) -> ssl.SSLContext | bool:
    """Return the certificates that are trusted: the usual ones, or those of a file in PEM.

    Raises:
        UsageError: the file cannot be read.
    """
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except (OSError, ssl.SSLError) as error:
        why = "it holds no certificate in PEM" if isinstance(error, ssl.SSLError) else error.strerror
        raise UsageError(f"The file of certificates {ca_file} cannot be read: {why}.", hint="--ca-file PATH") from error


def proxy_to(url: httpx.URL) -> httpx.Proxy | None:
    """Return the proxy that HTTP_PROXY or HTTPS_PROXY names, unless NO_PROXY spares the address.

    Raises:
        UsageError: what is named is no proxy.
    """
    address = getproxies().get(url.scheme)
    if not address or proxy_bypass(f"{url.host}:{url.port}" if url.port else url.host):
        return None
    try:
        proxy = httpx.Proxy(address if "://" in address else f"http://{address}")
    except (ValueError, httpx.InvalidURL) as error:
        raise UsageError(
            f"{url.scheme.upper()}_PROXY names no proxy that can be used: {public_address(address)}.",
            hint=f"export {url.scheme.upper()}_PROXY=http://HOST:PORT",
        ) from error
    if proxy.auth is None:
        return proxy
    basic = base64.b64encode(":".join(proxy.auth).encode()).decode()
    return httpx.Proxy(proxy.url, headers={"Authorization": f"Basic {basic}"})  # aiohttp sends it to the proxy only


def credentials(proxy: httpx.Proxy | None) -> tuple[str, ...]:
    """Return what is secret about a proxy: user name, password, and the two as they are sent."""
    basic = "" if proxy is None else proxy.headers.get("authorization", "").removeprefix("Basic ")
    user, _, password = base64.b64decode(basic).decode().partition(":")
    return user, password, basic
