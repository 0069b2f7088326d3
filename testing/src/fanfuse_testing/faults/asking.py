"""Queries at a steady rate, and everything that is heard of them.

In: a bus and queries. Out: which were accepted (the broker's acknowledgement), which were not, and every answer that a
subscriber of its own heard. It reads no stream and judges nothing.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import nats
from nats.aio.client import Client as NatsClient
from nats.aio.msg import Msg

from fanfuse_client import Client, ClientError
from fanfuse_contracts import subjects
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_testing.faults.ledger import Heard

_REPUBLISHED: Final = "Nats-Sequence"
"""The broker adds it to what it republishes; an answer that a service sends again has none."""
_PENDING_BYTES: Final = 256 * 1024 * 1024


class Asking:
    """One caller and one subscriber."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.sent = 0
        self.accepted: dict[str, float] = {}
        """Query id to the time at which its acceptance was acknowledged, in monotonic seconds."""
        self.refused: dict[str, str] = {}
        """Query id to the name of the typed error. Where no acknowledgement came the query may still be stored."""
        self.published: Counter[str] = Counter()
        self.resent: Counter[str] = Counter()
        self.interrupted = False
        self.enough = False
        """Set it, and no further query is sent."""

    async def per_second(self, queries: Mapping[str, SubmittedQuery], rate: float) -> None:
        """Every query at its own moment, however long the others take; returns when all are accepted or refused."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number, (query_id, query) in enumerate(queries.items()):
                await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
                if self.enough:
                    break
                group.create_task(self._submit(query_id, query))

    async def _submit(self, query_id: str, query: SubmittedQuery) -> None:
        self.sent += 1
        try:
            await self._client.submit(query, query_id=query_id)
        except ClientError as error:
            self.refused[query_id] = type(error).__name__
        else:
            self.accepted[query_id] = time.monotonic()

    async def hear(self, msg: Msg) -> None:
        """Count one answer."""
        counter = self.published if _REPUBLISHED in (msg.headers or {}) else self.resent
        counter[subjects.parse_query(msg.subject).query_id] += 1

    async def note_interruption(self) -> None:
        """From here on answers may have been missed."""
        self.interrupted = True

    @property
    def heard(self) -> Heard:
        """What was heard so far."""
        return Heard(dict(self.published), dict(self.resent), self.interrupted)


async def patient_client(url: str, name: str, on_disconnect: Callable[[], Awaitable[None]] | None = None) -> NatsClient:
    """A connection that comes back after every outage, and says nothing of it."""

    async def ignore(_error: Exception) -> None:
        return

    return await nats.connect(
        url.split(","),
        name=name,
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.1,
        error_cb=ignore,
        disconnected_cb=on_disconnect,
    )


@asynccontextmanager
async def asking_on(url: str, tenant: str) -> AsyncIterator[Asking]:
    """A caller of a tenant, and a subscriber to all its answers on a connection of its own."""
    async with Client(url, tenant, principal=Principal(id="caller")) as client:
        asking = Asking(client)
        ear = await patient_client(url, "subscriber", asking.note_interruption)
        try:
            await ear.subscribe(subjects.answered_of_tenant(tenant), cb=asking.hear, pending_bytes_limit=_PENDING_BYTES)
            await ear.flush()
            yield asking
        finally:
            await ear.close()
