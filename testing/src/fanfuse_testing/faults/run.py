"""One run: a load at a steady rate, faults meanwhile, and the balance when nothing waits any more.

In: running processes, queries, faults. Out: a `Result`. It starts and stops no fleet.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import APIError

from fanfuse_contracts.query import SubmittedQuery
from fanfuse_testing.faults import reading
from fanfuse_testing.faults.asking import Asking, asking_on, patient_client
from fanfuse_testing.faults.doing import Havoc
from fanfuse_testing.faults.fleet import Fleet
from fanfuse_testing.faults.ledger import Balance, balance
from fanfuse_testing.faults.schedule import Fault
from fanfuse_testing.flow import eventually

SETTLED_WITHIN_S: Final = 90.0
"""Five deliveries, and the janitor's repair of a message whose advisory was stored."""
SWEPT_WITHIN_S: Final = 360.0
"""Where advisories are lost too, the janitor's sweep finds the message: it runs each minute, and waits until a message
is older than any budget."""
_SECOND_ANSWER_WITHIN_S: Final = 1.0
_SAY_EVERY_S: Final = 10.0

Say = Callable[[str], None]
Plant = Callable[[Client, Asking], Awaitable[None]]
"""Spoils what is stored or heard before it is read, to show that the ledger finds it."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked, how fast, and within which budget."""

    tenant: str
    queries: Mapping[str, SubmittedQuery]
    rate: float
    budget_ms: int
    settled_within_s: float = SETTLED_WITHIN_S
    """How long answers are waited for after the last query and fault."""
    until_mended: bool = False
    """Ask until the last fault is over, however long that takes, and no longer; the queries must last."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a run."""

    balance: Balance
    refused: Mapping[str, int]
    faults: Mapping[str, int]
    seconds: float
    settled: bool
    """Nothing waited in any work queue at the end."""
    drained_s: Sequence[float] = ()
    """From SIGTERM to the end of each process that was replaced."""


async def run(fleet: Fleet, load: Load, faults: Sequence[Fault], say: Say, plant: Plant | None = None) -> Result:
    """Ask everything while the faults happen, wait until all is quiet, and settle."""
    havoc = Havoc(fleet.processes, fleet.server, fleet.disk)
    began = time.monotonic()
    reader = await patient_client(fleet.server.url, "reader")
    earlier = await reading.stored_ids(reader, load.tenant)
    async with asking_on(fleet.server.url, load.tenant) as asking:
        telling = asyncio.create_task(_tell(asking, len(load.queries), havoc, say))
        try:
            await asyncio.gather(
                asking.per_second(load.queries, load.rate), _break(havoc, faults, asking if load.until_mended else None)
            )
            settled = await _settle(reader, asking, load)
            if plant is not None:
                await plant(reader, asking)
            await asyncio.sleep(_SECOND_ANSWER_WITHIN_S)
            stored = [one for one in await reading.stored_answers(reader, load.tenant) if one.query_id not in earlier]
        finally:
            telling.cancel()
            await reader.close()
    settled_up = balance(asking.accepted, asking.refused, stored, asking.heard, load.budget_ms)
    return Result(
        settled_up,
        Counter(asking.refused.values()),
        Counter(f"{kind.value} {victim}" for (kind, victim), times in havoc.done.items() for _ in range(times)),
        time.monotonic() - began,
        settled,
        tuple(havoc.drained_s),
    )


async def _break(havoc: Havoc, faults: Sequence[Fault], asking: Asking | None) -> None:
    await havoc.run(faults)
    if asking is not None:
        asking.enough = True


async def _settle(reader: Client, asking: Asking, load: Load) -> bool:
    """Wait until every accepted query has its answer and no work is left; False if that takes too long."""
    try:
        await eventually(lambda: _is_settled(reader, asking, load.tenant), load.settled_within_s, 0.25)
    except TimeoutError:
        return False
    return True


async def _is_settled(reader: Client, asking: Asking, tenant: str) -> bool:
    try:
        if not asking.accepted.keys() <= await reading.stored_ids(reader, tenant):
            return False
        return await reading.waiting_work(reader) == 0
    except (NatsError, APIError):
        return False  # the broker has just come back


async def _tell(asking: Asking, queries: int, havoc: Havoc, say: Say) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(_SAY_EVERY_S)
        say(
            f"{time.monotonic() - began:.0f} s: {asking.sent} of {queries} sent, {len(asking.accepted)} accepted, "
            f"{len(asking.refused)} not, {len(asking.published)} answers heard, {havoc.done.total()} faults"
        )
