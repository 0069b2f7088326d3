"""What a process knows of corpora and backends: views of the key-value buckets, kept current by a watch.

A watch can be blind for many seconds after a broker restart, so each view starts a new watch on reconnect and compares
its revision with the bucket's every five seconds. An older revision never replaces a newer one.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from nats.errors import Error as NatsError
from nats.js.kv import KeyValue
from pydantic import ValidationError

from fanfuse_contracts import limits, streams
from fanfuse_contracts.base import Model
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import BackendHealth, Kind
from fanfuse_contracts.health import BackendState
from fanfuse_contracts.tokens import is_token
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.tasks import end_tasks

_log = get_logger("registry")
_RETRY_S = 0.2
_RETRY_AFTER_FAULT_S = 1.0

M = TypeVar("M", bound=Model)


class BucketView(Generic[M]):
    """The current values of one bucket."""

    def __init__(self, bus: Bus, bucket: str, model: type[M]) -> None:
        self._bus = bus
        self._bucket = bucket
        self._model = model
        self._values: dict[str, M] = {}
        self._revisions: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None
        self._again = asyncio.Event()
        self._loaded = asyncio.Event()
        self._callbacks: list[Callable[[str, M | None], None]] = []
        self.revision = 0
        """Highest revision of the bucket this view has applied."""

    @property
    def values(self) -> Mapping[str, M]:
        """Key to value."""
        return self._values

    def on_change(self, callback: Callable[[str, M | None], None]) -> None:
        """Call with key and value (None: deleted) after each change, and now for every known value."""
        self._callbacks.append(callback)
        for key, value in self._values.items():
            callback(key, value)

    async def start(self, timeout_s: float = 10.0) -> None:
        """Watch, and return when every present value is known."""
        self._task = asyncio.create_task(self._run())
        await asyncio.wait_for(self._loaded.wait(), timeout_s)

    async def stop(self) -> None:
        """Stop watching."""
        if self._task is not None:
            await end_tasks((self._task,))

    def reread(self) -> None:
        """Start a new watch now (after a reconnect)."""
        self._again.set()

    async def _run(self) -> None:
        while True:
            try:
                bucket = await self._bus.js.key_value(self._bucket)
                await self._watch(bucket)
            except (NatsError, TimeoutError) as error:
                _log.warning("registry.watch_failed", bucket=self._bucket, error=str(error))
                await asyncio.sleep(_RETRY_S)
            except Exception as error:  # noqa: BLE001 - one bad change must not blind this process for good
                _log.error("registry.watch_broke", bucket=self._bucket, exc_info=error)
                await asyncio.sleep(_RETRY_AFTER_FAULT_S)

    async def _watch(self, bucket: KeyValue) -> None:
        self._again.clear()
        watcher = await bucket.watchall()
        present: set[str] = set()
        try:
            while not self._again.is_set():
                entry = await self._next(watcher, bucket)
                if entry is _IDLE:
                    continue
                if entry is None:
                    self._drop_missing(present)
                    self._loaded.set()
                elif isinstance(entry, KeyValue.Entry):
                    present.add(entry.key)
                    self._apply(entry)
        finally:
            if not self._bus.nc.is_closed:
                await watcher.stop()  # type: ignore[no-untyped-call]

    async def _next(self, watcher: KeyValue.KeyWatcher, bucket: KeyValue) -> object:
        update = asyncio.ensure_future(watcher._updates.get())
        again = asyncio.ensure_future(self._again.wait())
        try:
            done, _ = await asyncio.wait(
                (update, again), timeout=limits.KV_REREAD_EVERY_S, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            again.cancel()
            if not update.done():
                update.cancel()
        if update in done:
            return update.result()
        if not done and (await bucket.status()).stream_info.state.last_seq > self.revision:
            self._again.set()
        return _IDLE

    def _apply(self, entry: KeyValue.Entry) -> None:
        revision = entry.revision or 0
        if not self._is_key(entry.key):
            # Somebody else's key: nobody may fail over it.
            _log.error("registry.foreign_key", bucket=self._bucket, key=entry.key)
            self.revision = max(self.revision, revision)
            return
        if revision <= self._revisions.get(entry.key, 0):
            return
        self._revisions[entry.key] = revision
        value = self._parse(entry)
        if value is None:
            self._values.pop(entry.key, None)
        else:
            self._values[entry.key] = value
        self._tell(entry.key, value)
        self.revision = max(self.revision, revision)

    def _is_key(self, key: str) -> bool:
        """Both buckets have keys of two tokens."""
        tokens = key.split(".")
        return len(tokens) == 2 and all(is_token(token) for token in tokens)

    def _parse(self, entry: KeyValue.Entry) -> M | None:
        if entry.operation is not None or not entry.value:
            return None
        try:
            return self._model.from_stored(entry.value)
        except ValidationError as error:
            # A value this version can't read is treated as absent: fail closed, and say so.
            _log.error("registry.unreadable", bucket=self._bucket, key=entry.key, error=str(error))
            return None

    def _drop_missing(self, present: set[str]) -> None:
        for key in self._values.keys() - present:
            del self._values[key]
            self._tell(key, None)

    def _tell(self, key: str, value: M | None) -> None:
        for callback in self._callbacks:
            callback(key, value)


_IDLE = object()


class CorporaView(BucketView[CorpusCard]):
    """Every corpus of every tenant."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus, streams.CORPORA.name, CorpusCard)
        self._by_tenant: dict[str, dict[str, CorpusCard]] = {}
        super().on_change(self._index)

    def _index(self, key: str, card: CorpusCard | None) -> None:
        tenant, _, corpus = key.partition(".")
        if card is None:
            self._by_tenant.get(tenant, {}).pop(corpus, None)
        else:
            self._by_tenant.setdefault(tenant, {})[corpus] = card

    def of_tenant(self, tenant: str) -> tuple[CorpusCard, ...]:
        """The corpora of one tenant, by id; empty for an unknown tenant."""
        cards = self._by_tenant.get(tenant, {})
        return tuple(cards[corpus] for corpus in sorted(cards))

    def get(self, tenant: str, corpus: str) -> CorpusCard | None:
        """One corpus, or None."""
        return self._by_tenant.get(tenant, {}).get(corpus)


class BackendsView(BucketView[BackendState]):
    """Health of every backend that ever had trouble."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus, streams.BACKEND_STATE.name, BackendState)

    @property
    def unhealthy(self) -> frozenset[tuple[Kind, str]]:
        """Backends that must not be asked: degraded, or half-open and waiting for a probe."""
        states = self._values.values()
        return frozenset((s.kind, s.backend) for s in states if s.state is not BackendHealth.HEALTHY)
