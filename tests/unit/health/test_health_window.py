"""The rolling window: weights, ages, bounds, and what does not count."""

import pytest

from fanfuse_contracts.enums import FailureKind
from fanfuse_health.domain.window import SLOT_S, Window, counts, observe, restart, run, totals

WINDOW_S = 60.0


def fill(outcomes, start_s=0.0, every_s=1.0):
    window, at_s = Window(), start_s
    for outcome in outcomes:
        window = observe(window, outcome, at_s, at_s, WINDOW_S)
        at_s += every_s
    return window, at_s - every_s


def test_weights_are_summed(fail, succeed):
    window, now_s = fill([fail(weight=2), succeed(weight=10), fail()])
    assert totals(window, now_s, WINDOW_S) == (3, 13)


def test_what_is_older_than_the_window_is_forgotten(fail):
    window, now_s = fill([fail(), fail(), fail()])
    assert totals(window, now_s + 58.5, WINDOW_S).failures == 2
    assert totals(window, now_s + 61, WINDOW_S).failures == 0


def test_an_outcome_that_is_too_old_on_arrival_is_not_entered(fail):
    assert observe(Window(), fail(), at_s=0.0, now_s=61.0, window_s=WINDOW_S).tallies == ()


@pytest.mark.parametrize("kind", list(FailureKind))
def test_hea02_only_the_backends_own_failures_count(kind, fail):
    """HEA-02: request-caused errors are neither failure nor success in the window."""
    window = observe(Window(), fail(kind), 0.0, 0.0, WINDOW_S)
    expected = kind in {FailureKind.UNAVAILABLE, FailureKind.TIMEOUT, FailureKind.OVERLOADED}
    assert totals(window, 0.0, WINDOW_S) == ((1, 1) if expected else (0, 0))


def test_a_probe_is_not_counted_a_second_time(fail):
    assert not counts(fail(probe=True))


def test_the_window_is_bounded_by_time_not_by_calls(fail):
    window = Window()
    for number in range(20_000):
        at_s = number * 0.01
        window = observe(window, fail(), at_s, at_s, WINDOW_S)
    assert len(window.tallies) <= WINDOW_S / SLOT_S + 1
    assert totals(window, at_s, WINDOW_S).failures == pytest.approx(6_000, abs=30)


def test_a_new_state_starts_an_empty_window_and_stays_deaf_to_what_came_before(fail):
    window, now_s = fill([fail(), fail(), fail()])
    window = restart(window, now_s)
    late = observe(window, fail(), now_s - 1, now_s + 1, WINDOW_S)
    fresh = observe(window, fail(), now_s + 1, now_s + 1, WINDOW_S)
    assert (totals(late, now_s + 1, WINDOW_S).failures, totals(fresh, now_s + 1, WINDOW_S).failures) == (0, 1)


def test_what_follows_a_new_state_at_once_counts(fail):
    window = restart(Window(), 10.0)
    for _ in range(3):
        window = observe(window, fail(), 10.01, 10.01, WINDOW_S)
    assert totals(window, 10.01, WINDOW_S).failures == 3


def test_an_outcome_out_of_order_counts_in_its_own_slot(fail):
    window = observe(Window(), fail(), 10.0, 10.0, WINDOW_S)
    window = observe(window, fail(), 9.0, 10.0, WINDOW_S)
    assert totals(window, 10.0, WINDOW_S).failures == 2
    assert [tally.slot for tally in window.tallies] == [36, 40]


def test_hea02_calls_that_fail_while_others_succeed_are_no_run(fail, succeed):
    """HEA-02: the end of another tenant's flood; six calls of two seconds, and 1,230 that were answered meanwhile."""
    window = Window()
    for number in range(123):
        window = observe(window, succeed(weight=10), 10.0 + number / 41, 13.0, WINDOW_S)
    for _ in range(6):
        window = observe(window, fail(age_ms=2_000), 14.0, 14.0, WINDOW_S)
    assert (run(window, 14.0, WINDOW_S), totals(window, 14.0, WINDOW_S)) == (0, (6, 1_236))


def test_hea01_an_engine_that_hangs_makes_a_run_at_its_first_wave(fail, succeed):
    """HEA-01: told late are its last successes as well; they count when they were, whatever was told first."""
    window = Window()
    for number in range(100):
        window = observe(window, succeed(weight=10), number / 10, 12.0, WINDOW_S)
    window = observe(window, succeed(weight=9, age_ms=2_000), 12.0, 12.0, WINDOW_S)
    for number in range(6):
        at_s = 12.0 + number / 20
        window = observe(window, fail(age_ms=1_950), at_s, at_s, WINDOW_S)
    assert run(window, 12.25, WINDOW_S) == 6
    assert run(observe(window, succeed(), 12.5, 12.5, WINDOW_S), 12.5, WINDOW_S) == 0, "it answers again"
