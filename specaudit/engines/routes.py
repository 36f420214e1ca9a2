"""The way to a server: the proxy that the environment names, and the certificates that are trusted."""

import base64
import os
import ssl
from pathlib import Path
from typing import NamedTuple
from urllib.request import getproxies, proxy_bypass

import certifi
from yarl import URL

from specaudit.engines.addresses import public_address
from specaudit.model.errors import UsageError


def trusted(ca_file: Path | None) -> ssl.SSLContext:
    """Return the certificates that are trusted: those of a file in PEM, or the usual ones.

    These are what `SSL_CERT_FILE` or `SSL_CERT_DIR` names, and Mozilla's where neither does, since a system need not
    have any.

    Raises:
        UsageError: a file cannot be read.
    """
    named, directory = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    file, hint = (ca_file, "--ca-file PATH") if ca_file else (named, "export SSL_CERT_FILE=PATH")
    if not file and not directory:
        file = certifi.where()
    try:
        return ssl.create_default_context(cafile=file or None, capath=None if ca_file else directory or None)
    except (OSError, ssl.SSLError) as error:
        why = "it holds no certificate in PEM" if isinstance(error, ssl.SSLError) else error.strerror
        raise UsageError(f"The file of certificates {file} cannot be read: {why}.", hint=hint) from error


class Proxy(NamedTuple):
    """A proxy, and what is sent to it alone."""

    url: URL
    headers: dict[str, str]


def proxy_to(url: URL) -> Proxy | None:
    """Return the proxy that HTTP_PROXY or HTTPS_PROXY names, unless NO_PROXY spares the address.

    Raises:
        UsageError: what is named is no proxy.
    """
    address = getproxies().get(url.scheme, "").strip()
    if not address or proxy_bypass(f"{url.host}:{url.port}" if url.explicit_port else str(url.host)):
        return None
    proxy = web_address(address if "://" in address else f"http://{address}")
    if proxy is None:
        raise UsageError(
            f"{url.scheme.upper()}_PROXY names no proxy that can be used: {public_address(address)}.",
            hint=f"export {url.scheme.upper()}_PROXY=http://HOST:PORT",
        )
    basic = basic_of(proxy)
    return Proxy(proxy.with_user(None), {"Authorization": f"Basic {basic}"} if basic else {})


def credentials(proxy: Proxy | None) -> tuple[str, ...]:
    """Return what is secret about a proxy: user name, password, and the two as they are sent."""
    basic = "" if proxy is None else proxy.headers.get("Authorization", "").removeprefix("Basic ")
    user, _, password = base64.b64decode(basic).decode().partition(":")
    return user, password, basic


def web_address(address: str) -> URL | None:
    """Read an http(s) address; None where it is none."""
    if address != address.strip() or not address.isprintable():
        return None
    try:
        url = URL(address)
        return url if url.scheme in ("http", "https") and url.host else None
    except ValueError:  # also a host that no IDNA makes out
        return None


def basic_of(url: URL) -> str:
    """Return user name and password of an address as Basic authorization sends them; nothing where it has none."""
    pair = f"{url.user or ''}:{url.password or ''}"
    return "" if pair == ":" else base64.b64encode(pair.encode()).decode()
