"""What an operator says of a backend: do not ask it, or ask it again.

In: where the backend stands, who says so and why, for how long. Out: a `Transition` like any other, to be stored with
compare-and-set. The time is a duration that health counts from the storing; when it is over the backend is probed like
any degraded one, so that a mark that outlives its reason costs nothing and one that ends too soon does no harm.
"""

from fanfuse_contracts import limits
from fanfuse_contracts.enums import BackendHealth
from fanfuse_health.domain.standing import Standing
from fanfuse_health.domain.transitions import Transition


def mark(standing: Standing, *, by: str, reason: str, for_s: float | None) -> Transition:
    """Degraded until `for_s` seconds are over; None: until somebody clears it."""
    damping_s = standing.record.damping_s if standing.record is not None else 0.0
    return _said(standing, BackendHealth.DEGRADED, by=by, reason=reason, until_s=for_s, damping_s=damping_s)


def clear(standing: Standing, *, by: str, reason: str) -> Transition:
    """Healthy from now on, whoever said otherwise; what failed before does not count any more, nor for damping."""
    return _said(standing, BackendHealth.HEALTHY, by=by, reason=reason, until_s=None, damping_s=0.0)


def _said(
    standing: Standing, state: BackendHealth, *, by: str, reason: str, until_s: float | None, damping_s: float
) -> Transition:
    record = standing.record
    return Transition(
        standing.kind,
        standing.backend,
        state,
        # A record that was deleted took its version with it; every version is at most the bucket's revision.
        version=(standing.version if record is not None else standing.revision) + 1,
        after_revision=standing.revision,
        reason=reason,
        period_s=record.period_s if record is not None else limits.DEGRADED_FOR_S,
        damping_s=damping_s,
        until_s=until_s,
        manual=state is BackendHealth.DEGRADED,
        set_by=by,
    )
