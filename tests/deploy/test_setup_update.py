"""`fanfuse deploy setup --update` on a real server: what differs is named and changed, nothing lost unasked."""

import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path

import nats
import pytest
from nats.js import JetStreamContext, api

from fanfuse_all_in_one.deploying.nats_users import render_account_per_tenant, render_one_account
from fanfuse_all_in_one.deploying.setting_up import set_up
from fanfuse_all_in_one.failures import OperatorError
from fanfuse_contracts import permissions, streams, subjects
from fanfuse_testing.faults.cluster import NatsCluster
from fanfuse_testing.flow import eventually
from tests.deploy.restricted import POOLS, Installation, Render, install


@pytest.fixture(params=[render_account_per_tenant, render_one_account], ids=["accounts", "one account"])
async def bus(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Installation]:
    render: Render = request.param
    installation = install(tmp_path, render)
    monkeypatch.setenv("FANFUSE_NATS_USER", permissions.SETUP)
    monkeypatch.setenv("FANFUSE_NATS_NKEY", str(tmp_path / f"{permissions.SETUP}.nk"))
    with installation.server:
        await installation.set_up()
        yield installation


@pytest.fixture
async def js(bus: Installation) -> AsyncIterator[JetStreamContext]:
    """As the user that may do all of it."""
    client = await nats.connect(bus.server.url, **bus.access(permissions.SETUP).options())
    yield client.jetstream()
    await client.close()


async def update(bus: Installation, *losing: str) -> list[str]:
    """What it says that it changed."""
    said: list[str] = []
    await set_up(bus.server.url, POOLS, 60, update=True, losing=frozenset(losing), say=said.append)
    return said


async def store(bus: Installation, count: int) -> None:
    """Queries of a tenant."""
    client = await nats.connect(bus.server.url, **bus.access("acme").options())
    for number in range(count):
        await client.request(subjects.query_submitted("acme", f"q{number}"), b"{}", timeout=10)
    await client.close()


async def test_what_differs_is_changed_in_place_and_named(bus: Installation, js: JetStreamContext) -> None:
    """An age that the contract has got meanwhile (ADR 0021), a wait, a wait of a pool: messages and copies stay."""
    await store(bus, 3)
    config = (await js.stream_info("QUERIES")).config
    await js.update_stream(config.evolve(max_age=0, description="a note of ours"))
    pool = streams.pool_consumer(*POOLS[0])
    for stream, durable in (("QUERIES", "fuser"), (pool.stream, pool.durable)):
        found = (await js.consumer_info(stream, durable)).config
        await js.add_consumer(stream, found.evolve(ack_wait=7, name=None))
    with pytest.raises(OperatorError, match=r"stream QUERIES exists .*max_age is 0.*--update"):
        await set_up(bus.server.url, POOLS, 60)
    said = await update(bus)
    assert [line.partition(" changed: ")[0] for line in said] == [
        "QUERIES",
        "QUERIES/fuser",
        f"RETRIEVE/{pool.durable}",
    ]
    assert "max_age is 0" in said[0]
    assert "ack_wait is 7" in said[1]
    info = await js.stream_info("QUERIES")
    assert (info.config.max_age, info.state.messages) == (streams.QUERIES.max_age_s, 3)
    assert info.config.description == "a note of ours"
    assert (await js.consumer_info("QUERIES", "fuser")).config.ack_wait == streams.FUSER_CONSUMER.ack_wait_s
    assert await update(bus) == []
    assert bus.refused() == []


async def test_messages_are_given_up_only_where_it_is_said(
    bus: Installation, js: JetStreamContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit that the stream is over, and what a server changes in no stream: both are told with what they cost."""
    await store(bus, 3)
    await js.delete_stream("AUDIT")
    await js.add_stream(api.StreamConfig(name="AUDIT", subjects=["fanfuse.v1.audit.>"], storage=api.StorageType.MEMORY))
    smaller = dataclasses.replace(streams.QUERIES, max_msgs=2)
    monkeypatch.setattr(streams, "STREAMS", tuple(smaller if one.name == "QUERIES" else one for one in streams.STREAMS))
    with pytest.raises(OperatorError) as told:
        await update(bus)
    assert "QUERIES stays as it was (max_msgs is 100000, should be 2): 1 messages over max_msgs would be" in str(
        told.value
    )
    assert "AUDIT stays as it was" in str(told.value)
    assert "storage can't change in place; `--losing AUDIT` makes it anew, without its 0 messages" in str(told.value)
    assert (await js.stream_info("QUERIES")).state.messages == 3
    assert len(await update(bus, "QUERIES", "AUDIT")) == 2
    assert (await js.stream_info("AUDIT")).config.storage == api.StorageType.FILE
    assert (await js.stream_info("QUERIES")).config.max_msgs == 2


async def test_what_the_server_refuses_for_now_is_told_and_nothing_is_deleted(
    bus: Installation, js: JetStreamContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three copies on one server: not even what may be lost is deleted, for it could not be made again."""
    await store(bus, 1)
    monkeypatch.setenv("FANFUSE_STREAM_REPLICAS", "3")
    with pytest.raises(
        OperatorError, match=r"QUERIES stays as it was \(num_replicas is 1, should be 3\): the server refuses"
    ):
        await update(bus, "QUERIES")
    assert (await js.stream_info("QUERIES")).state.messages == 1


@pytest.mark.slow
async def test_a_cluster_that_comes_later_gets_its_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams and buckets with one copy, three servers."""
    with NatsCluster(tmp_path, 3) as cluster:
        await eventually(lambda: set_up(cluster.url, POOLS, 60), 90)
        monkeypatch.setenv("FANFUSE_STREAM_REPLICAS", "3")
        with pytest.raises(OperatorError, match="num_replicas is 1, should be 3"):
            await set_up(cluster.url, POOLS, 60)
        said: list[str] = []
        await set_up(cluster.url, POOLS, 120, update=True, say=said.append)
        assert len(said) == len(streams.STREAMS) + len(streams.BUCKETS)
        client = await nats.connect(cluster.url.split(","))
        for name in (*(one.name for one in streams.STREAMS), *map(permissions.stream_of_bucket, streams.BUCKETS)):
            assert (await client.jetstream().stream_info(name)).config.num_replicas == 3
        await client.close()
