"""A watch of a key-value bucket that says truly when every present value was told.

nats-py's own mark for that (an entry None) may come before the first value: it asks the server how much is pending, and
the server may answer "nothing" while the last values are on their way. Here its mark counts only where the bucket holds
nothing; otherwise the first value behind which the server has nothing more ends what is present.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from nats.js.kv import KeyValue

from fanfuse_runtime.bus import Bus

_ALL_WITHIN_S: Final = 10.0
ALL_TOLD: Final = object()
"""Everything present was told; from now on come changes."""


class BucketWatch:
    """Entries of one bucket, deleted ones too, and once `ALL_TOLD`."""

    def __init__(self, bucket: KeyValue, watcher: KeyValue.KeyWatcher) -> None:
        self._bucket = bucket
        self._watcher = watcher
        self._marked = False
        self._at_end = False
        self._told = False

    async def next(self) -> object:
        """The next `KeyValue.Entry`, or `ALL_TOLD`; nothing is lost by a cancellation. Raises nats-py's errors."""
        while True:
            if not self._told and await self._all_told():
                self._told = True
                return ALL_TOLD
            update = await self._watcher._updates.get()
            if isinstance(update, KeyValue.Entry):
                self._at_end = update.delta == 0
                return update
            self._marked = True

    async def _all_told(self) -> bool:
        if self._at_end or (self._marked and await self._is_empty()):
            return True
        self._marked = False
        return False

    async def _is_empty(self) -> bool:
        return not (await self._bucket.status()).stream_info.state.messages


@asynccontextmanager
async def watched(bus: Bus, bucket: KeyValue) -> AsyncIterator[BucketWatch]:
    """Watch all keys of a bucket until the block ends."""
    watcher = await bucket.watchall()
    try:
        yield BucketWatch(bucket, watcher)
    finally:
        if not bus.nc.is_closed:
            await watcher.stop()  # type: ignore[no-untyped-call]


async def present_entries(bus: Bus, bucket: KeyValue) -> list[KeyValue.Entry]:
    """Every value as it stands now, each key once, deleted ones left out. Raises nats-py's errors, `TimeoutError`."""
    found: dict[str, KeyValue.Entry] = {}
    async with asyncio.timeout(_ALL_WITHIN_S), watched(bus, bucket) as watch:
        while (entry := await watch.next()) is not ALL_TOLD:
            if isinstance(entry, KeyValue.Entry):
                found[entry.key] = entry
    return [entry for entry in found.values() if entry.operation is None]
