"""Three nats-servers with the configuration of the overlay `prod`: users, TLS, routes, and the reloader beside each.

In: a folder with users.conf and a folder with the Secret `nats-tls`. Out: their addresses, logs and state. Only paths,
addresses and ports are those of this machine.
"""

import os
import shutil
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from fanfuse_runtime.server import find_nats_server
from fanfuse_testing.ports import free_port
from tests.deploy.rendered import K8S

NAMES: Final = ("nats-0", "nats-1", "nats-2")
_LOOKS_EVERY_S: Final = "0.5"


@dataclass
class Shipped:
    """One of them. `folder` holds its configuration, data and log."""

    name: str
    folder: Path
    tls: Path
    client: int = field(default_factory=free_port)
    monitor: int = field(default_factory=free_port)
    route: int = field(default_factory=free_port)
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def conf(self) -> Path:
        return self.folder / "etc/nats.conf"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def write(self, users: Path, routes: dict[str, int]) -> None:
        """Its files, as the pod has them."""
        self.conf.parent.mkdir(parents=True)
        own = {"0.0.0.0:4222": self.client, "0.0.0.0:8222": self.monitor, "0.0.0.0:6222": self.route}
        own |= {f"{name}.nats-headless:6222": port for name, port in routes.items()}
        for file in ("base/nats/nats.conf", "components/cluster/cluster.conf",
                     "components/tls/tls.conf", "components/tls/routes-tls.conf"):  # fmt: skip
            text = (K8S / file).read_text(encoding="utf-8")
            for address, port in own.items():
                text = text.replace(address, f"127.0.0.1:{port}")
            for path, here in (("/etc/nats-tls", self.tls), ("/var/run/nats", self.folder), ('"/data"', None)):
                text = text.replace(path, f'"{self.folder}/data"' if here is None else str(here))
            (self.conf.parent / Path(file).name).write_text(text)
        shutil.copy(users, self.conf.parent)

    def start(self) -> None:
        """The server and its reloader; what it stored is there again."""
        with (self.folder / "log").open("ab") as log:
            command = [str(find_nats_server()), "--config", str(self.conf)]
            environment = {**os.environ, "POD_NAME": self.name}
            self._processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        script = ["sh", str(K8S / "base/nats/reload.sh"), str(self.folder / "nats.pid")]
        watching = {**os.environ, "EVERY_S": _LOOKS_EVERY_S}
        folders = [str(self.conf.parent), str(self.tls)]
        self._processes.append(subprocess.Popen([*script, *folders], env=watching, stdout=subprocess.DEVNULL))

    def kill(self) -> None:
        """End both at once."""
        while self._processes:
            process = self._processes.pop()
            process.kill()
            process.wait()

    def lose_volume(self) -> None:
        """Its server ends, and nothing of what it stored is left."""
        self.kill()
        shutil.rmtree(self.folder / "data")

    def tells(self, path: str) -> str:
        """What its monitoring port answers; empty while it does not."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.monitor}/{path}", timeout=5) as reply:
                return str(reply.read().decode())
        except (urllib.error.URLError, OSError):
            return ""


class ShippedServers:
    """All three, for a block."""

    def __init__(self, folder: Path, users: Path, tls: Path) -> None:
        self.each = [Shipped(name, folder / name, tls) for name in NAMES]
        for one in self.each:
            one.write(users, {other.name: other.route for other in self.each})

    @property
    def url(self) -> str:
        return ",".join(f"nats://127.0.0.1:{one.client}" for one in self.each)

    def are_ready(self) -> bool:
        """As the readiness probe asks: every stream has caught up."""
        return all(one.tells("healthz?js-server-only=true") == '{"status":"ok"}' for one in self.each)

    def __enter__(self) -> Self:
        for one in self.each:
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in self.each:
            one.kill()
