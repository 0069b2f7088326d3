"""The setup step as a command of its own: everything contracts declare, and the consumers of a configuration's pools.

It runs before anything scales on a consumer, and again after each change of the file; what exists is compared.
"""

import asyncio
from collections.abc import Iterable

from nats.aio.client import Client
from nats.errors import Error as NatsError

from fanfuse_all_in_one.databus import BusUnavailableError
from fanfuse_all_in_one.failures import OperatorError
from fanfuse_contracts import streams
from fanfuse_contracts.addresses import without_login
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_runtime.setup import SetupMismatchError, ensure_consumer, ensure_topology, in_time, rights_of

_WITHIN_S = 60.0


async def set_up(url: str, pools: Iterable[tuple[Kind, str]]) -> list[str]:
    """Create what is missing; returns the names of all that is there now.

    Raises `BusUnavailableError` where no bus answers within a minute, `OperatorError` where something differs.
    """
    settings = RuntimeSettings()
    client = Client()
    wanted = [streams.pool_consumer(kind, pool) for kind, pool in pools]
    try:
        async with asyncio.timeout(_WITHIN_S):
            await client.connect(url.split(","), name="fanfuse-setup", **settings.access().options())
            js, rights = client.jetstream(), rights_of(settings)
            await in_time(lambda: ensure_topology(js, rights))
            for spec in wanted:
                await ensure_consumer(js, spec, rights)
    except SetupMismatchError as error:
        raise OperatorError(str(error)) from error
    except (NatsError, OSError, TimeoutError) as error:
        why = str(error) or "no answer"
        raise BusUnavailableError(f"the bus at {without_login(url)} was not set up: {why}") from error
    finally:
        await client.close()
    consumers = (f"{spec.stream}/{spec.durable}" for spec in (*streams.CONSUMERS, *wanted))
    return [*(stream.name for stream in streams.STREAMS), *(bucket.name for bucket in streams.BUCKETS), *consumers]
