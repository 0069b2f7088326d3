"""The setup step as a command of its own: everything contracts declare, and the consumers of a configuration's pools.

It runs before anything scales on a consumer, and again after each change of the file; what exists is compared.
"""

import asyncio
from collections.abc import Iterable

from nats.aio.client import Client
from nats.errors import Error as NatsError

from fanfuse_all_in_one.databus import BusUnavailableError
from fanfuse_all_in_one.failures import OperatorError
from fanfuse_all_in_one.operating import connect
from fanfuse_contracts import streams
from fanfuse_contracts.addresses import without_login
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.masking import mask
from fanfuse_runtime.settings import Creates, RuntimeSettings
from fanfuse_runtime.setup import Rights, SetupError, ensure_consumer, ensure_topology, in_time


async def set_up(url: str, pools: Iterable[tuple[Kind, str]], within_s: float = 10.0) -> list[str]:
    """Create what is missing; returns the names of all that is there now.

    Raises `BusUnavailableError` where the bus does not do all of it in time, `OperatorError` where something differs.
    """
    problems: list[str] = []
    settings = RuntimeSettings()
    # Whatever FANFUSE_CREATES lets services create: this is the step that creates.
    rights = Rights(Creates.ALL, settings.stream_replicas)
    client = Client()
    wanted = [streams.pool_consumer(kind, pool) for kind, pool in pools]
    try:
        async with asyncio.timeout(within_s):
            await connect(client, url, settings.access(), problems.append)
            js = client.jetstream()
            await in_time(lambda: ensure_topology(js, rights))
            for spec in wanted:
                await ensure_consumer(js, spec, rights)
    except SetupError as error:
        raise OperatorError(str(error)) from error
    except (NatsError, OSError, TimeoutError) as error:
        why = problems[-1] if problems else str(error) or "no answer"
        told = f"the bus at {without_login(url)} was not set up within {within_s:g} s: {mask(why)}"
        raise BusUnavailableError(told) from error
    finally:
        await client.close()
    consumers = (f"{spec.stream}/{spec.durable}" for spec in (*streams.CONSUMERS, *wanted))
    return [*(stream.name for stream in streams.STREAMS), *(bucket.name for bucket in streams.BUCKETS), *consumers]
