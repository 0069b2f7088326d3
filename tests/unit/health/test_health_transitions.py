"""The transition rules, without any clock: thresholds, periods, damping, probes, manual states, versions."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfuse_contracts.enums import BackendHealth, Kind
from fanfuse_contracts.health import BackendState
from fanfuse_health.domain.presence import Presence, returned
from fanfuse_health.domain.rules import Rules
from fanfuse_health.domain.standing import Standing, Stored, adopt
from fanfuse_health.domain.transitions import claim, judge, probe_due, record_of, settle
from fanfuse_health.domain.window import Tally, Window

RULES = Rules()
SINCE = "2025-01-01T00:00:00+00:00"
FRESH = Standing(Kind.VECTOR, "main")


def window_of(failures, successes, at_s=0.0):
    return Window(tallies=(Tally(int(at_s * 4), failures, successes),))


def enter(standing, transition, now_s):
    """The standing once this transition is stored."""
    return adopt(standing, Stored(record_of(transition, SINCE), standing.revision + 1, 0.0), now_s)


def degraded(now_s=0.0, standing=FRESH):
    transition = judge(standing, window_of(3, 0, now_s), now_s, RULES)
    assert transition is not None
    return enter(standing, transition, now_s)


def recovered(standing, now_s, *, pool_returned=False):
    half_open = enter(standing, claim(standing, "health-1", RULES), now_s)
    return enter(half_open, settle(half_open, True, "empty", RULES, pool_returned=pool_returned), now_s)


@pytest.mark.parametrize(
    ("failures", "successes", "expected"),
    [(2, 0, False), (3, 0, True), (3, 12, True), (3, 13, False), (60, 2940, False), (600, 2400, True)],
)
def test_degraded_needs_both_the_number_and_the_share(failures, successes, expected):
    transition = judge(FRESH, window_of(failures, successes), 0.0, RULES)
    assert (transition is not None) == expected


def test_failures_in_a_row_degrade_whatever_came_before():
    """An engine that hangs after a minute of 50 calls a second: eight calls time out at a time."""
    good = tuple(Tally(slot, 0, 12) for slot in range(240))
    hangs = Window(tallies=(*good, Tally(247, 5, 0)))
    assert judge(FRESH, hangs, 62.0, RULES) is None
    more = replace(hangs, tallies=(*hangs.tallies, Tally(248, 1, 0)))
    transition = judge(FRESH, more, 62.0, RULES)
    assert transition is not None
    assert transition.reason.startswith("6 calls failed in a row; 6 of ")
    assert judge(FRESH, more, 62.0, replace(RULES, run_failures=0)) is None
    answered = replace(more, tallies=(*more.tallies, Tally(249, 5, 1)))
    assert judge(FRESH, answered, 62.5, RULES) is None, "a success in between"


def test_a_share_of_zero_gives_the_plain_rule():
    assert judge(FRESH, window_of(3, 1_000_000), 0.0, replace(RULES, min_share=0.0)) is not None


def test_a_degradation_says_why_and_for_how_long():
    transition = judge(FRESH, window_of(3, 9), 0.0, RULES)
    assert transition is not None
    assert (transition.state, transition.version, transition.until_s) == (BackendHealth.DEGRADED, 1, 30.0)
    assert (transition.failures, transition.outcomes) == (3, 12)
    assert transition.reason == "3 of 12 calls failed within 60 s"


def test_only_a_healthy_backend_is_judged():
    standing = degraded()
    half_open = enter(standing, claim(standing, "health-1", RULES), 30.0)
    assert judge(standing, window_of(99, 0), 0.0, RULES) is None
    assert judge(half_open, window_of(99, 0), 0.0, RULES) is None


def test_a_probe_is_due_when_the_period_is_over_and_not_before():
    standing = degraded(now_s=100.0)
    assert not probe_due(standing, 129.9, False, RULES)
    assert probe_due(standing, 130.0, False, RULES)


def test_a_pool_that_is_back_is_probed_at_once():
    standing = degraded(now_s=100.0)
    assert probe_due(standing, 100.5, True, RULES)


def test_a_pool_that_is_back_is_probed_at_once_also_where_its_backend_flaps():
    standing = degraded(now_s=20.0, standing=recovered(degraded(), 10.0))
    assert standing.record is not None
    assert standing.record.until_s == 60.0
    assert not probe_due(standing, 20.0 + 29.9, False, RULES)
    assert probe_due(standing, 20.5, True, RULES)


def test_what_an_absent_worker_did_does_not_count_for_the_damping_and_what_the_engine_did_before_does():
    flaps = degraded(now_s=20.0, standing=recovered(degraded(), 10.0))
    healthy = recovered(flaps, 90.0)
    for now_s in (100.0, 200.0):
        missed = degraded(now_s, healthy)
        assert missed.record is not None
        assert missed.record.until_s == 120.0, "nobody knows yet whose fault it is"
        healthy = recovered(missed, now_s + 5.0, pool_returned=True)
    assert healthy.record is not None
    assert (healthy.record.period_s, healthy.record.damping_s) == (120.0, 60.0)
    first = recovered(degraded(), 5.0, pool_returned=True)
    again = degraded(10.0, first)
    assert again.record is not None
    assert again.record.until_s == 30.0


def test_a_probe_that_fails_or_whose_prober_dies_does_not_lose_the_damping():
    standing = degraded(now_s=20.0, standing=recovered(degraded(), 10.0))
    lost = enter(standing, claim(standing, "health-1", RULES), 50.0)
    half_open = enter(lost, claim(lost, "health-2", RULES), 60.0)
    failed = enter(half_open, settle(half_open, False, "timeout", RULES, pool_returned=True), 62.0)
    assert failed.record is not None
    assert (failed.record.until_s, failed.record.damping_s) == (60.0, 30.0)
    healthy = recovered(failed, 122.0)
    assert healthy.record is not None
    assert healthy.record.damping_s == 60.0


def test_workers_are_to_blame_for_what_came_before_they_were_replaced_and_shortly_after():
    """The last calls of a dead worker fail while its successor is there already."""
    standing = degraded(now_s=100.0)
    renewed = {at_s: returned(standing, Presence(frozenset({"new"}), at_s)) for at_s in (96.0, 98.0, 101.0)}
    assert renewed == {96.0: False, 98.0: True, 101.0: True}
    half_open = enter(standing, claim(standing, "health-1", RULES), 101.0)
    again = enter(half_open, settle(half_open, False, "timeout", RULES), 103.0)
    assert not returned(again, Presence(frozenset({"new"}), 101.0)), "a new worker was asked, and failed"
    assert not returned(FRESH, Presence(frozenset({"first"})))


def test_a_lost_prober_frees_its_slot_when_its_lease_is_over():
    standing = degraded()
    half_open = enter(standing, claim(standing, "health-1", RULES), 30.0)
    assert not probe_due(half_open, 39.9, False, RULES)
    assert probe_due(half_open, 40.0, False, RULES)
    again = claim(half_open, "health-2", RULES)
    assert (again.state, again.version, again.after_revision) == (BackendHealth.HALF_OPEN, 3, 2)


def test_the_whole_circle_raises_the_version_once_per_transition():
    standing = degraded()
    half_open = enter(standing, claim(standing, "health-1", RULES), 30.0)
    healthy = enter(half_open, settle(half_open, True, "answered", RULES), 30.1)
    assert [s.version for s in (standing, half_open, healthy)] == [1, 2, 3]
    assert healthy.health is BackendHealth.HEALTHY


def test_a_failed_probe_repeats_the_period_without_lengthening_it():
    standing = degraded()
    for _ in range(10):
        half_open = enter(standing, claim(standing, "health-1", RULES), 30.0)
        standing = enter(half_open, settle(half_open, False, "timeout", RULES), 32.0)
        assert standing.record is not None
        assert (standing.health, standing.record.until_s) == (BackendHealth.DEGRADED, 30.0)
    assert standing.record.reason == "probe failed: timeout"


def test_flapping_doubles_the_period_up_to_a_bound():
    standing, now_s, periods = FRESH, 0.0, []
    for _ in range(5):
        standing = degraded(now_s, standing)
        assert standing.record is not None
        periods.append(standing.record.until_s)
        now_s += 130.0
        standing = recovered(standing, now_s)
        now_s += 60.0
    assert periods == [30.0, 60.0, 120.0, 120.0, 120.0]


def test_a_quiet_time_ends_the_damping():
    standing = recovered(degraded(), 30.0)
    again = degraded(30.0 + RULES.flap_within_s, standing)
    assert again.record is not None
    assert again.record.until_s == 30.0


@pytest.mark.parametrize("state", list(BackendHealth))
def test_a_manual_state_is_left_alone(state):
    record = BackendState(kind=Kind.VECTOR, backend="main", state=state, version=4, since=SINCE, manual=True)
    standing = adopt(FRESH, Stored(record, 9, 0.0), 0.0)
    assert judge(standing, window_of(99, 0), 0.0, RULES) is None
    if state is not BackendHealth.HALF_OPEN:
        assert not probe_due(standing, 1_000.0, True, RULES)


def test_nat12_an_old_state_never_wins_and_a_late_joiner_gets_the_current_one():
    """NAT-12: degraded (7) delivered after recovered (8), to three replicas of which one joins late."""

    def record(state, version):
        return BackendState(kind=Kind.VECTOR, backend="main", state=state, version=version, since=SINCE)

    older = Stored(record(BackendHealth.DEGRADED, 7), 70, 5.0)
    newer = Stored(record(BackendHealth.HEALTHY, 8), 80, 1.0)
    in_order = adopt(adopt(FRESH, older, 0.0), newer, 0.0)
    reordered = adopt(adopt(FRESH, newer, 0.0), older, 0.0)
    late = adopt(FRESH, newer, 0.0)
    assert in_order == reordered == late
    assert (late.health, late.version) == (BackendHealth.HEALTHY, 8)
    # Also a rewritten older version (a restored backup, an operator's mistake) does not come back.
    rewritten = adopt(late, Stored(older.record, 90, 0.0), 0.0)
    assert (rewritten.health, rewritten.version) == (BackendHealth.HEALTHY, 8)


def test_a_deleted_record_means_healthy_and_its_version_goes_on():
    standing = adopt(degraded(), Stored(None, 5, 0.0), 0.0)
    assert standing.health is BackendHealth.HEALTHY
    transition = judge(standing, window_of(3, 0), 0.0, RULES)
    assert transition is not None
    assert (transition.version, transition.after_revision) == (2, 5)


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30), st.floats(0, 100)), max_size=20), st.randoms())
def test_any_order_of_arrival_ends_at_the_newest(rows, chance):
    stored = [
        Stored(
            BackendState(kind=Kind.VECTOR, backend="main", state=BackendHealth.DEGRADED, version=number, since=SINCE),
            revision=number,
            age_s=0.0,
        )
        for number in sorted({version for version, _, _ in rows})
    ]
    shuffled = stored[:]
    chance.shuffle(shuffled)
    standing = FRESH
    for row in shuffled:
        standing = adopt(standing, row, 0.0)
    assert standing.version == (stored[-1].revision if stored else 0)
