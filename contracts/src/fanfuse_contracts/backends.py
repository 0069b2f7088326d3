"""The engines an operator configures: section `backends` of `fanfuse.yaml`.

In: engines by kind and name, and how to reach their servers. Out: validated settings and the wirings made of them.
Secrets are masked by their type, and no message repeats a value.
"""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, SecretStr, model_validator

from fanfuse_contracts.base import MAX_WEIGHT, Weight, Written
from fanfuse_contracts.corpus import Wiring
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.faults import Fault, refuse
from fanfuse_contracts.filters import Op
from fanfuse_contracts.quorum import Requirement
from fanfuse_contracts.tokens import Token

DEFAULT_BACKEND: Final = "main"
"""The backend of each kind that exists without being configured: the embedded engine."""


class Engine(StrEnum):
    """What a backend is."""

    EMBEDDED = "embedded"
    """In the worker's process, with its index in the data directory."""
    QDRANT = "qdrant"
    ELASTICSEARCH = "elasticsearch"
    OPENSEARCH = "opensearch"
    NEO4J = "neo4j"


SERVERS: Final = {
    Kind.VECTOR: (Engine.QDRANT,),
    Kind.KEYWORD: (Engine.ELASTICSEARCH, Engine.OPENSEARCH),
    Kind.GRAPH: (Engine.NEO4J,),
}
"""The servers of each kind."""
_HTTP: Final = ("http", "https")
_SCHEMES: Final = {
    Engine.QDRANT: _HTTP,
    Engine.ELASTICSEARCH: _HTTP,
    Engine.OPENSEARCH: _HTTP,
    Engine.NEO4J: ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"),
}
_KEYED: Final = (Engine.QDRANT, Engine.ELASTICSEARCH)
"""Servers that take an API key."""
_OF_SERVERS: Final = ("url", "username", "password", "api_key", "ca_file", "namespace", "database", "connections")


class BackendConfig(Written):
    """One backend of the section `backends.<kind>.<name>`."""

    model_config = ConfigDict(hide_input_in_errors=True)

    pool: Token | None = None
    """Pool of workers that serves it. None: a pool of the backend's name."""
    weight: Weight = 1.0
    """Factor on the weight of every lane of this backend."""
    operators: frozenset[Op] = frozenset(Op)
    """Filter operators it applies exactly."""
    engine: Engine = Engine.EMBEDDED
    """`embedded`, in the worker's process, or a server (vector: `qdrant`; keyword: `elasticsearch` or `opensearch`;
    graph: `neo4j`)."""
    url: Annotated[str, Field(min_length=1, max_length=2_048)] | None = None
    """Address of the server, such as `https://search.example.org:9200` or `neo4j+s://graph.example.org`, without
    credentials."""
    username: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    """Who logs in; at Qdrant, at a proxy before it."""
    password: Annotated[SecretStr, Field(min_length=1)] | None = None
    """Of that user; best stated by its variable."""
    api_key: Annotated[SecretStr, Field(min_length=1)] | None = None
    """In place of a user, at Qdrant and Elasticsearch; best stated by its variable."""
    ca_file: Path | None = None
    """PEM file of the authority that signed the server's certificate; relative to the file. None: the system's."""
    namespace: Token = "fanfuse"
    """What every index, collection or label of this installation begins with; installations that share a server differ
    in it."""
    database: Token = "neo4j"
    """Database at Neo4j."""
    connections: Annotated[int, Field(ge=1, le=1_024)] = 16
    """Most sockets of one process to the server; waiting for one counts against the lane's time."""

    @model_validator(mode="after")
    def _fits_its_engine(self) -> Self:
        refuse(self._faults())
        return self

    @property
    def is_server(self) -> bool:
        """False for the embedded engine."""
        return self.engine is not Engine.EMBEDDED

    def _faults(self) -> Iterator[Fault]:
        if not self.is_server:
            for name in _OF_SERVERS:
                if getattr(self, name) != BackendConfig.model_fields[name].default:
                    yield (name,), "belongs to an engine server: state its `engine` too, or leave this out"
            return
        yield from self._address_faults()
        yield from self._trust_faults()
        yield from self._login_faults()
        if self.database != BackendConfig.model_fields["database"].default and self.engine is not Engine.NEO4J:
            yield ("database",), f"is Neo4j's: {self.engine.value} has none"

    def _address_faults(self) -> Iterator[Fault]:
        if self.url is None:
            yield ("url",), f"is missing: engine {self.engine.value} is a server"
            return
        schemes = _SCHEMES[self.engine]
        wanted = " or ".join(f"{scheme}://host:port" for scheme in schemes[:2])
        try:
            parts = urlsplit(self.url)
            # A port that is no number raises when it is asked for.
            sound = parts.scheme in schemes and parts.hostname and parts.port != 0 and not parts.fragment
        except ValueError:
            sound = False
        if not sound:
            yield ("url",), f"is no address of {self.engine.value}: write {wanted}"
        elif "@" in parts.netloc or parts.query:
            yield (
                ("url",),
                f"holds credentials or parameters: write only {wanted}, and state username, password or api_key",
            )

    def _trust_faults(self) -> Iterator[Fault]:
        scheme = urlsplit(self.url or "").scheme
        if self.ca_file is None or scheme not in _SCHEMES[self.engine]:
            return
        if self.engine is Engine.NEO4J and "+" in scheme:
            plain = scheme.partition("+")[0]
            yield ("ca_file",), f"goes with {plain}://, which it encrypts: {scheme}:// says itself whom to trust"
        elif scheme == "http":
            yield ("ca_file",), "has no effect on http://: use https://"

    def _login_faults(self) -> Iterator[Fault]:
        if (self.username is None) != (self.password is None):
            yield ("username",), "username and password belong together: state both or none"
        if self.api_key is not None and self.engine not in _KEYED:
            yield ("api_key",), f"{self.engine.value} takes none: state username and password"
        if self.api_key is not None and self.username is not None:
            yield ("api_key",), "stands beside a username: state one way to log in"


class BackendsConfig(Written):
    """Section `backends`: by kind, then by name. `main` of each kind exists without being written."""

    model_config = ConfigDict(hide_input_in_errors=True)

    vector: dict[Token, BackendConfig] = {}
    """Backends that find by likeness of meaning."""
    keyword: dict[Token, BackendConfig] = {}
    """Backends that find by words."""
    graph: dict[Token, BackendConfig] = {}
    """Backends that find by links between entities."""

    @model_validator(mode="after")
    def _engines_fit_their_kind(self) -> Self:
        refuse(self._faults())
        return self

    def known(self, kind: Kind) -> dict[str, BackendConfig]:
        """The backends of a kind by name, the embedded one included."""
        return {DEFAULT_BACKEND: BackendConfig()} | self.stated(kind)

    def servers(self) -> Iterator[tuple[Kind, str, BackendConfig]]:
        """Every backend that is a server."""
        return ((kind, name, stated) for kind in Kind for name, stated in self.stated(kind).items() if stated.is_server)

    def wiring(self, kind: Kind, name: str, weight: float = 1.0, requirement: Requirement | None = None) -> Wiring:
        """A corpus's wiring to a known backend; `weight`: the corpus's own factor."""
        backend = self.known(kind)[name]
        return Wiring(
            kind=kind,
            backend=name,
            pool=backend.pool or name,
            weight=min(backend.weight * weight, MAX_WEIGHT),
            operators=backend.operators,
            # One worker merges several corpora by the cosine, exactly; scores of the other kinds don't compare.
            shared=kind is Kind.VECTOR,
            requirement=requirement,
        )

    def stated(self, kind: Kind) -> dict[str, BackendConfig]:
        """The backends of a kind that are written, by name."""
        return {Kind.VECTOR: self.vector, Kind.KEYWORD: self.keyword, Kind.GRAPH: self.graph}[kind]

    def _faults(self) -> Iterator[Fault]:
        for kind, name, stated in self.servers():
            if stated.engine not in SERVERS[kind]:
                words = ", ".join([Engine.EMBEDDED.value, *SERVERS[kind]])
                yield (
                    (kind.value, name, "engine"),
                    f"{stated.engine.value} is no {kind.value} engine: choose from {words}",
                )
