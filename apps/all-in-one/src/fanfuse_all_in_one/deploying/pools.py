"""The pools of workers that a configuration needs, each with the backends it serves. In: the operator's file."""

from dataclasses import dataclass

from fanfuse_contracts.backends import DEFAULT_BACKEND, BackendConfig
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Kind


@dataclass(frozen=True, slots=True)
class WorkerPool:
    """One deployment of workers, one durable consumer."""

    kind: Kind
    name: str
    backends: tuple[tuple[str, BackendConfig], ...]
    """By name."""

    @property
    def id(self) -> tuple[Kind, str]:
        """As contracts name it."""
        return self.kind, self.name


def pools_of(config: FanfuseConfig) -> tuple[WorkerPool, ...]:
    """Every pool that a backend of the file names, by kind and name.

    The embedded backend `main` of a kind counts where the file states no backend of that kind, or a corpus names it.
    """
    found: dict[tuple[Kind, str], list[tuple[str, BackendConfig]]] = {}
    for kind in Kind:
        for name, backend in _used(config, kind).items():
            found.setdefault((kind, backend.pool or name), []).append((name, backend))
    return tuple(WorkerPool(kind, pool, tuple(sorted(found[kind, pool]))) for kind, pool in sorted(found))


def _used(config: FanfuseConfig, kind: Kind) -> dict[str, BackendConfig]:
    known, stated = config.backends.known(kind), config.backends.stated(kind).keys()
    named = {wiring.backend for card in config.cards() for wiring in card.backends if wiring.kind is kind}
    wanted = named | stated or {DEFAULT_BACKEND}
    return {name: backend for name, backend in known.items() if name in wanted}
