"""Reads the audit of routing decisions.

In: how many. Out: the last of them, oldest first. It changes nothing.
"""

from typing import Final

from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.api import ConsumerConfig, DeliverPolicy
from pydantic import ValidationError

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.operations import RouteAudited
from fanfuse_runtime.bus import Bus

_NEXT_TIMEOUT_S: Final = 5.0


async def last_audits(bus: Bus, last: int, tenant: str | None = None) -> list[RouteAudited]:
    """The last `last` decisions of the stream, those of one tenant if it is given. Raises `TimeoutError`."""
    state = (await bus.js.stream_info(streams.AUDIT.name)).state
    if not state.messages:
        return []
    start = max(state.first_seq, state.last_seq - last + 1)
    subscription = await bus.js.subscribe(
        subjects.AUDIT,
        stream=streams.AUDIT.name,
        ordered_consumer=True,
        config=ConsumerConfig(deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=start),
    )
    found: list[RouteAudited] = []
    try:
        while True:
            message = await subscription.next_msg(timeout=_NEXT_TIMEOUT_S)
            if (audited := _parse(message.data)) is not None:
                found.append(audited)
            if message.metadata.num_pending == 0:
                break
    except NatsTimeoutError as error:
        raise TimeoutError("the audit of decisions can't be read") from error
    finally:
        await subscription.unsubscribe()
    return [audited for audited in found if tenant in (None, audited.tenant)]


def _parse(data: bytes) -> RouteAudited | None:
    try:
        return RouteAudited.from_json(data)
    except ValidationError:
        return None  # of an older version: a decision more or less does not matter here
