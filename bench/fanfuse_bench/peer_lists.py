"""Saved lane lists fused by the peers' own code, in an environment that has them.

Run by the benchmark as `python -m fanfuse_bench.peer_lists <file of --save-lanes>`. Out: one JSON object on standard
output: chunk ids per query, best first, by peer. Everybody has his defaults: equal weights, no query generation.
"""

import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fanfuse_evaluation.lane_lists import AskedQuery, load

Scored = Sequence[tuple[str, float]]
Fuse = Callable[[Sequence[Scored]], list[str]]


def langchain() -> Fuse:
    """EnsembleRetriever: reciprocal ranks."""
    from langchain_classic.retrievers import EnsembleRetriever  # type: ignore[import-not-found]
    from langchain_core.documents import Document  # type: ignore[import-not-found]
    from langchain_core.runnables import RunnableLambda  # type: ignore[import-not-found]

    def fuse(lists: Sequence[Scored]) -> list[str]:
        ensemble = EnsembleRetriever(retrievers=[RunnableLambda(str)] * len(lists))
        documents = [[Document(page_content=name) for name, _ in one] for one in lists]
        return [found.page_content for found in ensemble.weighted_reciprocal_rank(documents)]

    return fuse


def haystack(mode: str) -> Fuse:
    """DocumentJoiner in one of its modes."""
    from haystack import Document  # type: ignore[import-not-found]
    from haystack.components.joiners import DocumentJoiner  # type: ignore[import-not-found]

    def fuse(lists: Sequence[Scored]) -> list[str]:
        documents = [[Document(id=name, content="", score=score) for name, score in one] for one in lists]
        return [found.id for found in DocumentJoiner(join_mode=mode).run(documents=documents)["documents"]]

    return fuse


def llamaindex(mode: str, top_k: int = 1_000) -> Fuse:
    """QueryFusionRetriever in one of its modes, over retrievers that have found already."""
    from llama_index.core.llms import MockLLM  # type: ignore[import-not-found]
    from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever  # type: ignore[import-not-found]
    from llama_index.core.schema import NodeWithScore, TextNode  # type: ignore[import-not-found]

    class Found(BaseRetriever):  # type: ignore[misc]
        def __init__(self, hits: Scored) -> None:
            self._hits = hits
            super().__init__()

        def _retrieve(self, _query_bundle: Any) -> list[Any]:
            return [NodeWithScore(node=TextNode(id_=name, text=name), score=score) for name, score in self._hits]

    def fuse(lists: Sequence[Scored]) -> list[str]:
        retriever = QueryFusionRetriever(
            [Found(one) for one in lists],
            llm=MockLLM(), num_queries=1, mode=mode, similarity_top_k=top_k, use_async=False,
        )  # fmt: skip
        return [found.node.node_id for found in retriever.retrieve("q")]

    return fuse


PEERS: Final[Mapping[str, Callable[[], Fuse]]] = {
    "LangChain EnsembleRetriever": langchain,
    "Haystack, reciprocal_rank_fusion": lambda: haystack("reciprocal_rank_fusion"),
    "Haystack, distribution_based_rank_fusion": lambda: haystack("distribution_based_rank_fusion"),
    "LlamaIndex, reciprocal_rerank": lambda: llamaindex("reciprocal_rerank"),
    "LlamaIndex, relative_score": lambda: llamaindex("relative_score"),
    "LlamaIndex, dist_based_score": lambda: llamaindex("dist_based_score"),
}


def _lists(asked: AskedQuery) -> list[Scored]:
    return [[(hit.chunk_id, hit.score) for hit in one.hits] for one in asked.lists]


def fuse_all(records: Sequence[AskedQuery]) -> dict[str, list[list[str]]]:
    """Chunk ids per record, by peer."""
    lists = [_lists(record) for record in records]
    return {name: [fuse(one) if one else [] for one in lists] for name, build in PEERS.items() for fuse in (build(),)}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    json.dump(fuse_all(load(Path(sys.argv[1]))), sys.stdout)
