"""An operator's word on the real bucket: heard by every watcher, kept by a broker's restart, ended by a probe."""

import asyncio

import pytest

from fanfuse_all_in_one import marking
from fanfuse_all_in_one.failures import ConflictError, OperatorError
from fanfuse_all_in_one.operating import operator_on
from fanfuse_contracts.enums import BackendHealth, Kind
from fanfuse_health.adapters.states import BucketStateStore
from fanfuse_health.ports import BackendKey
from fanfuse_runtime.registry import BackendsView

KEY = BackendKey(Kind.VECTOR, "main")
DEGRADED, HEALTHY = BackendHealth.DEGRADED, BackendHealth.HEALTHY


@pytest.mark.usefixtures("fast")
async def test_a_mark_is_heard_held_and_ended_by_one_probe(deployment, workers, eventually):
    view = BackendsView(deployment.bus)
    await view.start()
    async with deployment.health(replicas=2), operator_on(deployment.url) as operator:
        state = await marking.mark_backend(operator, KEY, by="alice", reason="upgrade", for_s=4.0)
        assert (state.state, state.manual, state.set_by, state.until_s) == (DEGRADED, True, "alice", 4.0)
        assert await eventually(lambda: KEY in view.unhealthy)
        await deployment.outcome(ok=True, weight=1_000)
        await deployment.fail(5)
        await asyncio.sleep(1.0)
        (row,) = await marking.backend_standings(operator)
        assert row.state == state
        assert row.left_s is not None
        assert 0.0 < row.left_s < 3.1
        assert workers.commands == []
        healthy = await deployment.until(HEALTHY)
        assert (healthy.version, healthy.manual, healthy.set_by, len(workers.commands)) == (3, False, "", 1)
        assert await eventually(lambda: not view.unhealthy)
    await view.stop()


async def test_a_mark_outlives_broker_and_health(own_nats_server, deploy, eventually):
    async with deploy(own_nats_server.url) as deployment:
        async with operator_on(deployment.url) as operator:
            await marking.mark_backend(operator, KEY, by="alice", reason="upgrade", for_s=None)
        own_nats_server.kill()
        await asyncio.to_thread(own_nats_server.start)
        await eventually(lambda: deployment.bus.nc.is_connected)
        async with deployment.health() as (process,), operator_on(deployment.url) as operator:
            await eventually(lambda: KEY in process.context.backends.unhealthy)
            (row,) = await marking.backend_standings(operator)
            assert row.state is not None
            assert (row.state.set_by, row.state.manual, row.left_s) == ("alice", True, None)
            cleared = await marking.clear_backend(operator, KEY, by="bob", reason="done")
            assert (cleared.state, cleared.version, cleared.set_by) == (HEALTHY, 2, "bob")
            await eventually(lambda: not process.context.backends.unhealthy)


async def test_operators_never_overwrite_each_other_unseen(deployment, monkeypatch):
    async with operator_on(deployment.url) as alice, operator_on(deployment.url) as bob:
        read = BucketStateStore.read
        interrupted = False

        async def read_then_lose(store, key):
            nonlocal interrupted
            found = await read(store, key)
            if store._bus is alice.bus and not interrupted:
                interrupted = True
                await marking.mark_backend(bob, key, by="bob", reason="disk swap", for_s=60.0)
            return found

        monkeypatch.setattr(BucketStateStore, "read", read_then_lose)
        with pytest.raises(ConflictError, match="bob changed it meanwhile"):
            await marking.clear_backend(alice, KEY, by="alice", reason="all good")
        state = await deployment.state()
        assert (state.set_by, state.state) == ("bob", DEGRADED)
        # Seen, it may be replaced.
        assert (await marking.clear_backend(alice, KEY, by="alice", reason="all good")).state is HEALTHY


async def test_a_transition_of_health_in_between_is_no_conflict(deployment, monkeypatch, eventually):
    async with deployment.health() as (process,), operator_on(deployment.url) as operator:
        read = BucketStateStore.read
        interrupted = False

        async def read_while_it_fails(store, key):
            nonlocal interrupted
            found = await read(store, key)
            if store._bus is operator.bus and not interrupted:
                interrupted = True
                await deployment.fail(3)
                await eventually(lambda: KEY in process.context.backends.unhealthy)
            return found

        monkeypatch.setattr(BucketStateStore, "read", read_while_it_fails)
        state = await marking.mark_backend(operator, KEY, by="alice", reason="upgrade", for_s=None)
        assert (state.version, state.manual) == (2, True)


async def test_a_name_that_nothing_is_wired_with_is_refused(deployment):
    async with operator_on(deployment.url) as operator:
        with pytest.raises(OperatorError, match="known are vector/main"):
            await marking.mark_backend(operator, marking.parse_backend("vector/mian"), by="a", reason="b", for_s=None)
        with pytest.raises(OperatorError, match="is no backend"):
            marking.parse_backend("vektor/main")
        assert await deployment.transitions() == 0


async def test_a_probe_is_sent_at_an_operators_wish(deployment, workers, monkeypatch):
    monkeypatch.setenv("FANFUSE_HEALTH_DEGRADED_FOR_S", "3600")
    monkeypatch.setenv("FANFUSE_HEALTH_LONGEST_PERIOD_S", "3600")
    async with deployment.health(replicas=2), operator_on(deployment.url) as operator:
        await deployment.fail(3)
        await deployment.until(DEGRADED)
        early = await marking.probe_backend(operator, KEY, by="alice")
        assert (early.probed, early.state, workers.commands) == (False, DEGRADED, [])
        await asyncio.sleep(2.1)
        reply = await marking.probe_backend(operator, KEY, by="alice")
        assert (reply.probed, reply.state, len(workers.commands)) == (True, HEALTHY, 1)
        assert reply.revision == await deployment.transitions()
        again = await marking.probe_backend(operator, KEY, by="alice")
        assert (again.probed, again.state) == (False, HEALTHY)


async def test_without_health_a_wish_for_a_probe_says_so(deployment):
    async with operator_on(deployment.url) as operator:
        with pytest.raises(OperatorError, match="nobody answers backend_probe"):
            await marking.probe_backend(operator, KEY, by="alice")
