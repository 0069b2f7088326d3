"""Judged queries asked through the bus, as any caller does, and the lists of lanes behind each answer.

In: a collection's questions. Out: a record per question. The lists are those that the workers stored; only what was
fused is kept. It never asks twice and never leaves a question out: an incomplete answer is a record that says so.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Final

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_client import Client
from fanfuse_contracts import limits, streams, subjects
from fanfuse_contracts.answer import Answer, LaneReport
from fanfuse_contracts.enums import LaneOutcome
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.query import QueryVector, SubmittedQuery
from fanfuse_contracts.quorum import LOST
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_contracts.tokens import Token
from fanfuse_evaluation.lane_lists import AnsweredHit, AskedQuery, LaneList
from fanfuse_runtime.bus import Bus, StoredMessage
from fanfuse_runtime.errors import BusError

DEPTH: Final = limits.MAX_TOP_K
_FUSED: Final = frozenset({LaneOutcome.ANSWERED, LaneOutcome.CUT})
_PAUSES_S: Final = (0.5, 2.0, 5.0)
"""Replies are kept for five minutes: a busy broker may be asked again."""
_MISSED: Final = LOST | {LaneOutcome.CUT}


class UnreadableListsError(OperatorError):
    """The broker does not give what it stores."""


class ForeignChunkError(OperatorError):
    """The flow answers from other documents than those of the collection."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked about one collection. `vectors`: of queries, where they were computed before."""

    collection: Token
    texts: Mapping[str, str]
    grades: Mapping[str, Mapping[str, int]]
    documents: frozenset[str]
    vectors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    model: str = ""


@dataclass(frozen=True, slots=True)
class Manner:
    """How it is asked. `federated`: no corpus is named, so the router selects."""

    federated: bool = False
    budget_ms: int = limits.MAX_BUDGET_MS
    at_once: int = 8


async def ask_all(
    bus: Bus, client: Client, asked: Questions, manner: Manner, told: Callable[[], None] = lambda: None
) -> tuple[AskedQuery, ...]:
    """Ask every question; records in the order of the collection. `told` is called after each answer."""
    run = f"eval-{token_hex(4)}"
    ids = {f"{run}-{number}": key for number, key in enumerate(asked.texts)}
    queries = ((query_id, _query(asked, key, manner)) for query_id, key in ids.items())
    found: dict[str, AskedQuery] = {}
    async for query_id, answer in client.stream(queries, manner.at_once):
        replies = await _replies(bus, client.tenant, query_id)
        found[ids[query_id]] = record(asked, ids[query_id], answer, replies)
        told()
    return tuple(found[key] for key in asked.texts)


def record(asked: Questions, key: str, answer: Answer, replies: Mapping[str, LaneReply]) -> AskedQuery:
    """What is kept of an answer. Raises `ForeignChunkError`."""
    lists = tuple(_lists(answer, replies))
    hits = tuple(
        AnsweredHit(corpus=hit.corpus, chunk_id=hit.chunk_id, score=hit.score, also_in=hit.also_in)
        for hit in answer.hits
    )
    return AskedQuery(
        collection=asked.collection,
        query_id=key,
        grades=dict(asked.grades[key]),
        top_k=DEPTH,
        status=answer.status,
        lost=tuple(_lost(answer)),
        fusion=answer.fusion,
        lists=lists,
        answer=hits,
        documents=dict(_parts(asked, lists)),
    )


def _query(asked: Questions, key: str, manner: Manner) -> SubmittedQuery:
    vector = asked.vectors.get(key)
    return SubmittedQuery(
        text=asked.texts[key],
        corpora=None if manner.federated else (asked.collection,),
        top_k=DEPTH,
        include_text=False,
        budget_ms=manner.budget_ms,
        vector=None if vector is None else QueryVector(model=asked.model, values=vector),
    )


async def _replies(bus: Bus, tenant: str, query_id: str) -> dict[str, LaneReply]:
    """The stored replies by lane: what the fuser reads and hears. Raises `UnreadableListsError`."""
    stored = await _read(bus, subjects.retrieved_of_query(tenant, query_id), _PAUSES_S)
    return {subjects.parse_lane(message.subject): LaneReply.from_json(message.data) for message in stored}


async def _read(bus: Bus, pattern: str, pauses_s: Sequence[float]) -> list[StoredMessage]:
    """Read again after each of the pauses."""
    try:
        return await bus.last_of_each(streams.RETRIEVED.name, pattern)
    except BusError as error:
        if not pauses_s:
            raise UnreadableListsError(f"the lists of a query can't be read: {error}") from error
    await asyncio.sleep(pauses_s[0])
    return await _read(bus, pattern, pauses_s[1:])


def _lists(answer: Answer, replies: Mapping[str, LaneReply]) -> Iterator[LaneList]:
    for report in answer.coverage.lanes:
        if report.lane is not None and report.outcome in _FUSED:
            reply = replies[report.lane]
            hits = tuple(hit.model_copy(update={"title": ""}) for hit in reply.hits)
            yield LaneList(lane=_lane(report, reply), hits=hits)


def _lane(report: LaneReport, reply: LaneReply) -> Lane:
    """The planned lane as far as its list depends on it: the answer does not tell the pool."""
    return Lane(
        name=reply.lane,
        corpus=report.corpus,
        corpora=report.corpora,
        kind=report.kind,
        backend=report.backend,
        pool=report.backend,
        weight=report.weight,
        window=limits.DEFAULT_WINDOW,
        filter_digest=reply.filter_digest or "",
        requirement=report.requirement,
    )


def _lost(answer: Answer) -> Iterator[str]:
    for lane in answer.coverage.lanes:
        if lane.outcome in _MISSED:
            yield f"{lane.corpus} {lane.kind.value}/{lane.backend}: {lane.outcome.value}, {lane.reason}".rstrip(", ")
    if answer.rejection is not None:
        yield f"{answer.rejection.code.value}: {answer.rejection.message}"
    if answer.clarification is not None:
        yield "the flow asked what is meant"


def _parts(asked: Questions, lists: Iterable[LaneList]) -> Iterator[tuple[str, str]]:
    """A long document is indexed in parts, which are named `<id>#<part>`."""
    for one in lists:
        for hit in one.hits:
            if (hit.corpus or one.lane.corpus) == asked.collection and hit.chunk_id not in asked.documents:
                document = hit.chunk_id.rpartition("#")[0]
                if document not in asked.documents:
                    raise ForeignChunkError(
                        f"corpus {asked.collection} holds {hit.chunk_id!r}, which is no document of the collection: "
                        "index the collection again, or name another tenant"
                    )
                yield hit.chunk_id, document
