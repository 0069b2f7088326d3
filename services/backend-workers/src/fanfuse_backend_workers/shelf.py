"""One opened thing per key, replaced between two uses.

In: wishes (this version, opened so). Out: leases. A new version is opened beside the live one, takes its place in one
step, and the old one is closed when nobody uses it. A version that cannot be opened is a typed failure of its key: the
old one never stands in for it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind
from fanfuse_runtime.logs import get_logger

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Opener = Callable[[], Awaitable[T]]

OPENING_AT_A_TIME: Final = 4
TRY_AGAIN_AFTER_S: Final = 5.0

_log = get_logger("backend-workers.shelf")


@dataclass(slots=True)
class _Opened(Generic[T]):
    """Stays open inside each `with`, whose target is the thing."""

    thing: T
    users: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    def __enter__(self) -> T:
        self.users += 1
        self.idle.clear()
        return self.thing

    def __exit__(self, *_raised: object) -> None:
        self.users -= 1
        if self.users == 0:
            self.idle.set()


@dataclass(frozen=True, slots=True, eq=False)
class _Wish(Generic[T]):
    version: object
    opener: Opener[T] | None
    """None: nothing is wanted any more."""


@dataclass(slots=True)
class _Entry(Generic[T]):
    wish: _Wish[T]
    since: int
    live: _Opened[T] | None = None
    error: SearchError | None = None
    failed_at: float = 0.0
    switching: asyncio.Task[None] | None = None
    retiring: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def settled(self) -> bool:
        return self.switching is None and not self.retiring


class Shelf(Generic[K, T]):
    """Opened things by key. One event loop; not for several threads."""

    def __init__(self, close: Callable[[T], Awaitable[None]]) -> None:
        self._close = close
        self._entries: dict[K, _Entry[T]] = {}
        self._opening = asyncio.Semaphore(OPENING_AT_A_TIME)
        self._changed = asyncio.Event()

    @property
    def keys(self) -> tuple[K, ...]:
        """Every key something is wanted or still open for."""
        return tuple(self._entries)

    def want(self, key: K, version: object, opener: Opener[T], since: int) -> None:
        """Have this version under `key` from soon on. `since`: registry revision before this wish."""
        entry = self._entries.get(key)
        if entry is not None and entry.wish.opener is not None and entry.wish.version == version and not entry.error:
            return
        self._switch_to(key, _Wish(version, opener), since)

    def drop(self, key: K, since: int) -> None:
        """Have nothing under `key` from soon on."""
        if key in self._entries:
            self._switch_to(key, _Wish(None, None), since)

    def unsettled_since(self) -> int | None:
        """Lowest `since` of the wishes that are not carried out yet (a replaced thing still in use counts); or None."""
        return min((entry.since for entry in self._entries.values() if not entry.settled), default=None)

    @property
    def unopened(self) -> tuple[K, ...]:
        """Keys whose first thing is still being opened; what failed to open is none of them."""
        return tuple(
            key for key, entry in self._entries.items() if entry.live is None and not entry.error and entry.wish.opener
        )

    async def settled(self) -> None:
        """Return when every wish is carried out, or has failed."""
        while self.unsettled_since() is not None:
            await self._changed.wait()

    async def lease(self, key: K, wait_s: float) -> AbstractContextManager[T]:
        """The live thing, kept open inside the block, which begins at once. Raises the typed failure of its opening,
        or NOT_FOUND."""
        return await self._live(key, wait_s)

    async def close(self) -> None:
        """Close everything; nothing may be in use."""
        tasks = [task for entry in self._entries.values() for task in (entry.switching, *entry.retiring) if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for entry in self._entries.values():
            if entry.live is not None:
                await self._close_one(entry.live.thing)
        self._entries.clear()

    # -- using --------------------------------------------------------------------------------------------------

    async def _live(self, key: K, wait_s: float) -> _Opened[T]:
        deadline = time.monotonic() + wait_s
        while True:
            entry = self._entries.get(key)
            if entry is not None and entry.live is not None:
                return entry.live
            if entry is not None and entry.error is not None and entry.switching is None:
                raise self._again_later(key, entry, entry.error)
            left = deadline - time.monotonic()
            if left <= 0:
                what = "not known to this worker" if entry is None else "still being opened by this worker"
                raise SearchError(FailureKind.NOT_FOUND, f"{what}: try again in a moment")
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()

    def _again_later(self, key: K, entry: _Entry[T], error: SearchError) -> SearchError:
        if time.monotonic() - entry.failed_at >= TRY_AGAIN_AFTER_S:
            self._switch_to(key, _Wish(entry.wish.version, entry.wish.opener), entry.since)
        return SearchError(error.kind, error.message)

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    # -- switching ----------------------------------------------------------------------------------------------

    def _switch_to(self, key: K, wish: _Wish[T], since: int) -> None:
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(wish, since)
        elif entry.settled:
            entry.since = since
        entry.wish = wish
        if entry.switching is None:
            entry.switching = asyncio.create_task(self._switch(key, entry))

    async def _switch(self, key: K, entry: _Entry[T]) -> None:
        applied: _Wish[T] | None = None
        while entry.wish is not applied:
            applied = entry.wish
            opened, error = await self._open(key, applied)
            if entry.wish is applied:
                self._replace(key, entry, opened, error)
            elif opened is not None:
                await self._close_one(opened.thing)
        entry.switching = None
        self._forget_if_done(key, entry)

    async def _open(self, key: K, wish: _Wish[T]) -> tuple[_Opened[T] | None, SearchError | None]:
        if wish.opener is None:
            return None, None
        try:
            async with self._opening:
                return _Opened(await wish.opener()), None
        except SearchError as error:
            _log.warning("shelf.not_opened", key=str(key), kind=error.kind.value, error=error.message)
            return None, error
        except Exception as error:  # noqa: BLE001 - whatever an index does when opened, the other corpora live on
            _log.error("shelf.not_opened", key=str(key), exc_info=error)
            message = f"this worker cannot open it ({type(error).__name__}): see its log"
            return None, SearchError(FailureKind.CONFIG, message)

    def _replace(self, key: K, entry: _Entry[T], opened: _Opened[T] | None, error: SearchError | None) -> None:
        old, entry.live, entry.error = entry.live, opened, error
        entry.failed_at = time.monotonic()
        if old is not None:
            task = asyncio.create_task(self._retire(old))
            entry.retiring.add(task)
            task.add_done_callback(lambda done: self._retired(key, entry, done))
        self._tell()

    async def _retire(self, old: _Opened[T]) -> None:
        while old.users:
            await old.idle.wait()
        await self._close_one(old.thing)

    def _retired(self, key: K, entry: _Entry[T], task: asyncio.Task[None]) -> None:
        entry.retiring.discard(task)
        self._forget_if_done(key, entry)

    def _forget_if_done(self, key: K, entry: _Entry[T]) -> None:
        if entry.settled and entry.wish.opener is None and self._entries.get(key) is entry:
            del self._entries[key]
        self._tell()

    async def _close_one(self, thing: T) -> None:
        try:
            await self._close(thing)
        except Exception as error:  # noqa: BLE001 - a file that cannot be closed must not stop the switch
            _log.error("shelf.not_closed", exc_info=error)
