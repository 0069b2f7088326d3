"""One replica and three, on a store with compare-and-set: rates, replays, conflicts, clocks."""

import asyncio
import random
import time
from dataclasses import replace

import pytest

from fanfuse_backend_workers.domain.outcomes import OutcomeSampler
from fanfuse_contracts.enums import BackendHealth, FailureKind
from fanfuse_contracts.health import BackendOutcome
from fanfuse_contracts.retrieval import Failure

DEGRADED, HALF_OPEN, HEALTHY = BackendHealth.DEGRADED, BackendHealth.HALF_OPEN, BackendHealth.HEALTHY


async def test_hea02_a_tenants_bad_requests_degrade_nothing_and_hide_nothing(world, fail, succeed):
    """HEA-02: too large and bad requests are not counted; interleaved unavailabilities still trip at the threshold."""
    replica = world.replica()
    for _ in range(10):
        await replica.monitor.on_outcome(fail(FailureKind.TOO_LARGE), 0.0)
        await replica.monitor.on_outcome(fail(FailureKind.BAD_REQUEST), 0.0)
        world.clock.pass_s(0.1)
    assert world.store.history == []
    await replica.monitor.on_outcome(succeed(), 0.0)
    for number in range(3):
        assert world.store.history == [], f"tripped after {number} failures"
        await replica.monitor.on_outcome(fail(FailureKind.BAD_REQUEST), 0.0)
        await replica.monitor.on_outcome(fail(FailureKind.UNAVAILABLE), 0.0)
    # Were the 23 bad requests successes, 3 failures would be 11 % of the outcomes, below the share.
    assert world.store.states == [(DEGRADED, 1)]
    assert (world.store.history[0].failures, world.store.history[0].outcomes) == (3, 4)


async def test_three_replicas_write_one_version_per_transition(world, fail):
    replicas = [world.replica() for _ in range(3)]
    for _ in range(5):
        await asyncio.gather(*(replica.monitor.on_outcome(fail(), 0.0) for replica in replicas))
    assert world.store.states == [(DEGRADED, 1)]
    assert world.store.conflicts > 0
    assert {replica.monitor.standing(world.key).version for replica in replicas} == {1}


async def test_half_a_replay_is_not_judged(world, fail, succeed):
    replica = world.replica()
    replica.monitor.begin_replay()
    for _ in range(4):
        await replica.monitor.on_outcome(fail(), age_s=50.0)
    await replica.monitor.judge_all()
    assert world.store.history == []
    await replica.monitor.on_outcome(succeed(weight=1_000), age_s=10.0)
    replica.monitor.end_replay()
    await replica.monitor.judge_all()
    assert world.store.history == []


async def test_a_restart_replays_the_window_by_age(world, fail):
    replica = world.replica()
    replica.monitor.begin_replay()
    await replica.monitor.on_outcome(fail(), age_s=90.0)
    await replica.monitor.on_outcome(fail(), age_s=50.0)
    await replica.monitor.on_outcome(fail(), age_s=1.0)
    replica.monitor.end_replay()
    await replica.monitor.judge_all()
    assert world.store.history == [], "the outcome of 90 s ago is outside the window"
    await replica.monitor.on_outcome(fail(), age_s=0.0)
    assert world.store.states == [(DEGRADED, 1)]
    assert world.store.history[0].failures == 3


async def test_a_replay_twice_counts_once(world, fail):
    replica = world.replica()
    for _ in range(2):
        replica.monitor.begin_replay()
        await replica.monitor.on_outcome(fail(), age_s=3.0)
        await replica.monitor.on_outcome(fail(), age_s=2.0)
        replica.monitor.end_replay()
    await replica.monitor.judge_all()
    assert world.store.history == []


async def test_failures_from_before_a_recovery_do_not_degrade_again(world, fail):
    first = world.replica()
    await world.degrade(first)
    world.prober.release.set()
    world.clock.pass_s(30.0)
    await first.tick()
    assert world.store.states[-1] == (HEALTHY, 3)
    restarted = world.replica()
    restarted.monitor.begin_replay()
    await restarted.monitor.refresh()
    world.clock.pass_s(1.0)
    for age_s in (33.0, 32.0, 31.5):
        await restarted.monitor.on_outcome(fail(), age_s)
    restarted.monitor.end_replay()
    await restarted.monitor.judge_all()
    assert world.store.states[-1] == (HEALTHY, 3)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Europe/Berlin"])
@pytest.mark.parametrize("step_s", [3_600.0, -3_600.0])
async def test_hea03_a_step_of_the_wall_clock_changes_no_duration(world, zone, step_s, monkeypatch):
    """HEA-03: 30 s are 30 s, whatever time of day the machine, its zone or a stored record claims."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    real = time.time
    replica = world.replica()
    await world.degrade(replica)
    monkeypatch.setattr(time, "time", lambda: real() + step_s)
    for since in ("2025-03-30T02:30:00", "2025-03-30T02:30:00+05:30", "not a time"):
        world.store.rewrite_since(since)
        late = world.replica()
        await late.tick()
        assert late.monitor.standing(world.key).health is DEGRADED
    world.prober.release.set()
    world.clock.pass_s(29.5)
    await replica.tick()
    assert world.store.states == [(DEGRADED, 1)]
    world.clock.pass_s(0.5)
    await replica.tick()
    assert world.store.states == [(DEGRADED, 1), (HALF_OPEN, 2), (HEALTHY, 3)]
    monkeypatch.undo()
    time.tzset()


async def test_hea03_an_age_below_zero_is_no_age(world, fail):
    """HEA-03: where the broker's clock stepped back, what it stored lies in the future; it counts as now."""
    replica = world.replica()
    for _ in range(3):
        await replica.monitor.on_outcome(fail(), age_s=-3_600.0)
    assert world.store.states == [(DEGRADED, 1)]
    world.clock.pass_s(29.0)
    await replica.tick()
    assert world.store.states == [(DEGRADED, 1)]


@pytest.mark.parametrize(("min_share", "degrades"), [(0.2, False), (0.0, True)])
async def test_a_failure_in_a_thousand_degrades_nothing_at_fifty_a_second(world, min_share, degrades):
    """Ten minutes of calls through the workers' own sampling, two replicas of them; the plain rule would degrade."""
    world.rules = replace(world.rules, min_share=min_share)
    replica, samplers, chance = world.replica(), (OutcomeSampler(), OutcomeSampler()), random.Random(7)
    failures = 0
    for _ in range(10 * 60 * 50):
        world.clock.pass_s(0.02)
        bad = chance.random() < 0.001
        failures += bad
        failure = Failure(kind=FailureKind.TIMEOUT, message="late") if bad else None
        for row in chance.choice(samplers).observe(world.key, failure, world.clock()):
            outcome = BackendOutcome(
                kind=world.key.kind,
                backend=world.key.backend,
                ok=row.failure is None,
                failure=row.failure.kind if row.failure else None,
                weight=row.weight,
            )
            await replica.monitor.on_outcome(outcome, 0.0)
    assert failures > 10
    assert any(state is BackendHealth.DEGRADED for state, _ in world.store.states) is degrades


async def test_a_stream_that_began_anew_takes_no_success_away(world, fail, succeed):
    """The broker restarted, and with it the stream in memory: three late calls are not all that a replica ever saw."""
    replica = world.replica()
    await replica.monitor.on_outcome(succeed(weight=100), age_s=0.0)
    world.clock.pass_s(5.0)
    replica.monitor.begin_replay()
    for _ in range(3):
        await replica.monitor.on_outcome(fail(), age_s=1.0)
    replica.monitor.end_replay()
    await replica.monitor.judge_all()
    assert world.store.history == []
    # What the stream still holds counts once, however often it is read.
    for _ in range(5):
        replica.monitor.begin_replay()
        for _ in range(3):
            await replica.monitor.on_outcome(fail(), age_s=1.0)
        replica.monitor.end_replay()
    await replica.monitor.judge_all()
    assert world.store.history == []
    # And an engine that is gone is known all the same: a fifth of what was seen, or six in a row.
    for _ in range(3):
        await replica.monitor.on_outcome(fail(), age_s=0.0)
    assert world.store.states == [(DEGRADED, 1)]


async def test_a_stream_that_is_empty_leaves_the_window_as_it_was(world, fail, succeed):
    replica = world.replica()
    await replica.monitor.on_outcome(succeed(weight=100), age_s=0.0)
    replica.monitor.begin_replay()
    replica.monitor.end_replay()
    for _ in range(3):
        await replica.monitor.on_outcome(fail(), age_s=0.0)
    assert world.store.history == []
    world.clock.pass_s(61.0)
    for _ in range(3):
        await replica.monitor.on_outcome(fail(), age_s=0.0)
    assert (world.store.history[0].failures, world.store.history[0].outcomes) == (3, 3), "the old is too old"
