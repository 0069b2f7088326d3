"""Judged questions through the whole flow on a real bus: how good each lane's list and the fused answer are.

In: the evaluation data. Out: figures per question. The lists are those that the workers published; weights, seeds and
fusion are the services' own. `quality_report` prints them.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nats.aio.msg import Msg

from fanfuse_all_in_one.indexing import Wish, index_corpus
from fanfuse_bench import runs
from fanfuse_bench.corpora import TENANT, collection_chunks
from fanfuse_client import Client
from fanfuse_contracts import subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.query import Principal, QueryVector, SubmittedQuery
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_testing.collections import Collection, load_collection, shared_folder
from fanfuse_testing.flow import eventually
from fanfuse_testing.graph_questions import GraphQuestions, metaqa, musique

_BUDGET_MS: Final = 30_000
"""What is measured is the order, not the time: no lane may be late on a busy machine."""
_AT_ONCE: Final = 4
_WINDOW: Final = 100
_LAST_REPLY_S: Final = 30.0
_MODEL: Final = "all-MiniLM-L6-v2"
Lists = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One run over questions: lists by lane kind, the fused list, and what became of lanes and answers."""

    lanes: Mapping[Kind, Lists]
    fused: Lists
    statuses: Counter[str]
    outcomes: Mapping[Kind, Counter[str]]

    def of_lane(self, kind: Kind, keys: Iterable[str]) -> list[list[str]]:
        """The lists of a lane, empty where the question had none."""
        return [self.lanes.get(kind, {}).get(key, []) for key in keys]

    def of_answer(self, keys: Iterable[str]) -> list[list[str]]:
        """The fused lists."""
        return [self.fused[key] for key in keys]


@dataclass(frozen=True, slots=True)
class Measured:
    """The questions of a collection and its runs by name."""

    collection: Collection
    keys: tuple[str, ...]
    runs: Mapping[str, Asked]

    @property
    def grades(self) -> list[Mapping[str, int]]:
        """Judgements in the order of the keys."""
        return [self.collection.qrels[key] for key in self.keys]


async def scifact() -> Measured:
    """All 300 questions by keyword and vector."""
    collection = await asyncio.to_thread(load_collection, "scifact", shared_folder())
    texts = dict(collection.queries)
    async with _flow("scifact", list(collection_chunks(collection))) as flow:
        return Measured(collection, tuple(texts), {"hybrid": await flow.ask("hybrid", _queries(collection, texts))})


async def musique_200() -> Measured:
    """Without graph, with the classifier's entities as seeds, and with the names that stand in the question."""
    asked = await asyncio.to_thread(musique, shared_folder())
    ways: dict[str, Any] = {"without graph": lambda _: (), "classifier's seeds": lambda _: None}
    ways["given seeds"] = lambda key: asked.seeds[key]
    async with _flow("musique-200", asked.chunks) as flow:
        done = {
            name: await flow.ask(f"way{number}", _queries(asked.collection, asked.texts, seeds))
            for number, (name, seeds) in enumerate(ways.items())
        }
    return Measured(asked.collection, tuple(asked.texts), done)


async def metaqa_by_hops(step: int) -> Measured:
    """Every `step`th question by keyword and graph, from the names that stand in it."""
    asked: GraphQuestions = await asyncio.to_thread(metaqa, shared_folder(), step)
    async with _flow("metaqa", asked.chunks, (Kind.KEYWORD, Kind.GRAPH)) as flow:
        done = await flow.ask("graph", _queries(asked.collection, asked.texts, lambda key: asked.seeds[key]))
    return Measured(asked.collection, tuple(asked.texts), {"graph": done})


def _queries(
    collection: Collection, texts: Mapping[str, str], seeds: Any = lambda _: None
) -> dict[str, SubmittedQuery]:
    return {
        key: SubmittedQuery(
            text=text,
            corpora=(collection.name,),
            top_k=_WINDOW,
            window=_WINDOW,
            include_text=False,
            budget_ms=_BUDGET_MS,
            graph_seeds=seeds(key),
            vector=_vector(collection, key),
        )
        for key, text in texts.items()
    }


def _vector(collection: Collection, key: str) -> QueryVector | None:
    if key not in collection.query_vectors:
        return None
    return QueryVector(model=_MODEL, values=tuple(collection.query_vectors[key].tolist()))


class _Flow:
    """Services that hold one corpus."""

    def __init__(self, where: runs.Place) -> None:
        self._where = where

    async def ask(self, run: str, queries: Mapping[str, SubmittedQuery]) -> Asked:
        """Ask all of them and wait for the last lane's reply."""
        heard: dict[str, dict[str, LaneReply]] = defaultdict(dict)

        async def hear(message: Msg) -> None:
            reply = LaneReply.from_json(message.data)
            heard[reply.query_id][reply.lane] = reply

        bus = self._where.operator.bus
        named = [(f"{run}-{number}", query) for number, query in enumerate(queries.values())]
        async with (
            bus.subscribed(subjects.LIVE_RETRIEVED, hear),
            Client(self._where.server.url, TENANT, principal=Principal(id="bench")) as client,
        ):
            await bus.nc.flush()
            answers = {query_id: answer async for query_id, answer in client.stream(named, concurrency=_AT_ONCE)}
            await _heard_all(answers, heard)
        ids = dict(zip((query_id for query_id, _ in named), queries, strict=True))
        return _gathered(ids, answers, heard)


async def _heard_all(answers: Mapping[str, Answer], heard: Mapping[str, Mapping[str, LaneReply]]) -> None:
    wanted = sum(answer.coverage.expected for answer in answers.values())
    await eventually(lambda: sum(len(replies) for replies in heard.values()) == wanted, _LAST_REPLY_S)


def _gathered(
    ids: Mapping[str, str], answers: Mapping[str, Answer], heard: Mapping[str, Mapping[str, LaneReply]]
) -> Asked:
    lanes: dict[Kind, Lists] = defaultdict(dict)
    outcomes: dict[Kind, Counter[str]] = defaultdict(Counter)
    for query_id, key in ids.items():
        for reply in heard.get(query_id, {}).values():
            lanes[reply.kind][key] = [hit.chunk_id for hit in reply.hits]
            outcomes[reply.kind][reply.outcome.value] += 1
    fused = {key: [hit.chunk_id for hit in answers[query_id].hits] for query_id, key in ids.items()}
    return Asked(lanes, fused, Counter(answer.status.value for answer in answers.values()), outcomes)


@asynccontextmanager
async def _flow(name: str, chunks: Sequence[Chunk], kinds: Sequence[Kind] = ()) -> AsyncIterator[_Flow]:
    async with runs.place() as where:
        runs.say(f"{name}: indexing {len(chunks)} chunks")
        if kinds:
            wirings = tuple(Wiring(kind=kind, backend="main", pool="main") for kind in kinds)
            await where.operator.put_card(CorpusCard(tenant=TENANT, corpus=name, backends=wirings), over=0)
        await index_corpus(where.operator, Path(where.data_dir), Wish(TENANT, name), chunks, dict)
        async with runs.services(name, where, "embedded"):
            runs.say(f"{name}: asking")
            yield _Flow(where)
