"""Where a server is, and whom it may be.

In: settings. Out: a URL with a port, as both client libraries want it, and what TLS trusts; or a typed failure that
shows no part of it.
"""

import ssl
from typing import Final
from urllib.parse import urlsplit

from fanfuse_backend_workers.adapters.lucene_failures import ServerError
from fanfuse_backend_workers.adapters.trust import trusting
from fanfuse_backend_workers.servers import ServerSettings
from fanfuse_contracts.enums import FailureKind

_PORTS: Final = {"http": 80, "https": 443}


def server_url(settings: ServerSettings) -> str:
    """The URL with its port; raises `ServerError(CONFIG)`."""
    try:
        parts = urlsplit(settings.url)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError as error:
        raise _refused("it cannot be read") from error
    if parts.scheme not in _PORTS or not host:
        raise _refused("it must be http:// or https:// and a host")
    if parts.username or parts.password:
        raise _refused("user and password have settings of their own")
    if settings.ca_file is not None and parts.scheme != "https":
        raise _refused("a ca_file needs https://")
    named = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{named}:{port}{parts.path.rstrip('/')}"


def trust(settings: ServerSettings) -> ssl.SSLContext | None:
    """Certificates to trust; None without TLS. Raises `SearchError(CONFIG)` for a file that holds none."""
    return trusting(settings.ca_file) if urlsplit(settings.url).scheme == "https" else None


def _refused(why: str) -> ServerError:
    return ServerError(FailureKind.CONFIG, f"the backend's url does not fit: {why}")
