"""Indexes on servers: made once, checked, never remade, published by one alias."""

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator
from urllib.error import HTTPError
from uuid import uuid4

import pytest

from fanfuse_backend_workers.adapters.lucene_mapping import index_body
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import IndexKey, IndexShape, ServerBackend, ServerSettings
from fanfuse_contracts.corpus import FieldType
from fanfuse_contracts.enums import FailureKind
from fanfuse_testing.engine_suite import chunk
from fanfuse_testing.engine_suite import request as searching
from fanfuse_testing.server_case import SHAPE, card_of, write
from tests.servers.keyword_servers import KEYWORD_SERVERS, KeywordServer


class Server:
    """A server, its client, and plain requests beside it."""

    def __init__(self, server: KeywordServer) -> None:
        self.url = server.address()
        self.namespace = f"n{uuid4().hex[:12]}"
        self.backend: ServerBackend = server.connect(ServerSettings(url=self.url, namespace=self.namespace))

    def name(self, key: IndexKey) -> str:
        return ".".join((self.namespace, *key))

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict]:
        return await asyncio.to_thread(self._ask, method, path, body)

    def _ask(self, method: str, path: str, body: object) -> tuple[int, dict]:
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, sent, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return reply.status, json.loads(reply.read())
        except HTTPError as error:
            return error.code, json.loads(error.read())


KEY = IndexKey("acme", "docs", "g1")


@pytest.fixture(params=KEYWORD_SERVERS)
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    server = Server(request.param)
    yield server
    await server.backend.close()
    _, found = await server.ask("GET", f"/{server.namespace}*/_alias")
    for index in found:
        await server.ask("DELETE", f"/{index}")


async def refusal(server: Server, shape: IndexShape = SHAPE) -> SearchError:
    with pytest.raises(SearchError) as refused:
        await server.backend.ensure(KEY, shape)
    return refused.value


async def test_an_index_has_one_shard_and_a_fixed_mapping(server: Server) -> None:
    """One shard: BM25's statistics are the corpus's, as in the embedded engine. No document changes the mapping."""
    await write(server.backend, KEY, [chunk("c1", metadata={"year": 2020, "undeclared": "x"})])
    _, found = await server.ask("GET", f"/{server.name(KEY)}")
    index = found[server.name(KEY)]
    assert index["settings"]["index"]["number_of_shards"] == "1"
    assert "undeclared" not in index["mappings"]["properties"]["m"]["properties"]
    assert set(index["mappings"]["properties"]) == {
        *("tenant", "corpus", "generation", "chunk_id", "fields", "words", "wholes", "m")
    }


async def test_an_index_made_for_other_fields_is_refused_and_kept(server: Server) -> None:
    await write(server.backend, KEY, [chunk("c1")])
    await server.backend.ensure(KEY, SHAPE)
    fewer = IndexShape(fields={"year": FieldType.INTEGER})
    refused = await refusal(server, fewer)
    assert (refused.kind, "filterable fields" in refused.message) == (FailureKind.CONFIG, True)
    assert await server.backend.count(KEY) == 1


async def test_an_index_of_another_mapping_is_refused_and_kept(server: Server) -> None:
    """Made by hand, or changed since: the analyser, a type, or what new fields do."""
    for change in ("words", "chunk_id", "dynamic"):
        body = index_body(KEY, SHAPE)
        mappings = body["mappings"]
        if change == "dynamic":
            mappings["dynamic"] = "true"
        else:
            mappings["properties"] = {**mappings["properties"], change: {"type": "text"}}
        await server.ask("PUT", f"/{server.name(KEY)}", body)
        refused = await refusal(server)
        assert (refused.kind, change in refused.message) == (FailureKind.CONFIG, True)
        assert (await server.ask("DELETE", f"/{server.name(KEY)}"))[0] == 200


async def test_an_index_of_someone_else_is_refused_and_kept(server: Server) -> None:
    await server.ask("PUT", f"/{server.name(KEY)}", {"mappings": {"properties": {"text": {"type": "text"}}}})
    await server.ask("PUT", f"/{server.name(KEY)}/_doc/1?refresh=true", {"text": "theirs"})
    assert (await refusal(server)).kind is FailureKind.CONFIG
    for call in (server.backend.upsert(KEY, [chunk("c1")]), server.backend.delete(KEY), server.backend.publish(KEY)):
        with pytest.raises(SearchError) as refused:
            await call
        assert refused.value.kind is FailureKind.CONFIG
    assert await server.backend.count(KEY) == 1


async def test_many_processes_make_one_index(server: Server) -> None:
    await asyncio.gather(*(server.backend.ensure(KEY, SHAPE) for _ in range(8)))
    await server.backend.ensure(KEY, SHAPE)
    assert await server.backend.generations("acme", "docs") == ("g1",)


async def test_writing_without_an_index_makes_none(server: Server) -> None:
    """A server would make one up, with a mapping guessed from the first document."""
    with pytest.raises(SearchError) as refused:
        await server.backend.upsert(KEY, [chunk("c1")])
    assert refused.value.kind is FailureKind.NOT_FOUND
    assert await server.backend.delete(KEY, ["c1"]) == 0
    assert await server.backend.generations("acme", "docs") == ()


async def test_the_alias_points_to_the_published_generation_alone(server: Server) -> None:
    """For operators; searches name the generation's index."""
    keys = [KEY._replace(generation=name) for name in ("g1", "g2", "g3")]
    for key in keys:
        await write(server.backend, key, [chunk("c1")])
    for key in (*keys, keys[0]):
        await server.backend.publish(key)
        _, found = await server.ask("GET", f"/_alias/{server.namespace}.acme.docs")
        assert set(found) == {server.name(key)}
    await server.backend.delete(keys[0])
    assert (await server.ask("GET", f"/_alias/{server.namespace}.acme.docs"))[0] == 404


async def test_an_alias_of_someone_else_is_left_alone(server: Server) -> None:
    theirs = f"{server.namespace}x"
    await server.ask("PUT", f"/{theirs}", {"aliases": {f"{server.namespace}.acme.docs": {}}})
    await write(server.backend, KEY, [chunk("c1")])
    with pytest.raises(SearchError) as refused:
        await server.backend.publish(KEY)
    assert refused.value.kind is FailureKind.CONFIG
    _, found = await server.ask("GET", f"/_alias/{server.namespace}.acme.docs")
    assert set(found) == {theirs}


async def test_a_deleted_index_is_not_found_by_an_engine_opened_before(server: Server) -> None:
    """A missing index is no empty list."""
    await write(server.backend, KEY, [chunk("c1")])
    engine = await server.backend.open(card_of(server.backend, KEY))
    await server.backend.delete(KEY)
    with pytest.raises(SearchError) as missing:
        await engine.search(searching())
    assert missing.value.kind is FailureKind.NOT_FOUND


async def test_an_installation_without_an_index_is_healthy(server: Server) -> None:
    await server.backend.health()
    assert await server.backend.generations(*KEY[:2]) == (), "asking for health makes no index"
