"""What an operator says: it holds for its time, whatever is seen meanwhile; then a probe decides. And asked probes."""

import asyncio
from dataclasses import replace

import pytest

from fanfuse_contracts.enums import BackendHealth, Kind
from fanfuse_health.domain.marks import clear, mark
from fanfuse_health.domain.probe import Verdict
from fanfuse_health.ports import BackendKey

DEGRADED, HALF_OPEN, HEALTHY = BackendHealth.DEGRADED, BackendHealth.HALF_OPEN, BackendHealth.HEALTHY


async def say(world, replica, what, **more):
    """Store an operator's word, and have the replica hear of it."""
    standing = replica.monitor.standing(world.key)
    transition = what(standing, by="alice", reason="upgrade", **more)
    assert await world.store.write(transition) is not None
    await replica.tick()


async def test_a_mark_holds_for_its_time_on_every_replica_and_across_restarts(world, fail, succeed):
    replica = world.replica()
    await say(world, replica, mark, for_s=300.0)
    for _ in range(29):
        world.clock.pass_s(10.0)
        for outcome in (fail(), fail(), fail(), succeed(1_000)):
            await replica.monitor.on_outcome(outcome, 0.0)
        # A replica that has just started measures the record's age, and knows nothing else.
        await world.replica().tick()
        await replica.tick()
    assert (world.store.states, world.prober.sent) == ([(DEGRADED, 1)], 0)
    record = world.store.history[-1]
    assert (record.manual, record.set_by, record.reason, record.until_s) == (True, "alice", "upgrade", 300.0)
    world.prober.release.set()
    world.clock.pass_s(10.0)
    await world.replica().tick()
    assert world.store.states == [(DEGRADED, 1), (HALF_OPEN, 2), (HEALTHY, 3)]
    assert not world.store.history[-1].manual


async def test_a_mark_that_ends_too_soon_does_no_harm(world):
    replica = world.replica()
    await say(world, replica, mark, for_s=60.0)
    world.prober.answer = Verdict(False, "unavailable")
    world.prober.release.set()
    world.clock.pass_s(60.0)
    await replica.tick()
    assert world.store.states[-1] == (DEGRADED, 3)
    assert (world.store.history[-1].manual, world.store.history[-1].until_s) == (False, 30.0)


async def test_a_mark_without_an_end_is_left_alone_until_it_is_cleared(world, fail):
    replica = world.replica()
    await say(world, replica, mark, for_s=None)
    world.clock.pass_s(100_000.0)
    world.absent.add((Kind.VECTOR, "main"))
    await replica.tick()
    world.absent.clear()
    await replica.tick()
    assert (world.store.states, world.prober.sent) == ([(DEGRADED, 1)], 0)
    for _ in range(10):
        await replica.monitor.on_outcome(fail(), 0.0)
    await say(world, replica, clear)
    assert world.store.states[-1] == (HEALTHY, 2)
    await replica.tick()
    assert world.store.states[-1] == (HEALTHY, 2), "what failed before it was cleared does not count"
    world.clock.pass_s(1.0)
    await world.degrade(replica)
    assert world.store.states[-1] == (DEGRADED, 3), "cleared is healthy, not immune"


async def test_clear_also_ends_what_health_decided(world):
    replica = world.replica()
    await world.degrade(replica)
    await say(world, replica, clear)
    record = world.store.history[-1]
    assert (record.state, record.manual, record.set_by) == (HEALTHY, False, "alice")


async def test_clear_ends_the_damping_and_a_mark_does_not(world):
    replica = world.replica()
    world.prober.release.set()

    async def flap():
        await world.degrade(replica)
        period_s = world.store.history[-1].until_s
        world.clock.pass_s(period_s)
        await replica.tick()
        assert world.store.history[-1].state is HEALTHY
        world.clock.pass_s(1.0)
        return period_s

    assert [await flap(), await flap()] == [30.0, 60.0]
    await say(world, replica, mark, for_s=None)
    assert world.store.history[-1].damping_s == 60.0
    await say(world, replica, clear)
    world.clock.pass_s(1.0)
    assert [await flap(), await flap()] == [30.0, 60.0]


async def test_a_word_from_an_old_state_is_refused(world):
    replica = world.replica()
    await world.degrade(replica)
    old = replica.monitor.standing(world.key)
    await say(world, replica, clear)
    assert await world.store.write(mark(old, by="bob", reason="late", for_s=5.0)) is None


def test_a_mark_over_a_deleted_record_is_newer_than_whatever_stood_there(world):
    replica = world.replica()
    deleted = replace(replica.monitor.standing(world.key), revision=9)
    assert mark(deleted, by="alice", reason="upgrade", for_s=None).version == 10


async def test_an_asked_probe_decides_before_its_time(world):
    replica, other = world.replica(), world.replica()
    await world.degrade(replica)
    early = await replica.probing.ask(world.key)
    assert (early.probed, early.state, world.prober.sent) == (False, DEGRADED, 0)
    world.clock.pass_s(world.rules.asked_every_s)
    world.prober.release.set()
    first, second = await asyncio.gather(replica.probing.ask(world.key), other.probing.ask(world.key))
    assert (first.state, world.prober.most, world.prober.sent) == (HEALTHY, 1, 1)
    assert second.state in {HALF_OPEN, HEALTHY}
    assert world.store.states == [(DEGRADED, 1), (HALF_OPEN, 2), (HEALTHY, 3)]


@pytest.mark.parametrize("case", ["marked", "flapping", "healthy", "no worker", "unknown"])
async def test_no_probe_is_sent_at_a_wish(world, case):
    replica = world.replica()
    key = BackendKey(Kind.GRAPH, "main") if case == "unknown" else world.key
    if case == "marked":
        await say(world, replica, mark, for_s=None)
    elif case != "healthy":
        await world.degrade(replica)
    if case == "flapping":
        world.prober.release.set()
        world.clock.pass_s(30.0)
        await replica.tick()
        world.clock.pass_s(1.0)
        await world.degrade(replica)
        assert world.store.history[-1].until_s == 60.0
    if case == "no worker":
        world.absent.add((Kind.VECTOR, "main"))
    sent = world.prober.sent
    world.clock.pass_s(10.0)
    reply = await replica.probing.ask(key)
    assert (reply.probed, world.prober.sent) == (False, sent)
    assert "not probed" in reply.reason
    assert (key in replica.monitor.known) == (case != "unknown")
