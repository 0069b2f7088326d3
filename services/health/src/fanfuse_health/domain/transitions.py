"""The transition rules: healthy → degraded → half-open → healthy, or degraded again.

In: where a backend stands, its window, monotonic seconds. Out: a `Transition` as data, or None. Nothing is stored here.
Every replica computes the same; the store lets one of them win.
"""

from dataclasses import dataclass

from fanfuse_contracts.enums import BackendHealth, Kind
from fanfuse_contracts.health import BackendState
from fanfuse_health.domain.rules import Rules
from fanfuse_health.domain.standing import Standing
from fanfuse_health.domain.window import Window, run, totals


@dataclass(frozen=True, slots=True)
class Transition:
    """A new state of one backend, to be stored only where `after_revision` is still the last one."""

    kind: Kind
    backend: str
    state: BackendHealth
    version: int
    after_revision: int
    reason: str
    period_s: float
    damping_s: float = 0.0
    until_s: float | None = None
    failures: int = 0
    outcomes: int = 0
    manual: bool = False
    set_by: str = ""


def judge(standing: Standing, window: Window, now_s: float, rules: Rules) -> Transition | None:
    """Degrades a healthy backend with too many failures: by number and share of its window's outcomes, or in a row."""
    if standing.manual or standing.health is not BackendHealth.HEALTHY:
        return None
    failures, outcomes = totals(window, now_s, rules.window_s)
    reason = f"{failures} of {outcomes} calls failed within {rules.window_s:g} s"
    if failures < max(1, rules.min_failures) or failures / outcomes < rules.min_share:
        in_a_row = run(window, now_s, rules.window_s)
        if not rules.run_failures or in_a_row < rules.run_failures:
            return None
        reason = f"{in_a_row} calls failed in a row; {reason}"
    damping_s = _damping(standing) if now_s - standing.entered_s < rules.flap_within_s else 0.0
    return _degraded(standing, _next_period(damping_s, rules), damping_s, reason, failures, outcomes)


def _next_period(damping_s: float, rules: Rules) -> float:
    if not damping_s:
        return rules.degraded_for_s
    return min(2 * damping_s, max(rules.longest_period_s, rules.degraded_for_s))


def probe_due(standing: Standing, now_s: float, pool_returned: bool, rules: Rules) -> bool:
    """True when a probe may start: the period is over, or an operator's mark, or a prober's lease is.

    A pool whose workers were away and are back, or were replaced, is probed at once, however long the period is: a
    worker that restarted is no longer the one that failed.
    """
    if standing.record is None:
        return False
    elapsed_s = now_s - standing.entered_s
    match standing.health:
        case BackendHealth.DEGRADED if standing.manual:
            return standing.record.until_s is not None and elapsed_s >= standing.record.until_s
        case BackendHealth.DEGRADED:
            return pool_returned or elapsed_s >= _wait_s(standing.record, rules)
        case BackendHealth.HALF_OPEN:
            return elapsed_s >= rules.lease_s
        case BackendHealth.HEALTHY:
            return False


def may_be_asked(standing: Standing, now_s: float, rules: Rules) -> bool:
    """True if somebody who asks for a probe gets one before it is due: not of a mark, not in the undamped period of a
    backend that flaps, and not so soon after the last probe that askers would load an engine that is down."""
    if standing.record is None or standing.manual or standing.health is not BackendHealth.DEGRADED:
        return False
    return now_s - standing.entered_s >= max(rules.asked_every_s, _early_s(standing.record, rules))


def _wait_s(record: BackendState, rules: Rules) -> float:
    return record.until_s if record.until_s is not None else rules.degraded_for_s


def _early_s(record: BackendState, rules: Rules) -> float:
    return 0.0 if _wait_s(record, rules) <= rules.degraded_for_s else rules.degraded_for_s


def claim(standing: Standing, prober: str, rules: Rules) -> Transition:
    """The half-open state that makes `prober` the only one to probe, for `rules.lease_s`."""
    return Transition(
        standing.kind,
        standing.backend,
        BackendHealth.HALF_OPEN,
        standing.version + 1,
        standing.revision,
        reason=f"probe by {prober}",
        period_s=_period(standing, rules),
        damping_s=_damping(standing),
    )


def settle(claimed: Standing, passed: bool, reason: str, rules: Rules, *, pool_returned: bool = False) -> Transition:
    """What a probe decides: healthy, or degraded for another period of the same length.

    `pool_returned`: it was probed because its workers were away or replaced. If it passed, they had been at fault, and
    damping goes on as if the backend had not been degraded: an engine flaps, a worker that was missed does not.
    """
    period_s = _period(claimed, rules)
    if not passed:
        return _degraded(claimed, period_s, _damping(claimed), f"probe failed: {reason}")
    return Transition(
        claimed.kind,
        claimed.backend,
        BackendHealth.HEALTHY,
        claimed.version + 1,
        claimed.revision,
        reason=f"probe passed: {reason}",
        period_s=period_s,
        damping_s=_damping(claimed) if pool_returned else period_s,
    )


def _period(standing: Standing, rules: Rules) -> float:
    return standing.record.period_s if standing.record is not None else rules.degraded_for_s


def _damping(standing: Standing) -> float:
    return standing.record.damping_s if standing.record is not None else 0.0


def _degraded(
    standing: Standing, period_s: float, damping_s: float, reason: str, failures: int = 0, outcomes: int = 0
) -> Transition:
    return Transition(
        standing.kind,
        standing.backend,
        BackendHealth.DEGRADED,
        standing.version + 1,
        standing.revision,
        reason=reason,
        period_s=period_s,
        damping_s=damping_s,
        until_s=period_s,
        failures=failures,
        outcomes=outcomes,
    )


def record_of(transition: Transition, since: str) -> BackendState:
    """The record to store. `since`: UTC time with offset, for people."""
    return BackendState(
        kind=transition.kind,
        backend=transition.backend,
        state=transition.state,
        version=transition.version,
        since=since,
        until_s=transition.until_s,
        reason=transition.reason,
        failures=transition.failures,
        outcomes=transition.outcomes,
        manual=transition.manual,
        set_by=transition.set_by,
        period_s=transition.period_s,
        damping_s=transition.damping_s,
    )
