"""An operator's connection to the bus: the registry of corpora, who is alive, and how far everyone has followed.

Writes are compare-and-set, so two commands never overwrite each other in silence. It builds no index.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import Final, TypeVar

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import APIError, KeyNotFoundError, KeyWrongLastSequenceError, NoKeysError
from nats.js.kv import KeyValue
from pydantic import ValidationError

from fanfuse_all_in_one.databus import BusUnavailableError
from fanfuse_all_in_one.failures import ConflictError
from fanfuse_contracts import limits, streams
from fanfuse_contracts.base import Model
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.health import BackendState, Heartbeat
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.clock import BrokerClock
from fanfuse_runtime.pools import PoolsView
from fanfuse_runtime.setup import TRANSIENT, ensure_topology

M = TypeVar("M", bound=Model)

_CONNECT_TIMEOUT_S: Final = 5.0
_POLL_S: Final = 0.02
_WRONG_LAST_SEQUENCE: Final = frozenset({10071, 10164})
_HEARD_ALL_S: Final = limits.HEARTBEAT_EVERY_S + 0.3
"""After this long every live instance has been heard once."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A card as it stands in the registry. `revision` 0: the key has never been written, or was deleted."""

    card: CorpusCard | None
    revision: int


@dataclass(frozen=True, slots=True)
class ConsumerLag:
    """What a durable consumer has before it."""

    durable: str
    waiting: int
    in_flight: int
    redelivered: int


@dataclass(frozen=True, slots=True)
class StreamLoad:
    """What a stream holds."""

    stream: str
    messages: int
    size_bytes: int
    consumers: tuple[ConsumerLag, ...]


class Operator:
    """What an operator's command does on the bus."""

    def __init__(self, bus: Bus, corpora: KeyValue, backends: KeyValue, *, alone: bool) -> None:
        self.bus = bus
        self._alone = alone
        self._corpora = corpora
        self._backends = backends
        self._pools = PoolsView(bus)
        self._listening_since = time.monotonic()

    async def start(self) -> None:
        """Begin to listen for heartbeats."""
        self._listening_since = time.monotonic()
        await self._pools.start()

    # -- registry -----------------------------------------------------------------------------------------------

    async def card(self, tenant: str, corpus: str) -> Registered:
        """The card of a corpus, with the revision a write must name."""
        try:
            entry = await self._corpora.get(streams.corpus_key(tenant, corpus))
        except KeyNotFoundError as error:
            deleted = error.entry.revision if error.entry is not None else None
            return Registered(None, deleted or 0)
        return Registered(CorpusCard.from_stored(entry.value or b""), entry.revision or 0)

    async def put_card(self, card: CorpusCard, over: int) -> int:
        """Write a card over a known revision; returns the new one. Raises `ConflictError`."""
        key = streams.corpus_key(card.tenant, card.corpus)
        try:
            return await self._corpora.update(key, card.to_json(), last=over)
        except KeyWrongLastSequenceError as error:
            raise ConflictError(
                f"another command changed corpus {card.corpus} of tenant {card.tenant} meanwhile: "
                "nothing was changed, run again"
            ) from error

    async def delete_card(self, tenant: str, corpus: str, over: int) -> int:
        """Take a corpus out of the registry; returns the revision from which on it is gone."""
        try:
            await self._corpora.delete(streams.corpus_key(tenant, corpus), last=over)
        except APIError as error:
            if error.err_code not in _WRONG_LAST_SEQUENCE:
                raise
            raise ConflictError(
                f"another command changed corpus {corpus} of tenant {tenant} meanwhile: nothing was changed, run again"
            ) from error
        return (await self._corpora.status()).stream_info.state.last_seq

    async def cards(self) -> list[CorpusCard]:
        """Every corpus of every tenant, by tenant and id."""
        entries = [await self._corpora.get(key) for key in sorted(await _keys(self._corpora))]
        return _readable(CorpusCard, entries)

    async def backend_states(self) -> list[BackendState]:
        """Every backend that ever had trouble."""
        entries = [await self._backends.get(key) for key in sorted(await _keys(self._backends))]
        return _readable(BackendState, entries)

    async def stream_loads(self) -> list[StreamLoad]:
        """Every stream of the contract, with its durable consumers."""
        return [await self._load(stream.name) for stream in streams.STREAMS]

    async def _load(self, stream: str) -> StreamLoad:
        state = (await self.bus.js.stream_info(stream)).state
        infos = await self.bus.js.consumers_info(stream)
        lags = (
            ConsumerLag(info.name, info.num_pending or 0, info.num_ack_pending or 0, info.num_redelivered or 0)
            for info in infos
            if info.config.durable_name
        )
        return StreamLoad(stream, state.messages, state.bytes, tuple(lags))

    # -- who is alive -------------------------------------------------------------------------------------------

    async def alive(self) -> tuple[Heartbeat, ...]:
        """Every live instance of every service; returns when each had time to be heard."""
        if self._alone:
            return ()
        await asyncio.sleep(max(0.0, self._listening_since + _HEARD_ALL_S - time.monotonic()))
        return self._pools.alive

    async def wait_applied(self, revision: int, timeout_s: float) -> tuple[Heartbeat, ...]:
        """Wait until every live instance has applied a registry revision; returns those that have not in time."""
        deadline = time.monotonic() + timeout_s
        while behind := tuple(beat for beat in await self.alive() if beat.ready and beat.registry_revision < revision):
            if time.monotonic() > deadline:
                return behind
            await asyncio.sleep(_POLL_S)
        return ()

    async def wait_drained(self, timeout_s: float) -> bool:
        """Wait until every query accepted before this call is answered; False if some were not in time."""
        last = (await self.bus.js.stream_info(streams.QUERIES.name)).state.last_seq
        deadline = time.monotonic() + timeout_s
        while True:
            state = (await self.bus.js.stream_info(streams.QUERIES.name)).state
            if state.messages == 0 or state.first_seq > last:
                return True
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_POLL_S)


async def _keys(bucket: KeyValue) -> list[str]:
    try:
        return await bucket.keys()
    except NoKeysError:
        return []


@asynccontextmanager
async def operator_on(url: str, *, alone: bool = False) -> AsyncIterator[Operator]:
    """Connect to the bus, make sure its streams exist, and listen. Raises `BusUnavailableError`.

    `alone`: the bus is this command's own, so there is no instance to wait for.
    """
    problems: list[str] = []
    client = Client()
    try:
        await asyncio.wait_for(_connect(client, url, problems.append), _CONNECT_TIMEOUT_S)
        bus = Bus(client, BrokerClock(), f"{os.getpid()}-{token_hex(3)}")
        await _set_up(bus)
    except (NatsError, OSError, TimeoutError) as error:
        await client.close()
        why = problems[-1] if problems else str(error) or "no answer"
        raise BusUnavailableError(f"no bus at {url}: {why}; start one with `fanfuse up`, or correct the URL") from error
    try:
        corpora = await bus.js.key_value(streams.CORPORA.name)
        backends = await bus.js.key_value(streams.BACKEND_STATE.name)
        operator = Operator(bus, corpora, backends, alone=alone)
        await operator.start()
        yield operator
    finally:
        await client.close()


async def _connect(client: Client, url: str, on_problem: Callable[[str], None]) -> None:
    async def note(error: Exception) -> None:
        on_problem(str(error) or type(error).__name__)

    await client.connect(url.split(","), name="fanfuse-operator", max_reconnect_attempts=-1, error_cb=note)


async def _set_up(bus: Bus) -> None:
    deadline = time.monotonic() + _CONNECT_TIMEOUT_S
    while True:
        try:
            await ensure_topology(bus.js)
        except TRANSIENT:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)
        else:
            return


def _readable(model: type[M], entries: list[KeyValue.Entry]) -> list[M]:
    """What can be read: one faulty value must not hide the others. The services log its key."""
    found: list[M] = []
    for entry in entries:
        with suppress(ValidationError):
            found.append(model.from_json(entry.value or b""))
    return found
