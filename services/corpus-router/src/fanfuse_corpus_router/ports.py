"""What the router needs to know from outside: corpora, health of backends, live pools.

The runtime's views keep all three. They are read once per query; nothing is cached here.
"""

from typing import Protocol

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.pools import PoolLook


class Corpora(Protocol):
    """Capability cards."""

    @property
    def revision(self) -> int:
        """Highest revision of the registry that these cards rest on."""
        ...

    def of_tenant(self, tenant: str) -> tuple[CorpusCard, ...]:
        """Every card of the tenant; empty for an unknown one."""
        ...


class Backends(Protocol):
    """Health of backends."""

    @property
    def revision(self) -> int:
        """Highest revision of the backends' states that is known here."""
        ...

    @property
    def unhealthy(self) -> frozenset[tuple[Kind, str]]:
        """(kind, backend) that are degraded or half-open."""
        ...


class Pools(Protocol):
    """Live workers."""

    def look(self, kind: Kind, pool: str) -> PoolLook:
        """What the workers of this pool said lately, and whether there are any."""
        ...
