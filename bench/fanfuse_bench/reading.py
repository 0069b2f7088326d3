"""What the broker stored, and when: the moments that no process of ours can colour.

In: a connection. Out: for every message of a stream its subject and the time it was stored. Bodies are not read.
"""

from collections import defaultdict
from dataclasses import dataclass

from nats.aio.client import Client
from nats.js.api import ConsumerConfig

from fanfuse_contracts import streams, subjects


@dataclass(frozen=True, slots=True)
class Stamps:
    """Times in nanoseconds of broker time, by query id."""

    answers: dict[str, int]
    slowest_lane: dict[str, int]
    second_answers: int


async def stamps(client: Client, tenant: str) -> Stamps:
    """When each answer, and the last lane reply before it, was stored."""
    answers: dict[str, int] = {}
    seen: defaultdict[str, int] = defaultdict(int)
    for subject, stored_ns in await _stored(client, streams.ANSWERS.name, subjects.fused_of_tenant(tenant)):
        query_id = subjects.parse_query(subject).query_id
        seen[query_id] += 1
        answers.setdefault(query_id, stored_ns)
    slowest: dict[str, int] = {}
    for subject, stored_ns in await _stored(client, streams.RETRIEVED.name, subjects.RETRIEVED):
        query_id = subject.split(".")[-2]
        slowest[query_id] = max(slowest.get(query_id, 0), stored_ns)
    return Stamps(answers, slowest, sum(times > 1 for times in seen.values()))


async def _stored(client: Client, stream: str, pattern: str) -> list[tuple[str, int]]:
    js = client.jetstream()
    config = ConsumerConfig(headers_only=True)
    subscription = await js.subscribe(pattern, stream=stream, ordered_consumer=True, config=config)
    told = await subscription.consumer_info()
    # What was sent before it told may still be on its way.
    expected = (told.delivered.consumer_seq if told.delivered else 0) + (told.num_pending or 0)
    rows: list[tuple[str, int]] = []
    while len(rows) < expected:
        msg = await subscription.next_msg(timeout=5.0)
        rows.append((msg.subject, int(msg.reply.split(".")[-2])))
    await subscription.unsubscribe()
    return rows
