"""Three nats-servers as in the overlay `prod`, set up by `fanfuse deploy setup` with three copies of every stream.

The whole flow runs on them while each server dies once. A follower may answer a direct read before it has what was
stored, so the fuser reads a second time: without faults every answer is complete.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable

import nats
import pytest
import pytest_asyncio
from nats.errors import Error as NatsError
from nats.js.errors import APIError

from fanfuse_all_in_one.deploying.setting_up import set_up
from fanfuse_all_in_one.operating import operator_on
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.enums import Kind, Status
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_testing import simulated
from fanfuse_testing.faults import run
from fanfuse_testing.faults.cluster import NatsCluster
from fanfuse_testing.faults.fleet import Fleet, Size
from fanfuse_testing.faults.ledger import End
from fanfuse_testing.faults.schedule import Fault, FaultKind
from fanfuse_testing.flow import eventually
from fanfuse_testing.processes import Processes
from tests.deploy.rendered import K8S
from tests.deploy.scaler import POOL, Monitor, scaler

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.nightly]

COPIES = 3
RATE = 10.0
BUDGET_MS = 15_000
"""Longer than an election takes, also on a busy machine."""
AWAY_S = 5.0
BETWEEN_S = 20.0
LEFT_AFTER_S = 40.0
"""Longer than the grace period and the duration of a lame duck in deploy/k8s/base/nats/nats.conf."""
TEXT = "What did Alice Smith of Acme Corp say about solar panels?"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Fleet]:
    """The flow on three servers; services create nothing, as in the manifests."""
    folder = tmp_path_factory.mktemp("cluster")
    shipped = (K8S / "base/nats/nats.conf").read_text(encoding="utf-8")
    lame_duck = "\n".join(re.findall(r"^lame_duck.+$", shipped, re.MULTILINE))
    users = (K8S / "base/nats/users.conf").read_text(encoding="utf-8")
    with NatsCluster(folder, COPIES, f"{lame_duck}\n{users}") as cluster, pytest.MonkeyPatch.context() as environment:
        environment.setenv("FANFUSE_STREAM_REPLICAS", str(COPIES))
        await set_up(cluster.url, [(kind, "main") for kind in Kind], 60.0)
        environment.setenv("FANFUSE_CREATES", "nothing")
        async with operator_on(cluster.url) as operator:
            processes = Processes(cluster.url, folder / "data", operator, folder)
            started = Fleet(cluster, processes, cluster.monitoring["nats-0"])
            try:
                await started.register_simulated()
                await started.launch(Size(1), environment={"FANFUSE_CREATES": "nothing"})
                yield started
            finally:
                await processes.close()


def load(name: str, count: int) -> run.Load:
    query = SubmittedQuery(text=TEXT, budget_ms=BUDGET_MS)
    return run.Load(simulated.TENANT, {f"{name}-{number}": query for number in range(count)}, RATE, BUDGET_MS)


async def test_the_manifests_state_as_many_servers_and_copies(running: Fleet) -> None:
    routes = re.findall(r"nats://nats-\d", (K8S / "components/cluster/cluster.conf").read_text(encoding="utf-8"))
    assert len(routes) == COPIES
    js = running.processes.operator.bus.js
    for spec in streams.STREAMS:
        info = await js.stream_info(spec.name)
        assert (spec.name, info.config.num_replicas) == (spec.name, COPIES)
    for bucket in streams.BUCKETS:
        assert (await (await js.key_value(bucket.name)).status()).stream_info.config.num_replicas == COPIES


async def test_without_faults_every_answer_is_complete(running: Fleet, say: Callable[[str], None]) -> None:
    """What a follower served stale is read a second time."""
    result = await run.run(running, load("calm", 150), (), say)
    say(f"{dict(result.balance.ends)}; slowest {max(result.balance.after_ms):.0f} ms")
    assert (result.refused, result.balance.broken, result.settled) == ({}, (), True)
    assert result.balance.ends == {End.COMPLETE: 150}


async def test_each_server_may_die_and_nothing_that_was_accepted_is_lost(
    running: Fleet, say: Callable[[str], None]
) -> None:
    """Leaders of everything die once. A stream without a leader takes nothing for some seconds: callers are told.

    Lanes are lost meanwhile, and named; their backends may count as degraded for a while. Then all is as before.
    """
    faults = [Fault(2.0 + BETWEEN_S * at, FaultKind.BROKER, "", AWAY_S) for at in range(COPIES)]
    count = int(RATE * BETWEEN_S * COPIES)
    result = await run.run(running, load("deaths", count), faults, say)
    balance = result.balance
    say(f"{dict(balance.ends)}, refused {dict(result.refused)}; slowest {max(balance.after_ms):.0f} ms")
    say(f"lanes lost {dict(balance.lost_lanes)}; reasons {dict(balance.reasons)}")
    assert dict(result.faults) == {"broker broker": COPIES}
    assert (balance.broken, result.settled) == ((), True)
    assert balance.accepted + sum(result.refused.values()) == count
    assert await eventually(lambda: is_complete(running), 90, 1.0)


async def is_complete(running: Fleet) -> bool:
    """A query is answered by every lane."""
    async with running.processes.client(simulated.TENANT) as client:
        return (await client.ask(TEXT, budget_ms=BUDGET_MS)).status is Status.COMPLETE


async def test_a_server_that_is_asked_to_leave_takes_nothing_with_it(
    running: Fleet, say: Callable[[str], None]
) -> None:
    """As the pod's preStop does before an update: leaders and clients go to the others first."""
    cluster = running.server
    assert isinstance(cluster, NatsCluster)
    await eventually(lambda: is_complete(running), 90, 1.0)
    name = await eventually(lambda: leader_of(running, streams.QUERIES.name), 60)
    asyncio.get_running_loop().call_later(2.0, cluster.leave, name)
    result = await run.run(running, load("leaving", int(RATE * LEFT_AFTER_S)), (), say)
    await eventually(lambda: not cluster.servers[name].is_alive, 60)
    cluster.start()
    balance = result.balance
    say(f"{name}: {dict(balance.ends)}, refused {dict(result.refused)}; slowest {max(balance.after_ms):.0f} ms")
    assert (balance.broken, result.settled) == ((), True)
    assert balance.accepted + sum(result.refused.values()) == int(RATE * LEFT_AFTER_S)
    assert await eventually(lambda: is_complete(running), 90, 1.0)


async def leader_of(running: Fleet, stream: str) -> str:
    """Name of the server that leads a stream now; empty while none does."""
    try:
        info = await running.processes.operator.bus.js.stream_info(stream)
    except (NatsError, APIError):
        return ""
    assert info.cluster is not None
    return info.cluster.leader or ""


async def test_the_leader_tells_the_scaler_the_work_outstanding(running: Fleet) -> None:
    """DEP-01: KEDA asks every server through the headless service, and the leader knows what waits and is in hand."""
    cluster = running.server
    assert isinstance(cluster, NatsCluster)
    for process in running.processes.started.values():
        if process.name.startswith("backend-workers"):
            await process.stop()
    client = await nats.connect(cluster.url.split(","))
    js = client.jetstream()
    for number in range(6):
        await js.publish(subjects.retrieve(*POOL, "acme", "docs"), b"%d" % number)
    stated = scaler()
    pulling = await js.pull_subscribe_bind(stated["consumer"], stream=stated["stream"])
    held = await pulling.fetch(4, timeout=10)
    assert len(held) == 4
    await held[0].nak(delay=60)

    async def told() -> bool:
        info = await js.consumer_info(stated["stream"], stated["consumer"])
        assert info.cluster is not None
        return await Monitor(cluster.monitoring[info.cluster.leader or ""]).lag() == 6

    assert await eventually(told), "two wait, one waits to be tried again, three are in hand"
    await client.close()
