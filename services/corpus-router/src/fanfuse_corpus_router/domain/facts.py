"""What is known of backends at the moment of planning.

In: snapshots taken by the caller. Out: frozen sets the plan is computed from. Nothing here looks anything up.
"""

from dataclasses import dataclass
from typing import NamedTuple

from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import FallbackReason, Kind

Pool = tuple[Kind, str]


class Fault(NamedTuple):
    """Why a lane is left out for health."""

    fallback: FallbackReason
    reason: str


@dataclass(frozen=True, slots=True)
class BackendFacts:
    """What lanes are left out for."""

    unhealthy: frozenset[tuple[Kind, str]] = frozenset()
    """(kind, backend) that are degraded or half-open."""
    absent: frozenset[Pool] = frozenset()
    """Pools without a heartbeat."""
    cold: frozenset[tuple[str, str, Kind, str]] = frozenset()
    """(tenant, corpus, kind, backend) that no worker has opened yet."""
    pressed: frozenset[Pool] = frozenset()
    """Pools with a command that has used up more than half of its budget."""

    def fault(self, card: CorpusCard, wiring: Wiring) -> Fault | None:
        """Why this corpus cannot be searched on this backend now, or None."""
        if not (self.unhealthy or self.absent or self.cold):
            return None
        if (wiring.kind, wiring.backend) in self.unhealthy:
            return Fault(FallbackReason.DEGRADED, "the backend is degraded")
        if (wiring.kind, wiring.pool) in self.absent:
            return Fault(FallbackReason.NO_WORKER, f"no worker serves pool {wiring.pool}")
        if (card.tenant, card.corpus, wiring.kind, wiring.backend) in self.cold:
            return Fault(FallbackReason.NO_WORKER, f"cold: the workers of pool {wiring.pool} are still opening it")
        return None

    def pressure(self, wiring: Wiring) -> Fault | None:
        """Why a lane that may be missing had better not be searched now, or None."""
        if (wiring.kind, wiring.pool) not in self.pressed:
            return None
        reason = f"pressure: a command of pool {wiring.pool} has used up more than half of its budget"
        return Fault(FallbackReason.DEGRADED, reason)
