"""What both keyword clients make of refusals, of strangers and of settings: typed, and without a word of the data."""

import asyncio
import base64
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import SecretStr

from fanfuse_backend_workers.adapters import elasticsearch, opensearch
from fanfuse_backend_workers.ports import SearchError, SearchRequest
from fanfuse_backend_workers.servers import IndexKey, ServerBackend, ServerSettings
from fanfuse_contracts.enums import FailureKind
from fanfuse_testing.flow import eventually
from fanfuse_testing.server_case import card_of
from tests.servers.opensearch_errors import KEY, SECRET_TEXT, hits, refusal, searched
from tests.servers.opensearch_scripted import Answer, ScriptedServer

Connect = Callable[[ServerSettings], ServerBackend]
PASSWORD = "correct-horse-battery"


@pytest.fixture(params=[elasticsearch.connect, opensearch.connect], ids=["elasticsearch", "opensearch"])
def connect(request: pytest.FixtureRequest) -> Connect:
    chosen: Connect = request.param
    return chosen


async def searching(connect: Connect, server: ScriptedServer, text: str = "apollo") -> SearchError:
    """The failure of a search."""
    settings = ServerSettings(url=server.url, username="reader", password=SecretStr(PASSWORD))
    backend = connect(settings)
    try:
        engine = await backend.open(card_of(backend, KEY))
        with pytest.raises(SearchError) as failed:
            await engine.search(SearchRequest(KEY.tenant, KEY.corpus, text, window=10, timeout_s=5.0))
        return failed.value
    finally:
        await backend.close()


@pytest.mark.parametrize(
    ("status", "name", "kind"),
    [
        (400, "parsing_exception", FailureKind.BAD_REQUEST),
        (400, "index_closed_exception", FailureKind.BAD_REQUEST),
        (401, "security_exception", FailureKind.CONFIG),
        (403, "security_exception", FailureKind.CONFIG),
        (404, "index_not_found_exception", FailureKind.NOT_FOUND),
        (406, "media_type_header_exception", FailureKind.CONFIG),
        (408, "timeout_exception", FailureKind.TIMEOUT),
        (413, "content_too_long_exception", FailureKind.TOO_LARGE),
        (429, "rejected_execution_exception", FailureKind.OVERLOADED),
        (429, "cluster_block_exception", FailureKind.OVERLOADED),
        (500, "null_pointer_exception", FailureKind.UNAVAILABLE),
        (502, "bad_gateway", FailureKind.UNAVAILABLE),
        (503, "search_phase_execution_exception", FailureKind.UNAVAILABLE),
        (504, "gateway_timeout", FailureKind.TIMEOUT),
    ],
)
async def test_a_refusal_has_its_kind_and_shows_no_text(
    connect: Connect, status: int, name: str, kind: FailureKind
) -> None:
    """ELA-02: a request's fault never counts against the backend; reasons quote the query, so none is told."""
    async with ScriptedServer(searched(lambda _: refusal(status, name))) as server:
        failed = await searching(connect, server, "apollo vault")
    assert failed.kind is kind
    assert name in failed.message
    assert str(status) in failed.message
    for secret in (SECRET_TEXT, "vault", "apollo", PASSWORD, server.url):
        assert secret not in failed.message


@pytest.mark.parametrize("body", ["<html>welcome</html>", ["a list"], "null", {}, {"hits": None}, {"hits": {}}])
async def test_what_is_no_search_server_is_no_empty_result(connect: Connect, body: object) -> None:
    async with ScriptedServer(searched(lambda _: Answer(200, body))) as server:
        assert (await searching(connect, server)).kind is FailureKind.UNAVAILABLE


async def test_texts_and_counts_of_half_an_index_are_no_answer(connect: Connect) -> None:
    """A text that is not given would be called gone; a count that is short would be called wrong."""
    for short in ({"timed_out": True}, {"_shards": {"total": 2, "failed": 1}}):
        async with ScriptedServer(searched(lambda _, short=short: hits(count=1, **short))) as server:  # type: ignore[misc]
            backend = connect(ServerSettings(url=server.url))
            for call in (backend.texts(card_of(backend, KEY), ["c1", "c2"]), backend.count(KEY)):
                with pytest.raises(SearchError) as refused:
                    await call
                assert refused.value.kind is FailureKind.UNAVAILABLE
            await backend.close()


async def test_the_elasticsearch_client_takes_no_other_product() -> None:
    async with ScriptedServer(lambda _: Answer(200, {}, {})) as server:
        backend = elasticsearch.connect(ServerSettings(url=server.url))
        with pytest.raises(SearchError, match="not Elasticsearch") as refused:
            await backend.health()
        await backend.close()
    assert refused.value.kind is FailureKind.CONFIG


async def test_servers_of_version_8_and_9_are_asked_alike() -> None:
    """Both understand a request for version 8 of the API; a client of version 9 would else ask for 9 only."""
    async with ScriptedServer(lambda _: Answer(200, {"count": 1})) as server:
        backend = elasticsearch.connect(ServerSettings(url=server.url))
        assert await backend.count(KEY) == 1
        await backend.health()
        await backend.close()
    assert {asked.headers["accept"] for asked in server.asked} == {
        "application/vnd.elasticsearch+json; compatible-with=8"
    }
    assert server.asked_for("/_search")[0].headers["content-type"].endswith("compatible-with=8")


async def test_credentials_are_sent_as_headers_only(connect: Connect) -> None:
    basic = "Basic " + base64.b64encode(f"reader:{PASSWORD}".encode()).decode()
    async with ScriptedServer(searched(lambda _: refusal(401, "security_exception"))) as server:
        failed = await searching(connect, server)
    assert {asked.headers["authorization"] for asked in server.asked} == {basic}
    assert all(PASSWORD not in asked.path for asked in server.asked)
    assert "user, key and permissions" in failed.message


async def test_an_api_key_is_for_elasticsearch() -> None:
    async with ScriptedServer(lambda _: Answer(200, {"count": 1})) as server:
        key = SecretStr("a2V5OnNlY3JldA==")
        backend = elasticsearch.connect(ServerSettings(url=server.url, api_key=key))
        await backend.count(KEY)
        await backend.close()
        assert server.asked[0].headers["authorization"] == "ApiKey a2V5OnNlY3JldA=="
        for refusing, more in ((opensearch.connect, None), (elasticsearch.connect, "reader")):
            with pytest.raises(SearchError) as refused:
                refusing(ServerSettings(url=server.url, api_key=key, username=more))
            assert refused.value.kind is FailureKind.CONFIG
            assert key.get_secret_value() not in refused.value.message


@pytest.mark.parametrize(
    "settings",
    [
        ServerSettings(url="localhost:9200"),
        ServerSettings(url="ftp://localhost"),
        ServerSettings(url="http://reader:hidden@localhost:9200"),
        ServerSettings(url="http://localhost:port"),
        ServerSettings(url="http://localhost:9200", ca_file=Path("ca.pem")),
        ServerSettings(url="https://localhost:9200", ca_file=Path("no-such.pem")),
        ServerSettings(url="http://localhost:9200", namespace="-x"),
    ],
    ids=lambda settings: settings.url + settings.namespace,
)
def test_settings_that_cannot_be_used_are_refused(connect: Connect, settings: ServerSettings) -> None:
    with pytest.raises(SearchError) as refused:
        connect(settings)
    assert refused.value.kind is FailureKind.CONFIG
    assert "hidden" not in refused.value.message


async def test_tls_trusts_the_given_certificate_and_no_other(connect: Connect, tmp_path: Path) -> None:
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(*_certificate(tmp_path / "ours"))
    async with ScriptedServer(lambda _: Answer(200, {"count": 7}), tls=served) as server:
        trusting = connect(ServerSettings(url=server.url, ca_file=tmp_path / "ours" / "certificate.pem"))
        assert await trusting.count(KEY) == 7
        await trusting.close()
        wrong, _ = _certificate(tmp_path / "theirs")
        for ca_file in (wrong, None):
            wary = connect(ServerSettings(url=server.url, ca_file=ca_file))
            with pytest.raises(SearchError, match="TLS") as refused:
                await wary.count(KEY)
            assert refused.value.kind is FailureKind.CONFIG
            await wary.close()
        assert len(server.asked) == 1


async def test_a_closed_client_opens_no_socket(connect: Connect) -> None:
    async with ScriptedServer(searched(lambda _: hits("c1"))) as server:
        backend = connect(ServerSettings(url=server.url))
        engine = await backend.open(card_of(backend, KEY))
        await backend.close()
        await server.emptied()
        for call in (
            backend.count(KEY),
            engine.count(),
            backend.publish(KEY),
            backend.texts(card_of(backend, KEY), "x"),
        ):
            with pytest.raises(SearchError) as refused:
                await call
            assert refused.value.kind is FailureKind.UNAVAILABLE
        assert server.all_sockets == 1


async def test_a_name_over_what_a_server_takes_is_refused(connect: Connect) -> None:
    backend = connect(ServerSettings(url="http://localhost:9200", namespace="n" * 64))
    with pytest.raises(SearchError) as refused:
        await backend.count(IndexKey("t" * 64, "c" * 64, "g" * 64))
    assert refused.value.kind is FailureKind.CONFIG
    await backend.close()


async def test_cancelling_a_call_frees_its_connection(connect: Connect) -> None:
    slow = Answer(after_s=30.0)
    async with ScriptedServer(searched(lambda asked: slow if b"apollo" in asked.body else hits("c1"))) as server:
        backend = connect(ServerSettings(url=server.url, connections=2))
        engine = await backend.open(card_of(backend, KEY))
        requests = [SearchRequest(KEY.tenant, KEY.corpus, text, 10, 20.0) for text in ("apollo", "apollo", "saturn")]
        hanging = [asyncio.create_task(engine.search(one)) for one in requests[:2]]
        await eventually(lambda: len(server.asked_for("/_search")) == 2)
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
        assert len((await engine.search(requests[2])).hits) == 1
        await backend.close()


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 signed by itself, and its key."""
    folder.mkdir()
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    kept = folder / "certificate.pem"
    kept.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = folder / "key.pem"
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return kept, private
