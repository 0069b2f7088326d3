"""The collections of one installation on a Qdrant server: one per embedder model and size of vectors.

In: what a generation is made for. Out: the name of its collection, which exists and fits. Nothing here deletes or
recreates a collection: one that does not fit is refused by name, with both sizes.
"""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from qdrant_client import AsyncQdrantClient, models

from fanfuse_backend_workers.adapters.qdrant_server_calls import QdrantCalls, QdrantError
from fanfuse_backend_workers.adapters.qdrant_server_points import VECTOR, generation_point_id, own_indexes
from fanfuse_backend_workers.adapters.qdrant_server_values import indexes
from fanfuse_backend_workers.servers import IndexKey
from fanfuse_contracts.corpus import EmbedderSpec, FieldType
from fanfuse_contracts.enums import FailureKind

FORMAT: Final = "v1"
"""Raised with every change of what points hold: another format is another collection."""
CALL_S: Final = 10.0
MAKE_S: Final = 60.0
"""For what the server builds, as an index over points that are there."""
_MODEL: Final = "model"
_HNSW: Final = models.HnswConfigDiff(m=0, payload_m=16)
"""Links among the points of one tenant or corpus, none across: every search is of one."""
_MAX_SLUG: Final = 80
_REMEMBERED: Final = 1_024


def collection_name(namespace: str, embedder: EmbedderSpec) -> str:
    """`<namespace>.<model>-<dimensions>-v1`; models whose names look alike have different ones."""
    return f"{alias_name(namespace, embedder)}-{FORMAT}"


def alias_name(namespace: str, embedder: EmbedderSpec) -> str:
    """The same without the version: what people and dashboards use."""
    slug = re.sub(r"[^a-z0-9]+", "-", embedder.model.lower()).strip("-")[:_MAX_SLUG]
    if slug != embedder.model:
        slug = f"{slug}-{hashlib.sha256(embedder.model.encode()).hexdigest()[:8]}"
    return f"{namespace}.{slug}-{embedder.dimensions}"


class Collections:
    """Finds and makes them."""

    def __init__(self, client: AsyncQdrantClient, calls: QdrantCalls, namespace: str) -> None:
        self._client = client
        self._calls = calls
        self._namespace = namespace
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._places: OrderedDict[IndexKey, str] = OrderedDict()

    async def names(self) -> list[str]:
        """Every collection of this installation and format."""
        listed = await self._calls.run_again(self._client.get_collections, CALL_S)
        names = [one.name for one in listed.collections]
        return sorted(name for name in names if name.startswith(f"{self._namespace}.") and name.endswith(f"-{FORMAT}"))

    async def made(self, key: IndexKey, embedder: EmbedderSpec, fields: Mapping[str, FieldType]) -> str:
        """The collection for a generation, made if it is not there. Raises CONFIG where it does not fit."""
        name = collection_name(self._namespace, embedder)
        place = await self.find(key)
        if place not in (None, name):
            raise QdrantError(
                FailureKind.CONFIG,
                f"generation {key.generation!r} of {key.tenant}/{key.corpus} is in collection {place!r}, not {name!r}:"
                " a generation has one embedder, start another one",
            )
        if not await self._exists(name):
            await self._create(name, embedder)
        info = await self._info(name)
        check_fits(name, info, embedder)
        await self._index(name, info, own_indexes() | indexes(fields))
        return name

    async def size(self, name: str) -> int:
        """Dimensions of a collection's vectors."""
        if name not in self._sizes:
            found = size_of(await self._info(name))
            if found is None:
                raise QdrantError(FailureKind.CONFIG, f"collection {name!r} has no vectors named {VECTOR!r}")
            _remember(self._sizes, name, found)
        return self._sizes[name]

    async def checked(self, name: str, embedder: EmbedderSpec) -> None:
        """Raise CONFIG where a collection does not hold what this embedder makes."""
        check_fits(name, await self._info(name), embedder)

    async def find(self, key: IndexKey) -> str | None:
        """The collection that holds a generation; None where there is none."""
        for name in await self.names():
            if await self._holds(name, key):
                return name
        return None

    async def place(self, key: IndexKey) -> str:
        """The collection of a generation that is written to; raises NOT_FOUND."""
        name = self._places.get(key) or await self.find(key)
        if name is None:
            whose = f"{key.tenant}/{key.corpus}"
            raise QdrantError(FailureKind.NOT_FOUND, f"generation {key.generation!r} of {whose} is not on this server")
        self.remember(key, name)
        return name

    def remember(self, key: IndexKey, name: str) -> None:
        """A generation is known to be here."""
        _remember(self._places, key, name)

    def forget(self, key: IndexKey) -> None:
        """A generation was deleted."""
        self._places.pop(key, None)

    async def _holds(self, name: str, key: IndexKey) -> bool:
        point = [generation_point_id(key)]
        try:
            found = await self._calls.run_again(
                lambda: self._client.retrieve(name, point, with_payload=False, timeout=int(CALL_S)), CALL_S
            )
        except QdrantError as error:
            if error.kind is FailureKind.NOT_FOUND:  # deleted by its owner since it was listed
                return False
            raise
        return bool(found)

    async def _exists(self, name: str) -> bool:
        return await self._calls.run_again(lambda: self._client.collection_exists(name), CALL_S)

    async def _info(self, name: str) -> models.CollectionInfo:
        return await self._calls.run_again(lambda: self._client.get_collection(name), CALL_S)

    async def _create(self, name: str, embedder: EmbedderSpec) -> None:
        vectors = {VECTOR: models.VectorParams(size=embedder.dimensions, distance=models.Distance.COSINE)}
        try:
            await self._calls.run(
                lambda: self._client.create_collection(
                    name,
                    vectors_config=vectors,
                    hnsw_config=_HNSW,
                    metadata={_MODEL: embedder.model},
                    timeout=int(MAKE_S),
                ),
                MAKE_S,
            )
        except QdrantError:
            if not await self._exists(name):  # else another process was faster
                raise

    async def _index(
        self,
        name: str,
        info: models.CollectionInfo,
        wanted: Mapping[str, models.KeywordIndexParams | models.FloatIndexParams],
    ) -> None:
        for path, schema in wanted.items():
            there = info.payload_schema.get(path)
            if there is None:
                await self._calls.run(
                    lambda path=path, schema=schema: self._client.create_payload_index(  # type: ignore[misc]
                        name, path, field_schema=schema, timeout=int(MAKE_S)
                    ),
                    MAKE_S,
                )
            elif there.data_type != schema.type.value:
                raise QdrantError(
                    FailureKind.CONFIG,
                    f"collection {name!r} has a {there.data_type.value} index on {path!r}, not {schema.type.value}",
                )


def check_fits(name: str, info: models.CollectionInfo, embedder: EmbedderSpec) -> None:
    """Raise CONFIG where a collection can not hold what this embedder makes."""
    size, model = size_of(info), (info.config.metadata or {}).get(_MODEL, embedder.model)
    if size == embedder.dimensions and model == embedder.model:
        return
    holds = f"vectors of {size} dimensions by {model}" if size else f"no cosine vectors named {VECTOR!r}"
    raise QdrantError(
        FailureKind.CONFIG,
        f"collection {name!r} holds {holds}, not {embedder.dimensions} dimensions by {embedder.model}:"
        " name the embedder it was made with, or index the corpus again",
    )


def size_of(info: models.CollectionInfo) -> int | None:
    """Dimensions of the vectors that are searched; None where there are none of that name and distance."""
    vectors = info.config.params.vectors
    found = vectors.get(VECTOR) if isinstance(vectors, dict) else None
    return found.size if found is not None and found.distance is models.Distance.COSINE else None


def _remember(known: "OrderedDict[Any, Any]", key: object, value: object) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > _REMEMBERED:
        known.popitem(last=False)
