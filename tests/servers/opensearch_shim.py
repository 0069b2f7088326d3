"""Test only: a proxy that lets the Elasticsearch client talk to a real OpenSearch.

It adds the product header the client looks for and renames the content types OpenSearch does not know; every other byte
is the server's. What passes through it shows that the adapter's requests work on real Lucene, not that OpenSearch is
Elasticsearch. Nothing of it is shipped.
"""

from functools import cache
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final
from urllib.parse import urlsplit

from tests.servers.opensearch import opensearch_url
from tests.servers.opensearch_release import Release

_JSON: Final = "application/json"
_LINES: Final = "application/x-ndjson"


@cache
def shim_url(release: Release) -> str:
    """Address of a proxy in front of a shared server; skips where there is no server."""
    return f"http://127.0.0.1:{start_proxy(opensearch_url(release))}"


def start_proxy(target: str) -> int:
    """Serve on a free port for as long as this process lives; returns the port."""
    address = urlsplit(target)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            self.server_side = HTTPConnection(address.hostname or "", address.port, timeout=60)

        def finish(self) -> None:
            self.server_side.close()
            super().finish()

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            kind = _LINES if "ndjson" in self.headers.get("content-type", "") else _JSON
            self.server_side.request(self.command, self.path, body or None, {"Content-Type": kind, "Accept": _JSON})
            reply = self.server_side.getresponse()
            said = reply.read()
            self.send_response(reply.status)
            self.send_header("X-Elastic-Product", "Elasticsearch")
            self.send_header("Content-Type", "application/vnd.elasticsearch+json;compatible-with=8")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - names of the standard library

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port
