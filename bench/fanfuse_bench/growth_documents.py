"""Embedded engines over generated documents: ten times as many of them, and longer pages of hits.

In: how many queries per row. Out: a series each. Queries bring vectors and entities, so no model is asked.
"""

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from fanfuse_all_in_one.indexing import DEFAULT_EMBEDDER, Wish, index_corpus
from fanfuse_backend_workers.ports import SearchRequest
from fanfuse_bench import runs
from fanfuse_bench.corpora import TENANT, Questions
from fanfuse_bench.growth_asking import Ask, in_turn
from fanfuse_bench.growth_series import Series
from fanfuse_bench.indexing_documents import CORPUS, documents, searches

DOCUMENTS: Final = (2_000, 6_000, 20_000)
TOP_K: Final = (10, 20, 50, 100)
_ASKED: Final = 100
_HOW: Final = "Embedded engines, three lanes, a window of 100, one query after the other"


async def measure_documents(options: argparse.Namespace) -> Series:
    """A row per number of documents, each indexed on a bus of its own."""
    return Series(
        "documents",
        "document",
        ("p50 ms", "CPU ms/query", "peak MB"),
        tuple([await _of_size(options, count) for count in DOCUMENTS]),
        f"{_HOW}, without texts.",
        drawn=(1,),
    )


async def _of_size(options: argparse.Namespace, count: int) -> tuple[float, ...]:
    async with _indexed(count) as (flow, questions):
        runs.say(f"{options.rounds} times {options.queries} queries")
        (cost,) = await in_turn(options, [Ask(flow, questions, {})])
        return count, cost.p50_ms, cost.cpu_ms, flow.peak_mb()


async def measure_top_k(options: argparse.Namespace) -> Series:
    """A row per length of the page, in turn on one index."""
    async with _indexed(DOCUMENTS[0]) as (flow, questions):
        runs.say(f"top_k {TOP_K}: {options.rounds} times {options.queries} queries of each")
        asks = [Ask(flow, questions, {"top_k": top_k, "include_text": True}) for top_k in TOP_K]
        costs = await in_turn(options, asks)
    rows = tuple((top_k, cost.p50_ms, cost.cpu_ms) for top_k, cost in zip(TOP_K, costs, strict=True))
    told = f"{_HOW}, {DOCUMENTS[0]:,} documents, with the text of each hit."
    return Series("top_k", "hit", ("p50 ms", "CPU ms/query"), rows, told, drawn=(1,))


@asynccontextmanager
async def _indexed(count: int) -> AsyncIterator[tuple[runs.Subject, Questions]]:
    async with runs.place() as where:
        runs.say(f"indexing {count:,} documents")
        wish = Wish(TENANT, CORPUS, public=True)
        done = await index_corpus(where.operator, where.data_dir, wish, documents(count), dict)
        asked = [_fields(one) for one in searches(count, _ASKED, None)]
        texts = tuple(one.pop("text") for one in asked)
        async with runs.services("flow", where, "embedded") as flow:
            yield flow, Questions(CORPUS, done.card.chunks, texts, tuple(asked))


def _fields(one: SearchRequest) -> dict[str, Any]:
    vector = {"model": DEFAULT_EMBEDDER.model, "values": one.vector}
    return {"text": one.text, "vector": vector, "graph_seeds": one.seeds}
