"""Judged queries with the lanes that the router plans for them and the lists that engines give those lanes.

In: the evaluation data. Out: one question per query, ready to fuse. Classification and plan are the services' own, so
the weights are those of the query's shape and, where several corpora could answer, of the trained router.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fanfuse_all_in_one.offline import OfflineRouter
from fanfuse_bench.lane_lists import TENANT, Lists, Scored, cache_folder, keyword_lists, load_all, vector_lists
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, Wiring
from fanfuse_contracts.enums import Kind, Shape
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.ranked import RankedList
from fanfuse_testing.collections import Collection, load_routing, routing_file
from fanfuse_training.fit import fit_profile

SETS: Final = ("cranfield", "scifact", "nfcorpus", "fiqa-small", "cosqa")
_EMBEDDER: Final = EmbedderSpec(model="all-MiniLM-L6-v2", dimensions=384, languages=("en",))
_HYBRID: Final = (Kind.VECTOR, Kind.KEYWORD)
_NOW_S: Final = 1_790_000_000.0


@dataclass(frozen=True, slots=True)
class Question:
    """One query: its lanes' lists in the plan's order, and the grades of documents by chunk id."""

    shape: Shape
    lists: tuple[RankedList, ...]
    grades: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions of one kind, and the lists of one index over everything where there are several corpora."""

    name: str
    questions: tuple[Question, ...]
    merged: tuple[Scored, ...] = ()


def one_corpus(name: str, shared: Path) -> QuestionSet:
    """A collection as the only corpus, searched by keyword and vector."""
    collection = load_all([name], shared)[name]
    lists = {
        Kind.KEYWORD: keyword_lists(name, [collection], collection.queries),
        Kind.VECTOR: vector_lists(name, collection, collection.query_vectors),
    }
    router = OfflineRouter(FanfuseConfig(), [_card(name, _HYBRID)])
    found = (
        _question(router, text, {name: lists}, key, _grades(collection, key))
        for key, text in collection.queries.items()
        if any(collection.qrels.get(key, {}).values())
    )
    return QuestionSet(name, tuple(found))


def federated(shared: Path, *, hybrid: bool) -> QuestionSet:
    """The nine corpora of the routing set under one trained router, by keyword alone or with vectors too."""
    asked = load_routing("test", shared)
    collections = load_all(sorted({query.corpus for query in asked}), shared)
    texts = {f"{query.corpus}/{query.query_id}": query.text for query in asked}
    lists = {name: _lists_of(one, collections, texts, hybrid=hybrid) for name, one in collections.items()}
    merged = keyword_lists("routing-merged", collections.values(), texts)
    router = _trained(shared, [_card(name, tuple(kinds)) for name, kinds in lists.items()])
    questions = tuple(
        _question(router, query.text, lists, key, _grades(collections[query.corpus], query.query_id))
        for key, query in zip(texts, asked, strict=True)
    )
    name = "federated, both kinds" if hybrid else "federated, keyword"
    return QuestionSet(name, questions, tuple(merged[key] for key in texts))


def _lists_of(
    collection: Collection, collections: Mapping[str, Collection], texts: Mapping[str, str], *, hybrid: bool
) -> dict[Kind, Lists]:
    name = f"routing-{collection.name}"
    lists = {Kind.KEYWORD: keyword_lists(name, [collection], texts)}
    if hybrid and collection.document_vectors:
        vectors = {key: _vector(collections, key) for key in texts}
        lists[Kind.VECTOR] = vector_lists(name, collection, vectors)
    return lists


def _vector(collections: Mapping[str, Collection], key: str) -> NDArray[np.float32]:
    corpus, _, query_id = key.partition("/")
    return collections[corpus].query_vectors[query_id]


def _trained(shared: Path, cards: Iterable[CorpusCard]) -> OfflineRouter:
    profile = cache_folder() / "profile.json"
    if not profile.exists():
        report = fit_profile(routing_file("train", shared), test=routing_file("test", shared))
        report.write_profile(profile)
    config = FanfuseConfig.model_validate({"retrieval": {"routing": {"profile": profile}}})
    return OfflineRouter(config, cards)


def _card(name: str, kinds: Iterable[Kind]) -> CorpusCard:
    wirings = tuple(Wiring(kind=kind, backend="main", pool="main") for kind in kinds)
    return CorpusCard(tenant=TENANT, corpus=name, public=True, backends=wirings, embedder=_EMBEDDER)


def _grades(collection: Collection, query_id: str) -> dict[str, int]:
    return {f"{collection.name}/{document}": grade for document, grade in collection.qrels[query_id].items()}


def _question(
    router: OfflineRouter,
    text: str,
    lists: Mapping[str, Mapping[Kind, Lists]],
    key: str,
    grades: Mapping[str, int],
) -> Question:
    decided = router.decide(TENANT, SubmittedQuery(text=text), now_s=_NOW_S)
    if decided.plan is None:
        raise ValueError(f"{key} is not planned: {decided.rejection or decided.clarification}")
    found = tuple(_ranked(lane, lists[lane.corpus][lane.kind][key]) for lane in decided.plan.lanes)
    return Question(decided.plan.shape, tuple(one for one in found if one.hits), grades)


def _ranked(lane: Lane, scored: Scored) -> RankedList:
    return RankedList(lane, tuple(_hits(scored)))


def _hits(scored: Scored) -> Iterator[LaneHit]:
    for rank, (chunk_id, score) in enumerate(scored, 1):
        yield LaneHit(chunk_id=chunk_id, rank=rank, score=score, content_hash=chunk_id)
