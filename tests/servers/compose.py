"""Real engine servers in containers: what deploy/compose/engines.yaml describes, run by Docker or Podman.

In: a container engine that runs here. Out: the variables that point at the servers, once each answers its adapter.
Containers, networks and data are removed at the end; images stay.
"""

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from pydantic import SecretStr

from fanfuse_backend_workers.adapters import elasticsearch, neo4j, opensearch, qdrant
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import ServerBackend, ServerSettings
from tests.servers.neo4j import PASSWORD

FILE: Final = Path(__file__).parents[2] / "deploy" / "compose" / "engines.yaml"
_READY_WITHIN_S: Final = 180.0
_COMPOSE: Final = (("docker", "compose"), ("docker-compose",), ("podman", "compose"))


class Engine(NamedTuple):
    """One server of the file: its service, the port inside, and what points at it from outside."""

    service: str
    port: int
    url: str
    variable: str
    connect: Callable[[ServerSettings], ServerBackend]
    login: Mapping[str, str] = MappingProxyType({})

    def settings(self, address: str) -> ServerSettings:
        """How the adapter reaches it."""
        password = self.login.get("NEO4J_PASSWORD")
        return ServerSettings(
            url=self.url.format(address),
            username=self.login.get("NEO4J_USERNAME"),
            password=None if password is None else SecretStr(password),
        )


ENGINES: Final = (
    Engine("qdrant", 6333, "http://{}", "QDRANT_URL", qdrant.connect),
    Engine("elasticsearch", 9200, "http://{}", "ELASTICSEARCH_URL", elasticsearch.connect),
    Engine("opensearch", 9200, "http://{}", "OPENSEARCH_URL", opensearch.connect),
    Engine(
        *("neo4j", 7687, "bolt://{}", "NEO4J_URI", neo4j.connect),
        {"NEO4J_USERNAME": "neo4j", "NEO4J_PASSWORD": PASSWORD},
    ),
)


def container_engine() -> tuple[str, ...] | None:
    """The command that runs compose files here; None where no container engine runs."""
    for command in _COMPOSE:
        if _succeeds(command[0], "info") and _succeeds(*command, "version"):
            return command
    return None


@contextmanager
def containers(compose: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """The servers of the file, running; gives the variables that point at them."""
    command = (*compose, "--project-name", f"fanfuse-engines-{os.getpid()}", "--file", str(FILE))
    try:
        subprocess.run((*command, "up", "--detach", "--quiet-pull"), check=True, stdout=subprocess.DEVNULL)
        variables: dict[str, str] = {}
        for engine in ENGINES:
            settings = engine.settings(_address(command, engine))
            asyncio.run(_ready(engine, settings))
            variables |= {engine.variable: settings.url, **engine.login}
        yield variables
    finally:
        subprocess.run((*command, "down", "--volumes", "--timeout", "5"), check=False, stdout=subprocess.DEVNULL)


def _succeeds(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _address(command: tuple[str, ...], engine: Engine) -> str:
    said = subprocess.run(
        (*command, "port", engine.service, str(engine.port)), check=True, capture_output=True, text=True
    )
    return said.stdout.strip()


async def _ready(engine: Engine, settings: ServerSettings) -> None:
    backend = engine.connect(settings)
    deadline = time.monotonic() + _READY_WITHIN_S
    try:
        while True:
            try:
                return await backend.health()
            except SearchError as error:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{engine.service} did not start: {error.message}") from error
                await asyncio.sleep(0.5)
    finally:
        await backend.close()
