"""The floor: the same stored messages as one query of the flow, carried by plain nats-py, and nothing else.

Run by the benchmark as `python -m fanfuse_bench.floor <url> <recording> <delay in ms>`. Bodies are recorded bytes that
nobody parses, decides on or traces; streams, consumers, subjects, message ids, acknowledgements and the join are those
of the flow. Not in it: texts, audit, outcomes, heartbeats, redelivery, and every decision.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from fanfuse_bench.metering import Meter, obey
from fanfuse_bench.recording import Lane, Recording, read
from fanfuse_contracts import headers, streams, subjects
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.streams import ConsumerSpec
from fanfuse_runtime.setup import ensure_consumer, ensure_topology

_SLOTS: Final = 64
_EXPIRES_NS: Final = 30_000_000_000
_DIRECT_GET: Final = f"$JS.API.DIRECT.GET.{streams.RETRIEVED.name}"
_QUERY_ID: Final = "Bench-Query-Id"
_PENDING: Final = "Nats-Pending-Messages"

Handle = Callable[[Msg], Awaitable[None]]


async def publish(client: Client, subject: str, body: bytes, message_id: str, **more: str) -> None:
    """Publish into a stream and wait for the acknowledgement."""
    answer = await client.request(subject, body, timeout=5.0, headers={headers.MESSAGE_ID: message_id, **more})
    assert b'"error"' not in answer.data, answer.data


async def consume(client: Client, spec: ConsumerSpec, handle: Handle) -> None:
    """Ask for `_SLOTS` messages, and again whenever half of them have come; handle each in a task of its own."""
    next_subject = f"$JS.API.CONSUMER.MSG.NEXT.{spec.stream}.{spec.durable}"
    inbox = client.new_inbox()
    owed = _SLOTS
    tasks: set[asyncio.Task[None]] = set()

    async def ask(batch: int) -> None:
        await client.publish(next_subject, json.dumps({"batch": batch, "expires": _EXPIRES_NS}).encode(), reply=inbox)

    async def hear(msg: Msg) -> None:
        nonlocal owed
        if not msg.reply:  # a request has run out: ask for what it left open
            await ask(int((msg.headers or {})[_PENDING]))
            return
        owed -= 1
        task = asyncio.create_task(run(msg))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        if owed <= _SLOTS // 2:
            missing, owed = _SLOTS - owed, _SLOTS
            await ask(missing)

    async def run(msg: Msg) -> None:
        await handle(msg)
        await client.publish(msg.reply, b"+ACK")

    await client.subscribe(inbox, cb=hear)
    await ask(_SLOTS)


class Stages:
    """The handlers: each publishes what the stage of that name publishes."""

    def __init__(self, client: Client, recording: Recording, delay_s: float) -> None:
        self._client = client
        self._recording = recording
        self._delay_s = delay_s
        self._replies = {lane.command_subject: lane for lane in recording.lanes}

    async def classify(self, msg: Msg) -> None:
        """Submitted → classified."""
        tenant, query_id = subjects.parse_query(msg.subject)
        subject = subjects.query_classified(tenant, query_id)
        await publish(self._client, subject, self._recording.classified, f"{tenant}.{query_id}.classifier.0")

    async def route(self, msg: Msg) -> None:
        """Classified → commands, then the plan."""
        tenant, query_id = subjects.parse_query(msg.subject)
        await asyncio.gather(*(self._command(lane, tenant, query_id) for lane in self._recording.lanes))
        subject = subjects.query_planned(tenant, query_id)
        await publish(self._client, subject, self._recording.planned, f"{tenant}.{query_id}.router.0")

    async def _command(self, lane: Lane, tenant: str, query_id: str) -> None:
        message_id = f"{tenant}.{query_id}.router.{lane.name}.0"
        # The one thing a worker of the floor must know, as it reads no body.
        await publish(self._client, lane.command_subject, lane.command, message_id, **{_QUERY_ID: query_id})

    async def retrieve(self, msg: Msg) -> None:
        """Command → reply, after the engine's delay."""
        lane = self._replies[msg.subject]
        tenant, query_id = msg.subject.split(".")[-2], (msg.headers or {})[_QUERY_ID]
        await asyncio.sleep(self._delay_s)
        subject = subjects.retrieved(tenant, query_id, lane.name)
        await publish(self._client, subject, lane.reply, f"{tenant}.{query_id}.retrieved.{lane.name}.0")

    async def join(self, msg: Msg) -> None:
        """Plan → subscribe, read what is stored, wait for every lane, store the answer."""
        tenant, query_id = subjects.parse_query(msg.subject)
        waiting = {lane.name for lane in self._recording.lanes}
        done = asyncio.Event()

        async def hear(reply: Msg) -> None:
            waiting.discard(reply.subject.rsplit(".", 1)[-1])
            if not waiting:
                done.set()

        live = await self._client.subscribe(subjects.live_retrieved_of_query(tenant, query_id), cb=hear)
        await self._client.flush()
        waiting -= await self._stored(tenant, query_id)
        if waiting:
            await asyncio.wait_for(done.wait(), 10.0)
        await live.unsubscribe()
        answer_id = streams.answer_id(tenant, query_id)
        await publish(self._client, subjects.query_fused(tenant, query_id), self._recording.answer, answer_id)

    async def _stored(self, tenant: str, query_id: str) -> set[str]:
        inbox, found, over = self._client.new_inbox(), set(), asyncio.Event()

        async def hear(msg: Msg) -> None:
            subject = (msg.headers or {}).get("Nats-Subject")
            if subject is None:
                over.set()
            else:
                found.add(subject.rsplit(".", 1)[-1])

        reading = await self._client.subscribe(inbox, cb=hear)
        request = {"multi_last": [subjects.retrieved_of_query(tenant, query_id)]}
        await self._client.publish(_DIRECT_GET, json.dumps(request).encode(), reply=inbox)
        await asyncio.wait_for(over.wait(), 5.0)
        await reading.unsubscribe()
        return found


async def _serve(url: str, recording: str, delay_ms: str) -> None:
    client = await nats.connect(url)
    js = client.jetstream()
    await ensure_topology(js)
    stages = Stages(client, read(Path(recording)), float(delay_ms) / 1e3)
    await consume(client, streams.CLASSIFIER_CONSUMER, stages.classify)
    await consume(client, streams.ROUTER_CONSUMER, stages.route)
    await consume(client, streams.FUSER_CONSUMER, stages.join)
    for kind in Kind:
        spec = streams.pool_consumer(kind, "main")
        await ensure_consumer(js, spec)
        await consume(client, spec, stages.retrieve)
    await obey(Meter())
    await client.close()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:4]))
