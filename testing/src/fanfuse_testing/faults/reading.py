"""Every stored answer of a tenant, with the time the broker stored it. In: a connection. Out: rows of the ledger."""

from typing import Final

from nats.aio.client import Client
from nats.js.api import ConsumerConfig, DeliverPolicy

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_testing.faults.ledger import StoredAnswer

_BATCH: Final = 256
_PATIENCE_S: Final = 10.0


async def stored_answers(client: Client, tenant: str) -> list[StoredAnswer]:
    """In the order they were stored; a query with two answers has two rows."""
    js = client.jetstream()
    subscription = await js.pull_subscribe(
        subjects.fused_of_tenant(tenant),
        stream=streams.ANSWERS.name,
        config=ConsumerConfig(deliver_policy=DeliverPolicy.ALL),
    )
    rows: list[StoredAnswer] = []
    left = (await subscription.consumer_info()).num_pending or 0
    while left:
        for msg in await subscription.fetch(min(left, _BATCH), timeout=_PATIENCE_S):
            stored_ns = int(msg.metadata.timestamp.timestamp() * 1e9)
            rows.append(StoredAnswer.of(Answer.from_json(msg.data), stored_ns))
            await msg.ack()
            left -= 1
    await subscription.unsubscribe()
    return rows


async def stored_ids(client: Client, tenant: str) -> set[str]:
    """Which queries of a tenant the bus holds an answer for."""
    pattern = subjects.fused_of_tenant(tenant)
    state = (await client.jetstream().stream_info(streams.ANSWERS.name, subjects_filter=pattern)).state
    return {subjects.parse_query(subject).query_id for subject in state.subjects or {}}


async def waiting_work(client: Client) -> int:
    """Messages of the work queues that are not handled yet."""
    names = (streams.QUERIES.name, streams.RETRIEVE.name)
    return sum([(await client.jetstream().stream_info(name)).state.messages for name in names])
