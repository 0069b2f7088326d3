"""The clients of this process's engine servers: one for each configured backend, however many corpora it holds.

In: section `backends` of the operators' file. Out: clients, made when first asked for and closed together. A backend
that is not configured as a server has none: it is the embedded engine.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import ServerBackend
from fanfuse_contracts.backends import BackendConfig, BackendsConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.configfile import ConfigError
from fanfuse_runtime.logs import get_logger

Connect = Callable[[str, BackendConfig], ServerBackend]
"""Makes a client from a backend's key in the file and its settings; raises `ConfigError`."""

_log = get_logger("backend-workers.connections")


class BackendKey(NamedTuple):
    """One backend of the file."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind.value}/{self.name}"


class Server(NamedTuple):
    """A configured server and its client."""

    key: BackendKey
    config: BackendConfig
    client: ServerBackend


class Connections:
    """Clients by backend. One event loop."""

    def __init__(self, backends: BackendsConfig, connect: Connect) -> None:
        self._connect = connect
        self._stated = {BackendKey(kind, name): config for kind, name, config in backends.servers()}
        self._clients: dict[BackendKey, ServerBackend] = {}

    def is_server(self, kind: Kind, name: str) -> bool:
        """False for an embedded engine."""
        return BackendKey(kind, name) in self._stated

    def of(self, kind: Kind, name: str) -> Server | None:
        """The server of a backend; None for an embedded engine. Raises `ConfigError` where it has no client here."""
        key = BackendKey(kind, name)
        config = self._stated.get(key)
        if config is None:
            return None
        if key not in self._clients:
            self._clients[key] = self._connect(f"backends.{kind.value}.{name}", config)
        return Server(key, config, self._clients[key])

    def all(self) -> tuple[Server, ...]:
        """Every server of the file; raises `ConfigError`."""
        return tuple(server for key in self._stated if (server := self.of(*key)))

    def of_pools(self, pools: Collection[Pool]) -> tuple[Server, ...]:
        """The servers of these pools, as the file says; raises `ConfigError`, so that a worker that lacks one does not
        start."""
        served = (key for key, config in self._stated.items() if _pool(key, config) in pools)
        return tuple(server for key in served if (server := self.of(*key)))

    def names_of(self, pool: Pool) -> tuple[str, ...]:
        """Names of the servers of a pool, as the file says; no client is made."""
        return tuple(sorted(key.name for key, config in self._stated.items() if _pool(key, config) == pool))

    def of_card(self, card: CorpusCard) -> tuple[Server, ...]:
        """The servers a corpus is wired with, in the card's order; raises `ConfigError`."""
        return tuple(server for wiring in card.backends if (server := self.of(wiring.kind, wiring.backend)))

    def usable(self, card: CorpusCard) -> Iterator[Server]:
        """Those of them that have a client here, or whose library is installed."""
        for wiring in card.backends:
            try:
                server = self.of(wiring.kind, wiring.backend)
            except ConfigError as error:
                _log.debug("server.not_usable", backend=wiring.backend, error=str(error))
                continue
            if server is not None:
                yield server

    async def close(self) -> None:
        """Close every client; one that fails does not keep the others open."""
        clients, self._clients = dict(self._clients), {}
        ended = await asyncio.gather(*(client.close() for client in clients.values()), return_exceptions=True)
        for key, problem in zip(clients, ended, strict=True):
            if isinstance(problem, Exception):
                _log.warning("server.not_closed", backend=str(key), error=type(problem).__name__)


def _pool(key: BackendKey, config: BackendConfig) -> Pool:
    return Pool(key.kind, config.pool or key.name)


async def unhealthy(server: Server, within_s: float) -> str | None:
    """Why a server can't be used now, in words; None if it can."""
    try:
        async with asyncio.timeout(within_s):
            await server.client.health()
    except TimeoutError:
        return f"no answer within {within_s:.0f} s"
    except SearchError as error:
        return f"{error.kind.value}: {error.message}"
    return None
