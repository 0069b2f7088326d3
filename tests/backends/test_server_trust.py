"""TLS to Qdrant and Neo4j: a certificate of one's own authority is trusted where `ca_file` names it, and no other.

Of Elasticsearch and OpenSearch it is told in `test_elasticsearch_failures.py`.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fanfuse_backend_workers.adapters import neo4j, qdrant
from fanfuse_backend_workers.adapters.trust import NOT_TRUSTED
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import IndexKey, ServerBackend, ServerSettings
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_testing.engine_suite import chunk
from fanfuse_testing.engine_suite import request as searching
from fanfuse_testing.ports import free_port
from fanfuse_testing.server_case import card_of, delete_all, found, write
from tests.deploy.certificates import write_certificates
from tests.servers.neo4j import SHARED_RELEASES, label, neo4j_settings
from tests.servers.qdrant import QdrantShim
from tests.servers.tls_front import tls_front

KEY = IndexKey("acme", "docs", "g1")


class Authorities:
    """Ours signed the server's certificate; another did not."""

    def __init__(self, folder: Path) -> None:
        self.folders = (folder / "ours", folder / "another")
        for one in self.folders:
            one.mkdir()
            write_certificates(one)
        self.ours, self.another = (one / "ca.crt" for one in self.folders)


@pytest.fixture
def authorities(tmp_path: Path) -> Authorities:
    return Authorities(tmp_path)


@pytest.fixture
def shim() -> Iterator[QdrantShim]:
    shim = QdrantShim().start()
    yield shim
    shim.stop()


@pytest.fixture
async def qdrant_behind(shim: QdrantShim, authorities: Authorities) -> AsyncIterator[str]:
    async with tls_front(shim.url, authorities.folders[0]) as address:
        yield f"https://{address}"


@pytest.fixture
async def nobody_behind(authorities: Authorities) -> AsyncIterator[str]:
    """Whoever trusts the certificate gets past the handshake, and no further."""
    async with tls_front(f"bolt://127.0.0.1:{free_port()}", authorities.folders[0]) as address:
        yield address


@pytest.fixture(params=SHARED_RELEASES, ids=label)
async def graph(request: pytest.FixtureRequest, authorities: Authorities) -> AsyncIterator[ServerSettings]:
    """A real server behind TLS."""
    settings = neo4j_settings(request.param)
    async with tls_front(settings.url, authorities.folders[0]) as address:
        yield replace(settings, url=f"bolt://{address}")


async def failure(backend: ServerBackend) -> SearchError:
    with pytest.raises(SearchError) as failed:
        await backend.health()
    await backend.close()
    return failed.value


async def finds_what_it_wrote(backend: ServerBackend) -> bool:
    await write(backend, KEY, [chunk("c")])
    engine = await backend.open(card_of(backend, KEY))
    hits = await found(engine, searching(tenant=KEY.tenant, corpus=KEY.corpus))
    await delete_all(backend, KEY.tenant)
    return hits == ["c"]


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")
async def test_qdrant_of_our_authority_is_used(qdrant_behind: str, authorities: Authorities) -> None:
    assert await finds_what_it_wrote(qdrant.connect(ServerSettings(url=qdrant_behind, ca_file=authorities.ours)))


async def test_qdrant_of_another_authority_is_refused(qdrant_behind: str, authorities: Authorities) -> None:
    for ca_file in (authorities.another, None):
        refused = await failure(qdrant.connect(ServerSettings(url=qdrant_behind, ca_file=ca_file)))
        assert (refused.kind, refused.message) == (FailureKind.CONFIG, NOT_TRUSTED)


async def test_a_server_that_speaks_no_tls_is_refused() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        refused = await failure(qdrant.connect(ServerSettings(url=f"https://127.0.0.1:{port}")))
    assert (refused.kind, refused.message) == (FailureKind.CONFIG, NOT_TRUSTED)


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
async def test_neo4j_of_another_authority_is_refused(nobody_behind: str, authorities: Authorities, scheme: str) -> None:
    settings = ServerSettings(url=f"{scheme}://{nobody_behind}", ca_file=authorities.another)
    for refusing in (settings, ServerSettings(url=f"{scheme}+s://{nobody_behind}")):
        refused = await failure(neo4j.connect(refusing))
        assert (refused.kind, refused.message) == (FailureKind.CONFIG, NOT_TRUSTED)


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
async def test_a_trusted_neo4j_that_goes_away_is_not_available(
    nobody_behind: str, authorities: Authorities, scheme: str
) -> None:
    settings = ServerSettings(url=f"{scheme}://{nobody_behind}", ca_file=authorities.ours)
    for trusting in (settings, ServerSettings(url=f"{scheme}+ssc://{nobody_behind}")):
        assert (await failure(neo4j.connect(trusting))).kind is FailureKind.UNAVAILABLE


@pytest.mark.parametrize("connect", [qdrant.connect, neo4j.connect], ids=[Kind.VECTOR, Kind.GRAPH])
def test_a_file_without_a_certificate_is_refused(connect, authorities: Authorities) -> None:
    url = "bolt://127.0.0.1:1" if connect is neo4j.connect else "https://127.0.0.1:1"
    with pytest.raises(SearchError, match="holds no certificate to trust") as refused:
        connect(ServerSettings(url=url, ca_file=authorities.folders[0] / "tls.key"))
    assert refused.value.kind is FailureKind.CONFIG


@pytest.mark.engine
async def test_a_real_neo4j_of_our_authority_is_used(graph: ServerSettings, authorities: Authorities) -> None:
    assert await finds_what_it_wrote(neo4j.connect(replace(graph, ca_file=authorities.ours)))
    assert await finds_what_it_wrote(neo4j.connect(replace(graph, url=graph.url.replace("bolt:", "bolt+ssc:"))))


@pytest.mark.engine
async def test_a_real_neo4j_of_another_authority_is_refused(graph: ServerSettings, authorities: Authorities) -> None:
    untrusted = replace(graph, url=graph.url.replace("bolt:", "bolt+s:"))
    for refusing in (replace(graph, ca_file=authorities.another), untrusted):
        refused = await failure(neo4j.connect(refusing))
        assert (refused.kind, refused.message) == (FailureKind.CONFIG, NOT_TRUSTED)
