"""Starting, stopping and the broker going away: nothing is lost, nothing is handled twice (NAT-08, NAT-09, NAT-11)."""

import asyncio
import gc
import os
import signal
import sys
import time
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.js import api

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.collector import YOUNG_OBJECTS, SettledCollector
from fanfuse_runtime.compose import Process, compose
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.service import Service
from fanfuse_runtime.settings import Creates, RuntimeSettings
from fanfuse_runtime.setup import Rights, SetupMismatchError, ensure_bucket, ensure_topology

GOOD = b'{"text":"hello"}'
PATIENCE_S = 30.0


async def submit(client: Client, query_id: str) -> None:
    await client.jetstream().publish(subjects.query_submitted("acme", query_id), GOOD)


async def until(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.005)


async def test_a_stop_finishes_what_is_in_flight_and_gives_the_rest_to_others(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    started: list[str] = []
    finished: list[str] = []
    release = asyncio.Event()

    async def slow(_context: Context, delivery: Delivery, _query: SubmittedQuery) -> None:
        started.append(delivery.query_id)
        await release.wait()
        finished.append(delivery.query_id)

    async with run_service(nats_server, slow, in_flight=10, drain_timeout_s=4 * PATIENCE_S):
        for number in range(20):
            await submit(caller, f"q{number}")
        await until(lambda: len(started) == 10, "ten in flight")
        began = time.monotonic()
        asyncio.get_running_loop().call_later(0.5, release.set)
    assert time.monotonic() - began < PATIENCE_S, "it ends with its work, not at the end of its time"
    assert sorted(started) == sorted(finished)
    assert len(finished) == 10
    info = await caller.jetstream().consumer_info(streams.QUERIES.name, "classifier")
    assert (info.num_pending or 0) + (info.num_ack_pending or 0) == 10

    async with run_service(nats_server, slow, in_flight=20):
        # A loop that a busy machine holds for longer than the acknowledgement wait is given some of them twice.
        await until(lambda: len(set(finished)) == 20, "the other ten")
    assert sorted(finished[:10]) == sorted(started[:10])


async def test_work_over_the_drain_timeout_is_given_back(nats_server: NatsServer, caller: Client, run_service) -> None:
    cancelled: list[str] = []

    async def endless(_context: Context, delivery: Delivery, _query: SubmittedQuery) -> None:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.append(delivery.query_id)
            raise

    async with run_service(nats_server, endless, drain_timeout_s=0.3) as process:
        await submit(caller, "q1")
        await until(lambda: process.services[0].router.in_flight == 1, "in flight")
    assert cancelled == ["q1"]
    info = await caller.jetstream().stream_info(streams.QUERIES.name)
    assert info.state.messages == 1


async def test_an_idle_service_handles_the_next_message_without_delay(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    delays: list[float] = []
    sent = 0.0

    async def note(_context: Context, _delivery: Delivery, _query: SubmittedQuery) -> None:
        delays.append(time.monotonic() - sent)

    async with run_service(nats_server, note):
        for number in range(25):
            await asyncio.sleep(0.02)
            sent = time.monotonic()
            await submit(caller, f"q{number}")
            await until(lambda: len(delays) == number + 1, "handled")  # noqa: B023 - awaited inside this iteration
    assert sorted(delays)[len(delays) // 2] < 0.5


async def test_a_service_goes_on_after_the_broker_was_killed(own_nats_server: NatsServer, run_service) -> None:
    handled: set[str] = set()

    async def note(_context: Context, delivery: Delivery, _query: SubmittedQuery) -> None:
        handled.add(delivery.query_id)

    async with run_service(own_nats_server, note):
        client = await nats.connect(own_nats_server.url, max_reconnect_attempts=-1, reconnect_time_wait=0.1)
        await submit(client, "before")
        await until(lambda: "before" in handled, "before the kill")
        own_nats_server.kill()
        await asyncio.sleep(0.5)
        own_nats_server.start()
        await until(lambda: client.is_connected, "reconnected")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                await submit(client, "after")
                break
            except nats.errors.Error:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.1)
        await until(lambda: "after" in handled, "after the restart")
        names = {info.config.name for info in await client.jetstream().streams_info()}
        assert {stream.name for stream in streams.STREAMS} <= names
        await client.close()


async def test_a_stream_or_consumer_with_other_settings_fails_the_start(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    js = caller.jetstream()
    await js.add_stream(api.StreamConfig(name="QUERIES", subjects=[subjects.QUERY_SUBMITTED], max_msgs=5))
    with pytest.raises(SetupMismatchError, match=r"stream QUERIES .*max_msgs is 5, should be 100000"):
        await ensure_topology(js)
    await js.delete_stream("QUERIES")
    await ensure_topology(js)
    await js.delete_consumer("QUERIES", "fuser")
    await js.add_consumer(
        "QUERIES",
        api.ConsumerConfig(
            durable_name="fuser", filter_subject=subjects.QUERY_PLANNED, ack_policy=api.AckPolicy.EXPLICIT
        ),
    )
    with pytest.raises(SetupMismatchError, match=r"consumer fuser .*ack_wait is"):
        await ensure_topology(js)


async def test_one_copy_where_there_should_be_three_is_named(caller: Client) -> None:
    """By who creates everything; others are told no number."""
    js = caller.jetstream()
    await ensure_topology(js)
    three = Rights(Creates.ALL, replicas=3)
    with pytest.raises(SetupMismatchError, match=r"stream QUERIES .*num_replicas is 1, should be 3"):
        await ensure_topology(js, three)
    with pytest.raises(SetupMismatchError, match=r"bucket corpora .*num_replicas is 1, should be 3"):
        await ensure_bucket(js, streams.CORPORA, three)
    for others in (Creates.NOTHING, Creates.MEMORY):
        await ensure_topology(js, Rights(others, replicas=3))


async def test_the_setup_step_may_run_in_many_processes_at_once(nats_server: NatsServer, caller: Client) -> None:
    js = caller.jetstream()
    await asyncio.gather(*(ensure_topology(js) for _ in range(8)))
    found = {info.config.name for info in await js.streams_info()}
    assert {stream.name for stream in streams.STREAMS} <= found


async def test_heartbeats_tell_who_is_alive_and_who_left(nats_server: NatsServer, run_service) -> None:
    async def ignore(_context: Context, _delivery: Delivery, _query: SubmittedQuery) -> None:
        return

    async with compose(settings=RuntimeSettings(nats_url=nats_server.url)) as watcher:
        async with run_service(nats_server, ignore) as process:
            await until(
                lambda: any(b.ready and b.instance == process.context.instance for b in watcher.context.pools.alive),
                "heartbeat heard",
            )
        await until(lambda: not any(b.ready for b in watcher.context.pools.alive), "left")
        assert all(not b.ready for b in watcher.context.pools.alive)


async def test_a_ready_process_sets_its_objects_aside(
    nats_server: NatsServer, run_service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collector's settings, which other tests do without."""

    async def ignore(_context: Context, _delivery: Delivery, _query: SubmittedQuery) -> None:
        return

    monkeypatch.setattr("fanfuse_runtime.compose.SettledCollector", SettledCollector)
    before = gc.get_threshold()
    async with run_service(nats_server, ignore):
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold() == (YOUNG_OBJECTS, *before[1:])
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, before)


async def test_a_start_that_fails_leaves_nothing_behind(nats_server: NatsServer, caller: Client) -> None:
    def broken(context: Context) -> Service:
        async def warm_up() -> None:
            raise FileNotFoundError("no model")

        return Service(Stage.CLASSIFIER, ServiceRouter(Stage.CLASSIFIER, context), warm_up=warm_up)

    before = asyncio.all_tasks()
    with pytest.raises(FileNotFoundError, match="no model"):
        async with compose(broken, settings=RuntimeSettings(nats_url=nats_server.url, ops_port=0)):
            pytest.fail("not ready")
    await asyncio.sleep(0.1)
    assert asyncio.all_tasks() <= before


async def test_a_process_without_a_broker_lives_and_is_not_ready(tmp_path: Path) -> None:
    with NatsServer(tmp_path) as server:
        url = server.url
    process = Process(RuntimeSettings(nats_url=url, ops_port=0))
    starting = asyncio.create_task(process.start(()))
    try:
        await until(lambda: process.ops is not None and process.ops.is_listening, "operators' endpoint")
        assert await status_of(process, "/healthz") == 200
        assert await status_of(process, "/readyz") == 503
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await process.stop()


async def status_of(process: Process, path: str) -> int:
    assert process.ops is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", process.ops.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    line = (await reader.read()).decode().splitlines()[0]
    writer.close()
    return int(line.split()[1])


async def test_a_deleted_consumer_is_made_again(nats_server: NatsServer, caller: Client, run_service) -> None:
    handled: set[str] = set()

    async def note(_context: Context, delivery: Delivery, _query: SubmittedQuery) -> None:
        handled.add(delivery.query_id)

    async with run_service(nats_server, note):
        await caller.jetstream().delete_consumer(streams.QUERIES.name, "classifier")
        await submit(caller, "q1")
        await until(lambda: "q1" in handled, "handled by the new consumer")
        assert (await caller.jetstream().consumer_info(streams.QUERIES.name, "classifier")).name == "classifier"


async def test_a_foreign_key_or_a_faulty_callback_does_not_blind_the_registry(
    nats_server: NatsServer, caller: Client
) -> None:
    async with compose(settings=RuntimeSettings(nats_url=nats_server.url)) as process:
        corpora = process.context.corpora
        broken = [True]

        def fail_once(_key: str, _card: object) -> None:
            if broken and broken.pop():
                raise ValueError("a callback's fault")

        corpora.on_change(fail_once)
        bucket = await caller.jetstream().key_value(streams.CORPORA.name)
        card = CorpusCard(tenant="acme", corpus="docs").to_json()
        for key in ("weird", "a.b.c", "acme.docs"):
            await bucket.put(key, card)
        await until(lambda: corpora.get("acme", "docs") is not None, "the good card")
        await bucket.put("acme.more", CorpusCard(tenant="acme", corpus="more").to_json())
        await until(lambda: corpora.get("acme", "more") is not None, "a card after the fault")
        assert [found.corpus for found in corpora.of_tenant("acme")] == ["docs", "more"]


async def test_a_stop_without_a_broker_ends_cleanly(own_nats_server: NatsServer, run_service) -> None:
    async def ignore(_context: Context, _delivery: Delivery, _query: SubmittedQuery) -> None:
        return

    async with run_service(own_nats_server, ignore) as process:
        own_nats_server.kill()
        await until(lambda: not process.context.bus.nc.is_connected, "disconnected")
    assert process.context.bus.nc.is_closed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_a_start_that_waits_for_its_broker(tmp_path: Path, number: signal.Signals) -> None:
    with NatsServer(tmp_path) as server:
        url = server.url
    waiting = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "fanfuse_fuser",
        env=os.environ | {"NATS_URL": url},
        stderr=asyncio.subprocess.PIPE,
    )
    assert waiting.stderr is not None
    async with asyncio.timeout(PATIENCE_S):
        assert b"bus.error" in await waiting.stderr.readline()
        waiting.send_signal(number)
        assert await waiting.wait() == 0
