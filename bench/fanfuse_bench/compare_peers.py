"""Peers over the same engines: each as its documentation shows it, driven asynchronously. Needs the peers' environment.

In: engines and questions. Out: for each peer a coroutine from a text to ids, best first. Query generation is off,
weights are equal (their default), the window of every list is the same as ours, and documents carry ids only.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from fanfuse_backend_workers.ports import EngineHit, SearchEngine, SearchRequest
from fanfuse_contracts import limits
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.fusion import fuse
from fanfuse_fuser.domain.ranked import RankedList

TOP_K: Final = limits.DEFAULT_TOP_K
Ask = Callable[[str], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class Place:
    """The engines, and what a search of each question needs."""

    engines: Mapping[Kind, SearchEngine]
    requests: Mapping[str, SearchRequest]

    async def search(self, kind: Kind, text: str) -> Sequence[EngineHit]:
        """Hits of one engine, best first. Raises `SearchError`."""
        return (await self.engines[kind].search(self.requests[text])).hits


def direct(place: Place) -> Ask:
    """The limit: all engines at once, fused by our own function, no framework and no bus."""
    lanes = {
        kind: Lane(
            name=kind.value,
            corpus="c",
            kind=kind,
            backend="main",
            pool="main",
            weight=1.0,
            window=100,
            filter_digest="",
        )
        for kind in place.engines
    }

    async def ask(text: str) -> list[str]:
        found = await asyncio.gather(*(place.search(kind, text) for kind in lanes))
        lists = [RankedList(lane, _lane_hits(hits)) for lane, hits in zip(lanes.values(), found, strict=True)]
        return [row.chunk_id for row in fuse(lists)[:TOP_K]]

    return ask


def _lane_hits(hits: Sequence[EngineHit]) -> list[LaneHit]:
    return [
        LaneHit(chunk_id=hit.chunk_id, rank=rank, score=hit.score, content_hash=hit.content_hash)
        for rank, hit in enumerate(hits, 1)
    ]


def _never_in_turn() -> NoReturn:
    """The peers' base classes want a synchronous method too: using it would measure another thing than what is told."""
    raise AssertionError("a peer asked its engines synchronously")


def langchain(place: Place, *, guarded: bool = False) -> Ask:
    """EnsembleRetriever; `guarded`: each retriever falls back to an empty list."""
    from langchain_classic.retrievers import EnsembleRetriever  # type: ignore[import-not-found]
    from langchain_core.documents import Document  # type: ignore[import-not-found]
    from langchain_core.retrievers import BaseRetriever  # type: ignore[import-not-found]
    from langchain_core.runnables import RunnableLambda  # type: ignore[import-not-found]

    class EngineRetriever(BaseRetriever):  # type: ignore[misc]
        kind: Kind

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
            _never_in_turn()

        async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
            return [Document(page_content=hit.chunk_id) for hit in await place.search(self.kind, query)]

    retrievers = [EngineRetriever(kind=kind) for kind in place.engines]
    if guarded:
        nothing = RunnableLambda(lambda _: [])
        retrievers = [retriever.with_fallbacks([nothing]) for retriever in retrievers]
    ensemble = EnsembleRetriever(retrievers=retrievers)

    async def ask(text: str) -> list[str]:
        return [document.page_content for document in (await ensemble.ainvoke(text))[:TOP_K]]

    return ask


def haystack(place: Place) -> Ask:
    """A pipeline of three retrievers and a DocumentJoiner."""
    from haystack import Document, Pipeline, component  # type: ignore[import-not-found]
    from haystack.components.joiners import DocumentJoiner  # type: ignore[import-not-found]

    @component
    class EngineRetriever:
        def __init__(self, kind: Kind) -> None:
            self.kind = kind

        @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
        def run(self, query: str) -> dict[str, Any]:
            _never_in_turn()

        @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
        async def run_async(self, query: str) -> dict[str, Any]:
            hits = await place.search(self.kind, query)
            return {"documents": [Document(id=hit.chunk_id, content="", score=hit.score) for hit in hits]}

    pipeline = Pipeline()
    pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=TOP_K))
    for kind in place.engines:
        pipeline.add_component(kind.value, EngineRetriever(kind))
        pipeline.connect(f"{kind.value}.documents", "joiner.documents")

    async def ask(text: str) -> list[str]:
        done = await pipeline.run_async({kind.value: {"query": text} for kind in place.engines})
        return [document.id for document in done["joiner"]["documents"]]

    return ask


def llamaindex(place: Place) -> Ask:
    """QueryFusionRetriever with one query: none is generated."""
    from llama_index.core.llms import MockLLM  # type: ignore[import-not-found]
    from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever  # type: ignore[import-not-found]
    from llama_index.core.schema import NodeWithScore, TextNode  # type: ignore[import-not-found]

    class EngineRetriever(BaseRetriever):  # type: ignore[misc]
        def __init__(self, kind: Kind) -> None:
            self._kind = kind
            super().__init__()

        def _retrieve(self, query_bundle: Any) -> list[Any]:
            _never_in_turn()

        async def _aretrieve(self, query_bundle: Any) -> list[Any]:
            hits = await place.search(self._kind, query_bundle.query_str)
            return [NodeWithScore(node=TextNode(id_=hit.chunk_id, text=hit.chunk_id), score=hit.score) for hit in hits]

    fusion = QueryFusionRetriever(
        [EngineRetriever(kind) for kind in place.engines],
        llm=MockLLM(), num_queries=1, mode="reciprocal_rerank", similarity_top_k=TOP_K, use_async=True,
    )  # fmt: skip

    async def ask(text: str) -> list[str]:
        return [found.node.node_id for found in await fusion.aretrieve(text)]

    return ask


PEERS: Final[Mapping[str, Callable[[Place], Ask]]] = {
    "engines called directly": direct,
    "LangChain EnsembleRetriever": langchain,
    "LangChain, each retriever with a fallback": lambda place: langchain(place, guarded=True),
    "Haystack DocumentJoiner": haystack,
    "LlamaIndex QueryFusionRetriever": llamaindex,
}
