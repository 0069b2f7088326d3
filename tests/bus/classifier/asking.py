"""What the tests of a running classifier do with the bus: register, submit, read back what is stored."""

from contextlib import suppress

import nats

from fanfuse_contracts import flow, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.plan import DecideReply
from fanfuse_testing.flow import eventually


async def register(client, process, card):
    bucket = await client.jetstream().key_value(streams.CORPORA.name)
    await bucket.put(streams.corpus_key(card.tenant, card.corpus), card.to_json())
    await eventually(lambda: process.context.corpora.get(card.tenant, card.corpus) == card)


async def stored(client, channel, subject, model):
    """The one message on a subject, as soon as it is there."""

    async def look():
        with suppress(nats.js.errors.NotFoundError):
            return model.from_json((await client.jetstream().get_last_msg(channel.stream, subject)).data)

    return await eventually(look)


async def submit(client, query_id, body, tenant="acme", headers=None):
    await client.jetstream().publish(subjects.query_submitted(tenant, query_id), body, headers=headers)


def classified(client, query_id):
    return stored(client, flow.CLASSIFIED, subjects.query_classified("acme", query_id), QueryClassified)


def answered(client, query_id):
    return stored(client, flow.FUSED, subjects.query_fused("acme", query_id), Answer)


async def messages(client, stream):
    return (await client.jetstream().stream_info(stream)).state.messages


async def holds(client, stream, count):
    """True as soon as a stream holds so many messages; acknowledgements come after effects."""
    return await eventually(lambda: _equals(client, stream, count))


async def _equals(client, stream, count):
    return await messages(client, stream) == count


async def decide(client, body, tenant="acme", headers=None):
    """`tenant` may be one that no builder of subjects would take."""
    subject = subjects.query_decide("acme").removesuffix("acme") + tenant
    reply = await client.request(subject, body, timeout=30, headers=headers)
    return DecideReply.from_json(reply.data)
