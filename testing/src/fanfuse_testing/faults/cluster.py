"""Three (or more) nats-servers as one cluster, of which one may be away at a time.

In: a folder. Out: one address for clients, one monitoring port per server. Nothing outlives the block.
"""

import os
import signal
from pathlib import Path
from typing import Self

from fanfuse_runtime.server import NatsServer
from fanfuse_testing.ports import free_port


class NatsCluster:
    """A broker of several servers: `kill` ends one of them, each in turn, and `start` brings it back."""

    def __init__(self, folder: Path, size: int = 3, accounts: str = "") -> None:
        """`accounts`: more of each server's configuration, such as its users."""
        names = [f"nats-{number}" for number in range(size)]
        routes = {name: free_port() for name in names}
        self.monitoring = {name: free_port() for name in names}
        """Port of each server's monitoring."""
        self.servers = {
            name: NatsServer(folder / name, config=self._config(folder, name, routes, accounts)) for name in names
        }
        self._turn = list(names)

    def _config(self, folder: Path, name: str, routes: dict[str, int], accounts: str) -> Path:
        others = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes.values())
        config = folder / f"{name}.conf"
        config.write_text(
            f'server_name: {name}\nhttp: "127.0.0.1:{self.monitoring[name]}"\n'
            f'cluster {{name: fanfuse, listen: "127.0.0.1:{routes[name]}", routes: [{others}]}}\n'
            f"{accounts}"
        )
        return config

    @property
    def url(self) -> str:
        """Every server's address, parted by commas."""
        return ",".join(server.url for server in self.servers.values())

    @property
    def pid(self) -> int:
        """Of the first server."""
        return next(iter(self.servers.values())).pid

    @property
    def is_alive(self) -> bool:
        """True while all of them run."""
        return all(server.is_alive for server in self.servers.values())

    def kill(self) -> None:
        """End the next one at once, as a crash would."""
        self._turn.append(self._turn.pop(0))
        self.servers[self._turn[-1]].kill()

    def leave(self, name: str) -> int:
        """Ask one to leave as the pod's preStop does (lame duck): it hands its leaders and clients to the others.

        Returns its process id; it ends by itself when the time for that is over.
        """
        pid = self.servers[name].pid
        os.kill(pid, signal.SIGUSR2)
        return pid

    def start(self) -> Self:
        """Start each that does not run, on its own port and data."""
        for server in self.servers.values():
            if not server.is_alive:
                server.start()
        return self

    def stop(self) -> None:
        """End all of them."""
        for server in self.servers.values():
            server.stop()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_exc: object) -> None:
        self.stop()
