"""An operator's connection to the bus: the registry of corpora, who is alive, and how far everyone has followed.

Writes are compare-and-set, so two commands never overwrite each other in silence. It builds no index.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Final, TypeVar

from nats.errors import Error as NatsError
from nats.js.kv import KeyValue
from pydantic import ValidationError

from fanfuse_all_in_one.connecting import OperatorConnection
from fanfuse_all_in_one.failures import ConflictError, OperatorError
from fanfuse_backend_workers.adapters.engines import connect_server
from fanfuse_backend_workers.connections import Connections
from fanfuse_contracts import limits, streams
from fanfuse_contracts.addresses import without_login
from fanfuse_contracts.base import Model
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.health import BackendState, Heartbeat
from fanfuse_runtime.bucket_watch import present_entries
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.clock import BrokerClock
from fanfuse_runtime.configfile import load_config
from fanfuse_runtime.corpus_store import ConflictError as StoreConflictError
from fanfuse_runtime.corpus_store import CorpusStore, Registered, RegistryError, UnreadableCardError
from fanfuse_runtime.masking import mask
from fanfuse_runtime.memory_store import MemoryCorpusStore
from fanfuse_runtime.pools import PoolsView
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_runtime.setup import Rights, SetupError, ensure_topology, in_time, rights_of
from fanfuse_runtime.stores import build_store

M = TypeVar("M", bound=Model)

_CONNECT_TIMEOUT_S: Final = 5.0
_SETUP_TRIES: Final = 25
_POLL_S: Final = 0.02
_HEARD_ALL_S: Final = limits.HEARTBEAT_EVERY_S + 0.3
"""After this long every live instance has been heard once."""


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

    def __init__(
        self,
        connection: OperatorConnection,
        bus: Bus,
        corpora: CorpusStore,
        backends: KeyValue,
        config: FanfuseConfig,
        data_dir: Path,
        *,
        alone: bool,
    ) -> None:
        self.connection = connection
        self.bus = bus
        self.config = config
        self.servers = Connections(config.backends, connect_server)
        self.data_dir = data_dir
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
        with _plainly():
            return await self._corpora.read(tenant, corpus)

    async def what_stands(self, tenant: str, corpus: str) -> Registered:
        """The same; of a card that can't be read, why."""
        with _plainly():
            try:
                return await self._corpora.read(tenant, corpus)
            except UnreadableCardError as error:
                return Registered(None, error.revision, error)

    async def put_card(self, card: CorpusCard, over: int) -> int:
        """Write a card over a known revision; returns the new one. Raises `ConflictError`, `OperatorError`."""
        with _plainly():
            return await self._corpora.put(card, over)

    async def delete_card(self, tenant: str, corpus: str, over: int) -> int:
        """Take a corpus out of the registry; returns the revision from which on it is gone."""
        with _plainly():
            return await self._corpora.delete(tenant, corpus, over)

    async def registered(self) -> tuple[Registered, ...]:
        """Every corpus of every tenant with its revision, by tenant and id."""
        with _plainly():
            return await self._corpora.read_all()

    async def cards(self) -> list[CorpusCard]:
        """Every corpus of every tenant, by tenant and id."""
        return [found.card for found in await self.registered() if found.card is not None]

    def stated(self, tenant: str, corpus: str) -> CorpusCard | None:
        """What the operators' file says of a corpus; None if nothing, or if there is no file."""
        cards = self.config.cards()
        return next((card for card in cards if (card.tenant, card.corpus) == (tenant, corpus)), None)

    def refuse_unwritable(self, card: CorpusCard) -> None:
        """Raise `OperatorError` if the registry would not take such a card, whatever its revision."""
        objection = self._corpora.objection(card)
        if objection is not None:
            raise OperatorError(objection)

    async def backend_states(self) -> list[BackendState]:
        """Every backend that ever had trouble."""
        entries = await present_entries(self.bus, self._backends)
        return _readable(BackendState, sorted(entries, key=lambda entry: entry.key))

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


@contextmanager
def _plainly() -> Iterator[None]:
    """Errors of the registry as those of an operator's command."""
    try:
        yield
    except StoreConflictError as error:
        raise ConflictError(str(error)) from error
    except RegistryError as error:
        raise OperatorError(str(error)) from error


@asynccontextmanager
async def operator_on(
    url: str,
    *,
    alone: bool = False,
    config: FanfuseConfig | None = None,
    data_dir: Path | None = None,
) -> AsyncIterator[Operator]:
    """Connect to the bus, make sure its streams exist, and listen. Raises `BusUnavailableError`, `OperatorError`;
    `NotAllowedError` as soon as the bus refuses something to the command's user.

    `alone`: the bus is this command's own, so there is no instance to wait for. `config` says where the registry is,
    and `data_dir` where `registry.store: memory` keeps what `index` makes; None: what the environment says, as for a
    service.
    """
    settings = RuntimeSettings()
    stated = load_config(settings.config_file) if config is None else config
    data = data_dir or settings.data_dir
    connection = OperatorConnection(url, settings.access())
    await connection.open()
    try:
        async with connection.allowed():
            bus = await _bus_on(connection, url, rights_of(settings))
            with _plainly():
                store = build_store(stated, bus, data)
            try:
                backends = await bus.js.key_value(streams.BACKEND_STATE.name)
                operator = Operator(connection, bus, store, backends, stated, data, alone=alone)
                await operator.start()
                try:
                    yield operator
                finally:
                    await operator.servers.close()
            finally:
                await store.stop()
    finally:
        await connection.client.close()


async def cards_of_file(config: FanfuseConfig, data_dir: Path) -> list[CorpusCard]:
    """Every corpus of a file that is the registry itself (`registry.store: memory`): no bus is needed."""
    with _plainly():
        found = await MemoryCorpusStore(config.cards(), data_dir).read_all()
    return [each.card for each in found if each.card is not None]


async def _bus_on(connection: OperatorConnection, url: str, rights: Rights) -> Bus:
    clock = BrokerClock()
    bus = Bus(connection.client, clock, f"{os.getpid()}-{token_hex(3)}")
    try:
        await in_time(lambda: ensure_topology(bus.js, rights), tries=_SETUP_TRIES, others_create=False)
        await clock.measure(connection.client)
    except SetupError as error:
        raise OperatorError(f"{without_login(url)}: {mask(str(error))}") from error
    except (NatsError, OSError, TimeoutError) as error:
        raise connection.unavailable(error) from error
    return bus


def _readable(model: type[M], entries: list[KeyValue.Entry]) -> list[M]:
    """What can be read: one faulty value must not hide the others. The services log its key."""
    found: list[M] = []
    for entry in entries:
        with suppress(ValidationError):
            found.append(model.from_json(entry.value or b""))
    return found
