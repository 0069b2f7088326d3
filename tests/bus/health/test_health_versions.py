"""NAT-12: on the real bucket an old state never wins, and a late joiner gets the current one."""

from typing import TypeVar

import pytest

from fanfuse_contracts.enums import BackendHealth, Kind
from fanfuse_health.adapters.states import BucketStateStore
from fanfuse_health.domain.rules import Rules
from fanfuse_health.domain.standing import Standing, adopt
from fanfuse_health.domain.transitions import claim, judge, settle
from fanfuse_health.domain.window import Tally, Window
from fanfuse_health.ports import BackendKey
from fanfuse_runtime.registry import BackendsView

T = TypeVar("T")
KEY = BackendKey(Kind.VECTOR, "main")
BAD = Window(tallies=(Tally(0, 3, 0),))


def some(found: T | None) -> T:
    assert found is not None
    return found


async def test_a_transition_from_an_old_state_is_refused(deployment):
    store, rules = BucketStateStore(deployment.bus), Rules()
    fresh = Standing(*KEY)
    first = some(judge(fresh, BAD, 0.0, rules))
    degraded = adopt(fresh, some(await store.write(first)), 0.0)
    assert await store.write(first) is None, "the second replica"
    half_open = adopt(degraded, some(await store.write(claim(degraded, "health-1", rules))), 0.0)
    assert await store.write(claim(degraded, "health-2", rules)) is None, "the second prober"
    assert await store.write(settle(half_open, True, "empty", rules)) is not None
    assert await store.write(settle(half_open, False, "timeout", rules)) is None, "a verdict that comes too late"
    found = (await store.read_all())[KEY]
    assert 0.0 <= found.age_s < 5.0
    record = some(found.record)
    assert (record.state, record.version, record.period_s) == (BackendHealth.HEALTHY, 3, 30.0)


async def test_a_deleted_state_can_be_written_again(deployment):
    store, rules = BucketStateStore(deployment.bus), Rules()
    fresh = Standing(*KEY)
    degraded = adopt(fresh, some(await store.write(some(judge(fresh, BAD, 0.0, rules)))), 0.0)
    bucket = await deployment.bus.js.key_value("backend_state")
    await bucket.delete("vector.main")
    healthy = adopt(degraded, some(await store.read(KEY)), 0.0)
    assert healthy.health is BackendHealth.HEALTHY
    again = some(await store.write(some(judge(healthy, BAD, 0.0, rules))))
    assert some(again.record).version == 2


@pytest.mark.usefixtures("fast")
async def test_all_watchers_converge_also_one_that_joins_late(deployment, workers, eventually):
    early = [BackendsView(deployment.bus) for _ in range(2)]
    for view in early:
        await view.start()
    async with deployment.health(replicas=3):
        await deployment.fail(3)
        await deployment.until(BackendHealth.DEGRADED)
        assert await eventually(lambda: all((Kind.VECTOR, "main") in view.unhealthy for view in early))
        await deployment.until(BackendHealth.HEALTHY)
        late = BackendsView(deployment.bus)
        await late.start()
        assert await eventually(lambda: all(not view.unhealthy for view in (*early, late)))
        assert {view.values["vector.main"].version for view in (*early, late)} == {3}
    for view in (*early, late):
        await view.stop()
