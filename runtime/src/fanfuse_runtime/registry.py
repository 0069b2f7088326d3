"""Keeps what a process knows of a key-value bucket current: cards of corpora, health of backends.

A watch can be blind for many seconds after a broker restart, so each view starts a new watch on reconnect and compares
its revision with the bucket's every five seconds. An older revision never replaces a newer one.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime

from nats.errors import Error as NatsError
from nats.js.kv import KeyValue
from pydantic import ValidationError

from fanfuse_contracts import limits, streams
from fanfuse_contracts.enums import BackendHealth, Kind
from fanfuse_contracts.health import BackendState
from fanfuse_contracts.tokens import is_token
from fanfuse_runtime.bucket_watch import ALL_TOLD, BucketWatch, watched
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.known import Known, M
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.tasks import end_tasks

_log = get_logger("registry")
_RETRY_S = 0.2
_RETRY_AFTER_FAULT_S = 1.0


class BucketView(Known[M]):
    """The current values of one bucket."""

    def __init__(self, bus: Bus, bucket: str, model: type[M], key_of: Callable[[M], str]) -> None:
        super().__init__()
        self._bus = bus
        self._bucket = bucket
        self._model = model
        self._key_of = key_of
        self._made: datetime | None = None
        self._task: asyncio.Task[None] | None = None
        self._again = asyncio.Event()
        self._loaded = asyncio.Event()

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
        await self._notice_new_bucket(bucket)
        present: set[str] = set()
        async with watched(self._bus, bucket) as watch:
            while not self._again.is_set():
                entry = await self._next(watch, bucket)
                if entry is ALL_TOLD:
                    self.keep_only(present)
                    self._loaded.set()
                elif isinstance(entry, KeyValue.Entry):
                    present.add(entry.key)
                    self._take_in(entry)

    async def _notice_new_bucket(self, bucket: KeyValue) -> None:
        made = (await bucket.status()).stream_info.created
        if self._made not in (None, made):
            # A broker that lost its disk: without this the new bucket's low revisions would count as old ones.
            _log.warning("registry.made_anew", bucket=self._bucket)
            self.begin_anew()
        self._made = made
        self.note_answer()

    async def _next(self, watch: BucketWatch, bucket: KeyValue) -> object:
        update = asyncio.ensure_future(watch.next())
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
        if not done:
            await self._compare(bucket)
        return None

    async def _compare(self, bucket: KeyValue) -> None:
        found = (await bucket.status()).stream_info
        self.note_answer()
        if found.state.last_seq > self.revision or found.created != self._made:
            self._again.set()

    def _take_in(self, entry: KeyValue.Entry) -> None:
        self.note_answer()
        revision = entry.revision or 0
        if self._is_key(entry.key):
            self.apply(entry.key, self._parse(entry), revision)
            return
        # Somebody else's key: nobody may fail over it.
        _log.error("registry.foreign_key", bucket=self._bucket, key=entry.key)
        self.pass_over(revision)

    def _is_key(self, key: str) -> bool:
        """Both buckets have keys of two tokens."""
        tokens = key.split(".")
        return len(tokens) == 2 and all(is_token(token) for token in tokens)

    def _parse(self, entry: KeyValue.Entry) -> M | None:
        if entry.operation is not None or not entry.value:
            return None
        try:
            value = self._model.from_stored(entry.value)
        except ValidationError as error:
            # A value this version can't read is treated as absent: fail closed, and say so.
            _log.error("registry.unreadable", bucket=self._bucket, key=entry.key, error=str(error))
            return None
        if self._key_of(value) != entry.key:
            # Under another's name it would be told to a tenant that it is not of.
            _log.error("registry.wrong_key", bucket=self._bucket, key=entry.key, names=self._key_of(value))
            return None
        return value


class BackendsView(BucketView[BackendState]):
    """Health of every backend that ever had trouble."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(
            bus, streams.BACKEND_STATE.name, BackendState, lambda state: streams.backend_key(state.kind, state.backend)
        )

    @property
    def unhealthy(self) -> frozenset[tuple[Kind, str]]:
        """Backends that must not be asked: degraded, or half-open and waiting for a probe."""
        states = self._values.values()
        return frozenset((s.kind, s.backend) for s in states if s.state is not BackendHealth.HEALTHY)
