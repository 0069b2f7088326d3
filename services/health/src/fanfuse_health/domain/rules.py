"""The numbers health decides by, as one value: every decision takes it as an argument."""

from dataclasses import dataclass

from fanfuse_contracts import limits


@dataclass(frozen=True, slots=True)
class Rules:
    """Thresholds and durations; seconds. Every replica must run with the same."""

    window_s: float = limits.HEALTH_WINDOW_S
    min_failures: int = limits.HEALTH_MIN_FAILURES
    min_share: float = limits.HEALTH_MIN_SHARE
    """Failures must also be this share of the window's outcomes; 0 gives the plain rule."""
    run_failures: int = 6
    """So many failures in a row degrade whatever the share: an engine that hangs fails a few calls at a time only, and
    after a minute of good ones it would take long to be a fifth of them. 0: no such rule."""
    degraded_for_s: float = limits.DEGRADED_FOR_S
    """First period of degradation, and after every quiet time."""
    flap_within_s: float = 300.0
    """Degraded again so soon after a recovery: the backend flaps, and its period doubles."""
    longest_period_s: float = 120.0
    """Bound of the doubling: a flapping backend still gets its chance every two minutes."""
    asked_every_s: float = 2.0
    """A backend is probed at somebody's wish at most this often."""
    lease_s: float = 10.0
    """How long half-open belongs to one prober; after that another replica may probe."""
