"""The setup step as a command of its own: everything contracts declare, and the consumers of a configuration's pools.

It runs before anything scales on a consumer, and again after each change of the file; what exists is compared.
"""

import asyncio
from collections.abc import Callable, Iterable

from nats.errors import Error as NatsError

from fanfuse_all_in_one.connecting import OperatorConnection
from fanfuse_all_in_one.databus import BusUnavailableError
from fanfuse_all_in_one.deploying.updating import Change, update_all
from fanfuse_all_in_one.failures import OperatorError
from fanfuse_contracts import permissions, streams
from fanfuse_contracts.addresses import without_login
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.settings import Creates, RuntimeSettings
from fanfuse_runtime.setup import Rights, SetupError, ensure_consumer, ensure_topology, in_time


async def set_up(
    url: str,
    pools: Iterable[tuple[Kind, str]],
    within_s: float = 10.0,
    *,
    update: bool = False,
    losing: frozenset[str] = frozenset(),
    say: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Create what is missing; returns the names of all that is there now.

    `update`: change what differs too, each told to `say`; of those in `losing`, messages may be deleted for it. Raises
    `BusUnavailableError` where the bus does not do all of it in time, `OperatorError` where something differs,
    `NotAllowedError` where it runs as another user than the setup step's.
    """
    settings = RuntimeSettings()
    # Whatever FANFUSE_CREATES lets services create: this is the step that creates.
    rights = Rights(Creates.ALL, settings.stream_replicas)
    connection = OperatorConnection(url, settings.access(), permissions.SETUP)
    wanted = [streams.pool_consumer(kind, pool) for kind, pool in pools]
    try:
        async with asyncio.timeout(within_s), connection.allowed():
            await connection.open(None)
            js = connection.client.jetstream()
            if update:
                _tell(await update_all(connection.client, wanted, rights, losing), say)
            await in_time(lambda: ensure_topology(js, rights))
            for spec in wanted:
                await ensure_consumer(js, spec, rights)
    except SetupError as error:
        raise OperatorError(str(error)) from error
    except (NatsError, OSError, TimeoutError) as error:
        connection.refuse_unknown(error)
        why = connection.problem or str(error) or "no answer"
        told = f"the bus at {without_login(url)} was not set up within {within_s:g} s: {why}"
        raise BusUnavailableError(told) from error
    finally:
        await connection.client.close()
    consumers = (f"{spec.stream}/{spec.durable}" for spec in (*streams.CONSUMERS, *wanted))
    return [*(stream.name for stream in streams.STREAMS), *(bucket.name for bucket in streams.BUCKETS), *consumers]


def _tell(changes: Iterable[Change], say: Callable[[str], None]) -> None:
    """Each change; raises `OperatorError` that names what stayed as it was."""
    kept = []
    for change in changes:
        if change.kept:
            kept.append(f"{change.name} stays as it was ({'; '.join(change.differences)}): {change.kept}")
        else:
            say(f"{change.name} changed: {'; '.join(change.differences)}")
    if kept:
        raise OperatorError(". ".join(kept))
