"""`make services`: real engine servers in the foreground, for `make test-engines` in another terminal.

Out: on standard output, a line to export for each variable that points at a server; on standard error, what runs and
what does not. Ctrl-C (or a termination) ends them all and removes what they wrote.
"""

import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

from tests.servers.child import ChildServer
from tests.servers.compose import ENGINES, container_engine, containers
from tests.servers.maven import MissingServerError
from tests.servers.neo4j import NEO4J_5, PASSWORD, Neo4jServer
from tests.servers.opensearch import OpenSearchServer
from tests.servers.opensearch_release import OPENSEARCH_2, OPENSEARCH_3, Release

_ENDINGS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WITHOUT_CONTAINERS: Final = "no container engine runs here; Neo4j and OpenSearch run on this machine's Java"
_ELSEWHERE: Final = "not run: {} (no package ships its server); tests use a stand-in, or the server you name"


@contextmanager
def java_servers() -> Iterator[dict[str, str]]:
    """OpenSearch and Neo4j as processes of this machine, as far as Java and Maven go; gives their variables."""
    with ExitStack() as running:
        variables: dict[str, str] = {}
        if opensearch := _opensearch(running):
            variables["OPENSEARCH_URL"] = opensearch.url
        neo4j = Neo4jServer(NEO4J_5)
        if _started(running, neo4j):
            login = {"NEO4J_USERNAME": neo4j.settings.username or "", "NEO4J_PASSWORD": PASSWORD}
            variables |= {"NEO4J_URI": neo4j.settings.url, **login}
        yield variables


def _opensearch(running: ExitStack) -> OpenSearchServer | None:
    """The newest release that this machine's Java runs."""
    releases: tuple[Release, ...] = (OPENSEARCH_3, OPENSEARCH_2)
    servers = (OpenSearchServer(release) for release in releases)
    return next((server for server in servers if _started(running, server)), None)


def _started(running: ExitStack, server: ChildServer) -> bool:
    running.callback(server.close)
    try:
        server.start()
    except MissingServerError as error:
        _tell(f"not run: {error}")
        return False
    return True


def main() -> int:
    """Run until interrupted; 1 where no server can be run here."""
    for number in _ENDINGS:
        signal.signal(number, _interrupt)
    compose = container_engine()
    if compose is None:
        _tell(_WITHOUT_CONTAINERS)
    try:
        with java_servers() if compose is None else containers(compose) as variables:
            _show(variables)
            if not variables:
                return 1
            _tell("running until Ctrl-C; export the lines above where you run `make test-engines`")
            signal.pause()
    except KeyboardInterrupt:
        _tell("ended")
    return 0


def _interrupt(*_: object) -> None:
    for number in _ENDINGS:
        signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must leave nothing behind either
    raise KeyboardInterrupt


def _show(variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        sys.stdout.write(f"export {name}={shlex.quote(value)}\n")
    sys.stdout.flush()
    for engine in ENGINES:
        if engine.variable not in variables:
            _tell(_ELSEWHERE.format(engine.variable))


def _tell(what: str) -> None:
    sys.stderr.write(f"{what}\n")


if __name__ == "__main__":
    raise SystemExit(main())
