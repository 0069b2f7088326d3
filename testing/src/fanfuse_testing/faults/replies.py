"""A bus that loses, holds back, doubles and swaps the lane replies of a worker; everything else passes.

It stands where the worker's own bus stands, so what the fuser meets is what it would meet on the wire.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

from fanfuse_contracts import flow
from fanfuse_runtime.bus import Bus, Publication, Stored

_SWAPPED_WITHIN_S: Final = 0.3


@dataclass(frozen=True, slots=True)
class ReplyFaults:
    """Shares of all replies (at most 1 together), and how long a delayed one is held back."""

    drop: float = 0.0
    delay: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    delay_s: float = 0.5
    seed: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """From `drop=0.01,delay=0.02,delay_s=1,seed=7`; raises `ValueError`, `TypeError`."""
        pairs = [pair.partition("=") for pair in text.split(",") if pair]
        given = {name: int(value) if name == "seed" else float(value) for name, _, value in pairs}
        return cls(**given)  # type: ignore[arg-type]

    def __str__(self) -> str:
        names = ("drop", "delay", "duplicate", "reorder", "delay_s", "seed")
        return ",".join(f"{name}={getattr(self, name)}" for name in names)


class UnreliableBus(Bus):
    """The bus of another one's connection, with faults on its lane replies."""

    def __init__(self, bus: Bus, faults: ReplyFaults) -> None:
        super().__init__(bus.nc, bus._clock, bus.instance)
        self._draw = random.Random(faults.seed)
        self._faults = faults
        self._next_reply = asyncio.Event()

    async def publish_all(self, publications: Sequence[Publication]) -> list[Stored]:
        """As always, but for lane replies."""
        if any(publication.channel is not flow.RETRIEVED for publication in publications):
            return await super().publish_all(publications)
        return [await self._meddle(publication) for publication in publications]

    async def _meddle(self, reply: Publication) -> Stored:
        return await self._chosen()(reply)

    def _chosen(self) -> Callable[[Publication], Awaitable[Stored]]:
        drawn, faults = self._draw.random(), self._faults
        for share, effect in (
            (faults.drop, self._drop),
            (faults.delay, self._delay),
            (faults.duplicate, self._duplicate),
            (faults.reorder, self._reorder),
        ):
            if drawn < share:
                return effect
            drawn -= share
        return self._pass

    async def _pass(self, reply: Publication) -> Stored:
        stored = await self._publish(reply)
        self._next_reply.set()
        self._next_reply = asyncio.Event()
        return stored

    async def _drop(self, _reply: Publication) -> Stored:
        return Stored(duplicate=False)

    async def _delay(self, reply: Publication) -> Stored:
        await asyncio.sleep(self._faults.delay_s)
        return await self._pass(reply)

    async def _duplicate(self, reply: Publication) -> Stored:
        # Under another id: the broker's own deduplication would hide it from the fuser.
        stored = await self._pass(reply)
        await self._publish(reply._replace(message_id=f"{reply.message_id}.again"))
        return stored

    async def _reorder(self, reply: Publication) -> Stored:
        # Stored after the next reply of this process, whichever lane or query that is of.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._next_reply.wait(), _SWAPPED_WITHIN_S)
        return await self._pass(reply)
