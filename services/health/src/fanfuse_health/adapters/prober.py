"""Sends one probe through the same streams as any lane, and waits for its reply."""

import asyncio
from typing import Final

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from pydantic import ValidationError

from fanfuse_contracts import flow, streams, subjects
from fanfuse_contracts.health import PROBE_PREFIX
from fanfuse_contracts.plan import RetrieveCommand
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_health.domain import probe
from fanfuse_health.domain.probe import Target, Verdict
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.errors import BusError

_GRACE_S: Final = 0.5
"""A reply that used up the whole budget still has to travel."""


class BusProber:
    """`Prober` over RETRIEVE and RETRIEVED."""

    def __init__(self, bus: Bus, budget_ms: int) -> None:
        self._bus = bus
        self._budget_ms = budget_ms

    async def probe(self, target: Target, number: int) -> Verdict:
        """One command and its reply, or what kept it away. Raises `BusError` if that may have been the bus."""
        query_id = f"{PROBE_PREFIX}{self._bus.instance}-{number}"
        command = probe.build_command(target, query_id, self._bus.now_ns(), self._budget_ms)
        try:
            reply = await self._ask(target, command)
        except (BusError, NatsError) as error:
            found = Verdict(False, str(error))
        else:
            found = probe.NO_REPLY if reply is None else probe.verdict(reply)
        if not found.passed and self._bus.was_interrupted(command.submitted_ns, 0):
            raise BusError(f"the bus was away while the backend was probed: {found.reason}")
        return found

    async def _ask(self, target: Target, command: RetrieveCommand) -> LaneReply | None:
        heard: asyncio.Future[LaneReply] = asyncio.get_running_loop().create_future()

        async def on_reply(msg: Msg) -> None:
            reply = _parse(msg.data)
            if reply is not None and not heard.done():
                heard.set_result(reply)

        live = subjects.live_retrieved_of_query(command.tenant, command.query_id)
        async with self._bus.subscribed(live, on_reply):
            await self._bus.nc.flush()
            await self._publish(target, command)
            try:
                return await asyncio.wait_for(heard, self._budget_ms / 1e3 + _GRACE_S)
            except TimeoutError:
                return await self._stored(command)

    async def _publish(self, target: Target, command: RetrieveCommand) -> None:
        await self._bus.publish(
            flow.RETRIEVE,
            subjects.retrieve(command.kind, target.wiring.pool, command.tenant, command.corpus),
            command,
            streams.message_id(command.tenant, command.query_id, flow.RETRIEVE.name, command.lane),
        )

    async def _stored(self, command: RetrieveCommand) -> LaneReply | None:
        # In a cluster the interest may have come later than the reply.
        subject = subjects.retrieved(command.tenant, command.query_id, command.lane)
        stored = await self._bus.last(streams.RETRIEVED.name, subject)
        return _parse(stored.data) if stored is not None else None


def _parse(data: bytes) -> LaneReply | None:
    try:
        return LaneReply.from_json(data)
    except ValidationError:
        return None
