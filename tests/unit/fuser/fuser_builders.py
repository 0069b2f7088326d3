"""Plans, replies and a world in memory for the fuser's tests."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.classification import QueryShape
from fanfuse_contracts.corpus import ALL_CORPORA
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome, Shape, SourceKind, Strategy
from fanfuse_contracts.filters import digest
from fanfuse_contracts.plan import (
    CorpusRoutingDecision,
    Lane,
    Plan,
    QueryPlanned,
    RoutingDecision,
    SkippedLane,
    Unconfirmed,
)
from fanfuse_contracts.query import AcceptedQuery
from fanfuse_contracts.quorum import Requirement
from fanfuse_contracts.retrieval import ChunksReply, ChunkText, Failure, LaneHit, LaneReply
from fanfuse_contracts.weights import Weights
from fanfuse_fuser.domain.join import LaneResult
from fanfuse_fuser.domain.policies import Policy
from fanfuse_fuser.domain.ranked import RankedList
from fanfuse_fuser.ports import RawReply

TENANT, QUERY = "acme", "q1"


def lane(
    kind: str,
    corpus: str = "docs",
    weight: float = 1.0,
    name: str | None = None,
    backend: str = "main",
    requirement: str = "should",
) -> Lane:
    return Lane(
        name=name or f"{corpus}-{kind}",
        corpus=corpus,
        kind=Kind(kind),
        backend=backend,
        pool=backend,
        weight=weight,
        window=100,
        filter_digest=digest(TENANT, corpus, None),
        requirement=Requirement(requirement),
    )


def shared_lane(kind: str, *corpora: str, weight: float = 1.0) -> Lane:
    """One search over several corpora."""
    one = lane(kind, ALL_CORPORA, weight, name=f"all-{kind}")
    return one.model_copy(update={"corpora": corpora, "filter_digest": digest(TENANT, ",".join(corpora), None)})


def of_corpora(found: Sequence[LaneHit], *corpora: str) -> tuple[LaneHit, ...]:
    """The hits of a shared search: each with its corpus, and the content that it has there."""
    return tuple(
        contents_of(corpus, hit)[0].model_copy(update={"corpus": corpus})
        for hit, corpus in zip(found, corpora, strict=True)
    )


def contents_of(corpus: str, *found: LaneHit) -> tuple[LaneHit, ...]:
    """Hits whose content is this corpus's own."""
    return tuple(hit.model_copy(update={"content_hash": f"{hit.content_hash}-{corpus}"}) for hit in found)


def hits(*chunk_ids: str, start: int = 1) -> tuple[LaneHit, ...]:
    return tuple(
        LaneHit(chunk_id=chunk_id, rank=rank, score=1.0 / rank, content_hash=f"h-{chunk_id}", title=f"T {chunk_id}")
        for rank, chunk_id in enumerate(chunk_ids, start)
    )


def values_of(policy: Policy, found: Sequence[LaneHit], weight: float = 1.0) -> list[float]:
    """What a lane with these hits says for each of them."""
    one = RankedList(lane("vector"), found)
    return policy.values(weight, one.columns["docs"], one.scale)


def reply(of: Lane, found: Sequence[LaneHit] = (), **changes: object) -> LaneReply:
    values: dict[str, object] = {
        "tenant": TENANT,
        "query_id": QUERY,
        "lane": of.name,
        "corpus": of.corpus,
        "kind": of.kind,
        "backend": of.backend,
        "outcome": LaneOutcome.ANSWERED if found else LaneOutcome.EMPTY,
        "hits": tuple(found),
        "filter_digest": of.filter_digest,
        "elapsed_ms": 1.5,
        "worker": "w1",
    }
    return LaneReply.model_validate(values | changes)


def failed(of: Lane, kind: FailureKind | str, message: str = "engine is away") -> LaneReply:
    return reply(
        of, outcome=LaneOutcome.FAILED, failure=Failure(kind=FailureKind(kind), message=message), filter_digest=None
    )


def planned(
    lanes: Sequence[Lane],
    skipped: Sequence[SkippedLane] = (),
    *,
    sources: Mapping[str, SourceKind] | None = None,
    asked: Mapping[str, tuple[str, ...]] | None = None,
    unconfirmed: Sequence[Unconfirmed] = (),
    **query: object,
) -> QueryPlanned:
    """A plan; its corpora are selected in the order of `sources`, then of the lanes."""
    kinds, capabilities = sources or {}, asked or {}
    searched = [corpus for one in lanes for corpus in one.corpora or (one.corpus,)]
    corpora = tuple(dict.fromkeys([*kinds, *searched] + [one.corpus for one in skipped]))
    weights = Weights(vector=1.0, keyword=1.0, graph=1.0)
    decisions = tuple(
        RoutingDecision(
            corpus=corpus,
            shape=Shape.MIXED,
            use_vector=True,
            use_keyword=True,
            use_graph=True,
            weights=weights,
            degraded_backends=(),
            bm25_fallback=False,
            reason="test",
            source=kinds.get(corpus, SourceKind.REFERENCE),
            asked=capabilities.get(corpus, ()),
        )
        for corpus in corpora
    )
    plan = Plan(
        shape=Shape.MIXED,
        lanes=tuple(lanes),
        skipped=tuple(skipped),
        corpus_decision=CorpusRoutingDecision(
            strategy=Strategy.ALL,
            selected_corpora=corpora,
            scores=(),
            fan_out=True,
            candidate_n=len(corpora),
            reason="test",
        ),
        decisions=decisions,
        unconfirmed=tuple(unconfirmed),
    )
    return QueryPlanned(
        tenant=TENANT,
        query_id=QUERY,
        query=AcceptedQuery.model_validate({"text": "what is it?"} | query),
        submitted_ns=1,
        classification=QueryShape(shape=Shape.MIXED, reason="test"),
        plan=plan,
    )


def raw(of: LaneReply) -> RawReply:
    return RawReply(of.lane, of.to_json())


class MemoryReplies:
    """Stored replies, and `hear` for live ones."""

    def __init__(self, stored: Sequence[RawReply] = ()) -> None:
        self.now_stored = list(stored)
        self.reads = 0
        self.listeners: list[Callable[[RawReply], None]] = []
        self.at_read: dict[int, list[RawReply]] = {}

    @asynccontextmanager
    async def listening(self, tenant: str, query_id: str, on_reply: Callable[[RawReply], None]):
        assert (tenant, query_id) == (TENANT, QUERY)
        self.listeners.append(on_reply)
        try:
            yield
        finally:
            self.listeners.remove(on_reply)

    async def stored(self, tenant: str, query_id: str, timeout_s: float) -> Sequence[RawReply]:
        assert timeout_s > 0
        self.reads += 1
        return self.now_stored + self.at_read.get(self.reads, [])

    def hear(self, *replies: LaneReply) -> None:
        for one in replies:
            for listener in list(self.listeners):
                listener(raw(one))


class MemoryTexts:
    """Every text is known but those of `gone`, `unknown` and of `silent` corpora."""

    def __init__(self, gone: Sequence[str] = (), unknown: Sequence[str] = (), silent: Sequence[str] = ()) -> None:
        self.gone, self.unknown, self.silent = set(gone), set(unknown), set(silent)
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.before: Callable[[], None] = lambda: None

    async def fetch(self, tenant: str, corpus: str, chunk_ids: Sequence[str], timeout_s: float) -> ChunksReply | None:
        assert tenant == TENANT
        assert timeout_s > 0
        self.asked.append((corpus, tuple(chunk_ids)))
        self.before()
        if corpus in self.silent:
            return None
        known = [one for one in chunk_ids if one not in self.gone | self.unknown]
        return ChunksReply(
            chunks=tuple(ChunkText(chunk_id=one, text=f"text of {corpus} {one}", source=f"{one}.md") for one in known),
            gone=tuple(one for one in chunk_ids if one in self.gone),
        )


class MemoryPools:
    def __init__(self) -> None:
        self.gone: set[tuple[Kind, str]] = set()
        self.living: set[tuple[Kind, str]] = set()

    def absent(self, kind: Kind, pool: str) -> bool:
        return (kind, pool) in self.gone

    def lives(self, kind: Kind, pool: str, waited_s: float) -> bool:
        return (kind, pool) in self.living


class LoopClock:
    """Broker time that runs with the event loop, from a query stored `age_ms` ago."""

    def __init__(self, age_ms: float = 0.0) -> None:
        self._start = asyncio.get_running_loop().time() - age_ms / 1e3

    def elapsed_ms(self, submitted_ns: int) -> float:
        assert submitted_ns == 1
        return (asyncio.get_running_loop().time() - self._start) * 1e3

    def was_interrupted(self, submitted_ns: int, budget_ms: int) -> bool:
        return False


class MemoryAnswers:
    """First stored wins."""

    def __init__(self, max_bytes: int = 512 * 1024) -> None:
        self.max_bytes = max_bytes
        self.stored: list[Answer] = []
        self.refused: list[Answer] = []

    async def publish(self, answer: Answer, body: bytes) -> bool:
        assert body == answer.to_json()
        (self.refused if self.stored else self.stored).append(answer)
        return not self.refused


class MemoryRoutes:
    def __init__(self) -> None:
        self.told: list[Answer] = []

    def tell(self, planned: QueryPlanned, answer: Answer) -> None:
        assert planned.query_id == answer.query_id
        self.told.append(answer)


class MemoryQuality:
    def __init__(self) -> None:
        self.counted: list[Answer] = []

    def count(self, answer: Answer) -> None:
        self.counted.append(answer)


class MemoryCancellations:
    def __init__(self) -> None:
        self.published: list[tuple[str, str]] = []

    async def publish(self, tenant: str, query_id: str) -> None:
        self.published.append((tenant, query_id))


class MemoryOutcomes:
    def __init__(self) -> None:
        self.reported: Mapping[str, str] = {}

    async def report(self, planned: QueryPlanned, silent: Sequence[LaneResult]) -> None:
        self.reported = {one.lane.name: str(one.loss) for one in silent}
