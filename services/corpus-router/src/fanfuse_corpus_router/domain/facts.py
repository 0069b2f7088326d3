"""What is known of backends at the moment of planning.

In: snapshots taken by the caller. Out: frozen sets the plan is computed from. Nothing here looks anything up.
"""

from dataclasses import dataclass

from fanfuse_contracts.corpus import Wiring
from fanfuse_contracts.enums import FallbackReason, Kind


@dataclass(frozen=True, slots=True)
class BackendFacts:
    """`unhealthy`: (kind, backend) that are degraded or half-open; `absent`: (kind, pool) without a heartbeat."""

    unhealthy: frozenset[tuple[Kind, str]] = frozenset()
    absent: frozenset[tuple[Kind, str]] = frozenset()

    def fault(self, wiring: Wiring) -> FallbackReason | None:
        """Why this wiring cannot be asked now, or None."""
        if (wiring.kind, wiring.backend) in self.unhealthy:
            return FallbackReason.DEGRADED
        if (wiring.kind, wiring.pool) in self.absent:
            return FallbackReason.NO_WORKER
        return None
