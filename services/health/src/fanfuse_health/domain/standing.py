"""Where a backend stands, and how a newer record replaces an older one.

In: records as stored, and monotonic seconds of this process. Out: standings. An older version never wins, and no
decision reads the record's wall-clock time.
"""

import math
from dataclasses import dataclass, replace

from fanfuse_contracts.enums import BackendHealth, Kind
from fanfuse_contracts.health import BackendState


@dataclass(frozen=True, slots=True)
class Standing:
    """One backend as this replica knows it."""

    kind: Kind
    backend: str
    record: BackendState | None = None
    """None: it never had a transition, or its record was deleted; either way healthy."""
    revision: int = 0
    """Revision of the stored record: what a compare-and-set must name."""
    version: int = 0
    """Highest version ever seen, also after the record was deleted."""
    entered_s: float = -math.inf
    """When the record's state began, in monotonic seconds of this process."""

    @property
    def health(self) -> BackendHealth:
        """Its state."""
        return self.record.state if self.record is not None else BackendHealth.HEALTHY

    @property
    def manual(self) -> bool:
        """True if an operator set the state: outcomes leave it alone, and so do probes until its time is over."""
        return self.record is not None and self.record.manual


@dataclass(frozen=True, slots=True)
class Stored:
    """A record as it was read: its revision, and its age in seconds of broker time."""

    record: BackendState | None
    revision: int
    age_s: float


def adopt(standing: Standing, stored: Stored, now_s: float) -> Standing:
    """The standing after reading the store. Older revisions and versions are ignored."""
    if stored.revision <= standing.revision:
        return standing
    entered_s = now_s - max(0.0, stored.age_s)
    if stored.record is None:
        return replace(standing, record=None, revision=stored.revision, entered_s=entered_s)
    if stored.record.version < standing.version:
        return replace(standing, revision=stored.revision)
    return replace(
        standing,
        record=stored.record,
        revision=stored.revision,
        version=stored.record.version,
        entered_s=entered_s,
    )
