"""Cards as an operator changes them while everything runs, and the replies of one query's lanes."""

from collections.abc import Mapping
from typing import Any

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_testing.flow import Deployment, eventually


async def register(deployment: Deployment, card: CorpusCard) -> None:
    """Write a card that is new, or over the one that stands there; every instance follows before this returns."""
    operator = deployment.operator
    revision = await operator.put_card(card, (await operator.card(card.tenant, card.corpus)).revision)
    assert await operator.wait_applied(revision, 15.0) == ()


async def change(deployment: Deployment, tenant: str, corpus: str, **fields: Any) -> CorpusCard:
    """Change fields of a registered card."""
    before = (await deployment.operator.card(tenant, corpus)).card
    assert before is not None
    card = CorpusCard.model_validate(before.model_dump() | fields)
    await register(deployment, card)
    return card


def with_shared(card: CorpusCard, kinds: tuple[Kind, ...] = (Kind.VECTOR,)) -> tuple[Wiring, ...]:
    """The card's wirings, those of `kinds` as searchable together with other corpora."""
    return tuple(wiring.model_copy(update={"shared": wiring.kind in kinds}) for wiring in card.backends)


async def replies_of(deployment: Deployment, tenant: str, query_id: str, lanes: int) -> Mapping[str, LaneReply]:
    """The stored replies of a query by lane, once there are so many."""

    async def read() -> dict[str, LaneReply] | None:
        pattern = subjects.retrieved_of_query(tenant, query_id)
        stored = await deployment.operator.bus.last_of_each(streams.RETRIEVED.name, pattern)
        replies = [LaneReply.from_json(message.data) for message in stored]
        return {reply.lane: reply for reply in replies} if len(replies) >= lanes else None

    found: dict[str, LaneReply] = await eventually(read)
    return found
