"""Where the workers of a pool connect to: what their network policy lets out. In: addresses of the operator's file."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from fanfuse_all_in_one.deploying.pools import WorkerPool
from fanfuse_contracts.config import FanfuseConfig

_PORTS: Final = {"http": 80, "https": 443, "bolt": 7687, "neo4j": 7687}


@dataclass(frozen=True, slots=True)
class Egress:
    """One port of one place. Neither namespace nor address: anywhere, for a policy knows no host names."""

    port: int
    namespace: str | None = None
    address: str | None = None

    def as_rule(self) -> dict[str, Any]:
        """As a rule of a NetworkPolicy."""
        ports = {"ports": [{"port": self.port, "protocol": "TCP"}]}
        if self.namespace is not None:
            labels = {"kubernetes.io/metadata.name": self.namespace}
            return {"to": [{"namespaceSelector": {"matchLabels": labels}}], **ports}
        if self.address is not None:
            return {"to": [{"ipBlock": {"cidr": self.address}}], **ports}
        return ports


def egress_of(pool: WorkerPool, config: FanfuseConfig) -> list[Egress]:
    """Each place once: the servers of the pool's backends, and the embedders of the corpora they hold."""
    return sorted(set(_places(pool, config)), key=str)


def _places(pool: WorkerPool, config: FanfuseConfig) -> Iterator[Egress]:
    names = {name for name, _ in pool.backends}
    for _, backend in pool.backends:
        if backend.url is not None:
            yield _place(backend.url)
    for card in config.cards():
        held = any(wiring.kind is pool.kind and wiring.backend in names for wiring in card.backends)
        if held and card.embedder is not None and card.embedder.endpoint is not None:
            yield _place(card.embedder.endpoint)


def _place(url: str) -> Egress:
    """An address of the cluster says its namespace: `<service>.<namespace>.svc…`."""
    parts = urlsplit(url)
    port = parts.port or _PORTS[parts.scheme.partition("+")[0]]
    host = parts.hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        tokens = host.split(".")
        return Egress(port, namespace=tokens[1] if tokens[2:3] == ["svc"] else None)
    return Egress(port, address=f"{address}/{address.max_prefixlen}")
