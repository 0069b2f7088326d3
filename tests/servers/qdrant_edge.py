"""Qdrant's own engine (its Rust core, as Qdrant Edge) behind the calls of the client that the REST shim uses.

In: collections, points and filters as the client's models. Out: what the engine answers. Filters, payload indexes and
scores are the engine's, not the client's copy of them in Python; there are no replicas, keys or graph.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import qdrant_edge as edge
from qdrant_client import models
from qdrant_client.http.models import QueryResponse


class EdgeStore:
    """Collections, each a shard in a temporary folder."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fanfuse-qdrant-")
        self._shards: dict[str, edge.EdgeShard] = {}
        self._made: dict[str, dict[str, Any]] = {}
        self._indexes: dict[str, dict[str, models.PayloadIndexInfo]] = {}
        self._aliases: dict[str, str] = {}

    async def close(self) -> None:
        for shard in self._shards.values():
            shard.close()
        self._folder.cleanup()

    async def get_collections(self) -> models.CollectionsResponse:
        found = [models.CollectionDescription(name=name) for name in self._shards]
        return models.CollectionsResponse(collections=found)

    async def collection_exists(self, name: str) -> bool:
        return name in self._shards

    async def create_collection(self, name: str, vectors_config: Any, metadata: Any) -> bool:
        if name in self._shards:
            raise ValueError(f"Collection {name} already exists")
        vectors = {
            vector: edge.EdgeVectorParams(size=params.size, distance=edge.Distance.Cosine)
            for vector, params in vectors_config.items()
        }
        folder = Path(self._folder.name) / str(len(self._made))
        folder.mkdir()
        self._shards[name] = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=vectors))
        self._made[name] = {"params": {"vectors": vectors_config}, "metadata": metadata}
        self._indexes[name] = {}
        return True

    async def get_collection(self, name: str) -> models.CollectionInfo:
        shard, made = self._shard(name), self._made[name]
        return models.CollectionInfo(
            status=models.CollectionStatus.GREEN,
            optimizer_status=models.OptimizersStatusOneOf.OK,
            segments_count=1,
            points_count=shard.count(edge.CountRequest(exact=True)),
            config=models.CollectionConfig(
                params=models.CollectionParams(**made["params"]),
                hnsw_config=models.HnswConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
                optimizer_config=models.OptimizersConfig(
                    deleted_threshold=0.2,
                    vacuum_min_vector_number=1_000,
                    default_segment_number=0,
                    flush_interval_sec=5,
                ),
                metadata=made["metadata"],
            ),
            payload_schema=dict(self._indexes[name]),
        )

    async def create_payload_index(self, name: str, path: str, schema: Any) -> models.UpdateResult:
        if isinstance(schema, models.FloatIndexParams):
            params: Any = edge.FloatIndexParams()
        else:
            params = edge.KeywordIndexParams(is_tenant=schema.is_tenant, prefix=schema.prefix)
        self._shard(name).update(edge.UpdateOperation.create_field_index(path, params))
        self._indexes[name][path] = models.PayloadIndexInfo(data_type=schema.type.value, params=schema, points=0)
        return _done()

    async def get_aliases(self) -> models.CollectionsAliasesResponse:
        found = [models.AliasDescription(alias_name=a, collection_name=c) for a, c in self._aliases.items()]
        return models.CollectionsAliasesResponse(aliases=found)

    async def update_collection_aliases(self, changes: Sequence[Any]) -> bool:
        for change in changes:
            if isinstance(change, models.CreateAliasOperation):
                self._aliases[change.create_alias.alias_name] = change.create_alias.collection_name
            else:
                del self._aliases[change.delete_alias.alias_name]
        return True

    async def upsert(self, name: str, points: Sequence[Any]) -> models.UpdateResult:
        made = [edge.Point(_id(point.id), point.vector, point.payload or {}) for point in points]
        self._shard(name).update(edge.UpdateOperation.upsert_points(made))
        return _done()

    async def delete(self, name: str, points_selector: Any) -> models.UpdateResult:
        if isinstance(points_selector, models.FilterSelector):
            operation = edge.UpdateOperation.delete_points_by_filter(_chosen(points_selector.filter))
        else:
            operation = edge.UpdateOperation.delete_points([_id(one) for one in points_selector.points])
        self._shard(name).update(operation)
        return _done()

    async def retrieve(self, name: str, ids: Sequence[Any], with_payload: Any) -> list[models.Record]:
        found = self._shard(name).retrieve([_id(one) for one in ids], with_payload=True, with_vector=False)
        return [_record(one, with_payload) for one in found]

    async def count(self, name: str, count_filter: Any) -> models.CountResult:
        counted = self._shard(name).count(edge.CountRequest(exact=True, filter=_filter(count_filter)))
        return models.CountResult(count=counted)

    async def scroll(
        self, name: str, scroll_filter: Any, limit: int, offset: Any, with_payload: Any
    ) -> tuple[list[models.Record], Any]:
        start = None if offset is None else _id(offset)
        asked = edge.ScrollRequest(offset=start, limit=limit, filter=_filter(scroll_filter), with_payload=True)
        found, next_offset = self._shard(name).scroll(asked)
        return [_record(one, with_payload) for one in found], None if next_offset is None else str(next_offset)

    async def query_points(
        self, name: str, query: Any, using: str, query_filter: Any, limit: int, with_payload: Any
    ) -> QueryResponse:
        nearest = edge.Query.Nearest(list(query.nearest), using=using)
        asked = edge.QueryRequest(limit=limit, query=nearest, filter=_filter(query_filter), with_payload=True)
        found = self._shard(name).query(asked)
        return QueryResponse(
            points=[
                models.ScoredPoint(
                    id=str(one.id), version=0, score=one.score, payload=_payload(one.payload, with_payload)
                )
                for one in found
            ]
        )

    def _shard(self, name: str) -> edge.EdgeShard:
        if name not in self._shards:
            raise ValueError(f"Collection {name} not found")
        return self._shards[name]


def _done() -> models.UpdateResult:
    return models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)


def _id(point: Any) -> Any:
    return point if isinstance(point, int) else UUID(str(point))


def _record(point: Any, wanted: Any) -> models.Record:
    return models.Record(id=str(point.id), payload=_payload(point.payload, wanted))


def _payload(payload: Mapping[str, Any] | None, wanted: Any) -> dict[str, Any] | None:
    if not wanted:
        return None
    return {name: value for name, value in (payload or {}).items() if wanted is True or name in wanted}


def _filter(wanted: models.Filter | None) -> edge.Filter | None:
    return None if wanted is None else _chosen(wanted)


def _chosen(wanted: models.Filter) -> edge.Filter:
    return edge.Filter(must=_all(wanted.must), should=_all(wanted.should), must_not=_all(wanted.must_not))


def _all(parts: Any) -> list[Any] | None:
    if parts is None:
        return None
    return [_chosen(part) if isinstance(part, models.Filter) else _condition(part) for part in parts]


def _condition(part: models.FieldCondition) -> edge.FieldCondition:
    match part:
        case models.FieldCondition(key=key, match=models.MatchValue(value=value)):
            return edge.FieldCondition(key, match=edge.MatchValue(value))
        case models.FieldCondition(key=key, match=models.MatchAny(any=values)):
            return edge.FieldCondition(key, match=edge.MatchAny([str(value) for value in values]))
        case models.FieldCondition(key=key, match=models.MatchSubstring(substring=inside)):
            return edge.FieldCondition(key, match=edge.MatchSubstring(inside))
        case models.FieldCondition(key=key, range=models.Range(gt=gt, gte=gte, lt=lt, lte=lte)):
            return edge.FieldCondition(key, range=edge.RangeFloat(gt=gt, gte=gte, lt=lt, lte=lte))
    raise ValueError(f"the shim knows no such condition: {part}")
