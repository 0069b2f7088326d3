"""A real Alertmanager on the shipped configuration, and the page that its notifications are posted to.

In: nothing. Out: alerts that it holds, and each notification as the receiver of a severity reads it. Only paths differ
from what is shipped.
"""

import json
import os
import threading
import time
import urllib.request
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Self

from fanfuse_testing.ports import free_port
from tests.servers.child import ChildServer
from tests.servers.prometheus import binary

SHIPPED: Final = Path(__file__).resolve().parents[2] / "deploy" / "alertmanager"
SEVERITIES: Final = ("page", "ticket")
_THERE: Final = "/etc/alertmanager"
_READY_WITHIN_S: Final = 30.0


def _program() -> list[str]:
    """Words that run it. Debian's reads a template below /usr/share, which an unpacked package has elsewhere."""
    program = binary("prometheus-alertmanager")
    share = program.parents[1] / "share"
    if share == Path("/usr/share") or not (share / "prometheus").is_dir():
        return [str(program)]
    own_mounts = ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    return [*own_mounts, "sh", "-c", 'mount --bind "$0" /usr/share && exec "$@"', str(share), str(program)]


class Notifications:
    """Listens on a free port; keeps what is posted, by the path of the address: the severity."""

    def __init__(self) -> None:
        self.received: dict[str, list[dict[str, Any]]] = {severity: [] for severity in SEVERITIES}
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received[self.path.strip("/")].append(json.loads(body))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"ok")

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: pytest shows what was received."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Alertmanager(ChildServer):
    """The server, told to post its notifications to this machine."""

    def __init__(self) -> None:
        super().__init__("alertmanager")
        self.address: Final = f"127.0.0.1:{free_port()}"

    def start(self) -> Self:
        """Start it and wait until it answers."""
        program = _program()
        self.notifications = Notifications()
        secrets = self.folder / "secrets" / "fanfuse-alerts"
        secrets.mkdir(parents=True)
        for severity in SEVERITIES:
            (secrets / severity).write_text(f"{self.notifications.url}/{severity}\n")
        (self.folder / "templates").symlink_to(SHIPPED / "templates")
        config = self.folder / "alertmanager.yml"
        config.write_text((SHIPPED / "alertmanager.yml").read_text(encoding="utf-8").replace(_THERE, str(self.folder)))
        command = [
            *program,
            f"--config.file={config}",
            f"--storage.path={self.folder / 'data'}",
            f"--web.listen-address={self.address}",
            "--cluster.listen-address=",
        ]
        self.run(command)
        deadline = time.monotonic() + _READY_WITHIN_S
        while not self._is_ready():
            if time.monotonic() > deadline or self.process is None or self.process.poll() is not None:
                raise RuntimeError(f"Alertmanager did not start: {self.said()}")
            time.sleep(0.1)
        return self

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def tell(self, alerts: Iterable[Mapping[str, str]]) -> None:
        """Alerts that fire now, by their labels, as a Prometheus tells them."""
        body = json.dumps([{"labels": dict(each)} for each in alerts]).encode()
        asked = urllib.request.Request(
            f"http://{self.address}/api/v2/alerts", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=10):
            """It answers with nothing."""

    def alerts(self) -> list[dict[str, Any]]:
        """What it holds."""
        with urllib.request.urlopen(f"http://{self.address}/api/v2/alerts", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found

    def close(self) -> None:
        """End it, and stop listening."""
        super().close()
        if hasattr(self, "notifications"):
            self.notifications.close()
