"""The registry in PostgreSQL, on a real server: the store suite, migrations, outages, rights, backups."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import asyncpg
import pytest
from structlog.testing import capture_logs

from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_runtime import schema
from fanfuse_runtime.corpus_store import ReadOnlyStoreError, StoreUnavailableError
from fanfuse_runtime.postgres_store import PostgresCorpusStore
from fanfuse_runtime.stores import build_store
from fanfuse_testing.flow import eventually
from fanfuse_testing.postgres import PASSWORD, PostgresServer
from fanfuse_testing.store_suite import ARCHIVE, CARDS, DOCS, LEGAL, applied, indexed
from fanfuse_testing.writable_store_suite import WritableStoreSuite


class TestPostgresStore(WritableStoreSuite):
    @pytest.fixture(autouse=True)
    def _database(self, postgres_dsn: str) -> None:
        self._dsn = postgres_dsn

    def store(self) -> PostgresCorpusStore:
        return PostgresCorpusStore(self._dsn)

    async def write_raw(self, tenant: str, corpus: str, value: bytes) -> None:
        async with connected(self._dsn) as connection:
            await connection.execute(
                "INSERT INTO fanfuse.corpora (tenant, corpus, card) VALUES ($1, $2, $3::text::json) "
                "ON CONFLICT (tenant, corpus) DO UPDATE SET card = excluded.card",
                tenant,
                corpus,
                value.decode(),
            )


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def following(dsn: str) -> AsyncIterator[PostgresCorpusStore]:
    store = PostgresCorpusStore(dsn)
    try:
        await store.start()
        yield store
    finally:
        await store.stop()


async def test_any_number_of_processes_may_make_the_schema_at_once(postgres_dsn):
    async with connected(postgres_dsn) as connection:
        stores = [PostgresCorpusStore(postgres_dsn) for _ in range(8)]
        await asyncio.gather(*(store.start() for store in stores))
        await asyncio.gather(*(store.stop() for store in stores))
        versions = await connection.fetch("SELECT version FROM fanfuse.schema_version ORDER BY version")
        assert [row["version"] for row in versions] == sorted(schema.migrations())
    assert sorted(schema.migrations()) == list(range(1, len(schema.migrations()) + 1))


async def test_a_migration_that_fails_leaves_nothing_and_an_old_schema_is_brought_up(postgres_dsn, monkeypatch):
    known = schema.migrations()
    latest = max(known)
    good = {**known, latest + 1: "CREATE TABLE fanfuse.later (x int)"}
    bad = {**good, latest + 2: "CREATE TABLE fanfuse.broken (x no_such_type)"}
    async with connected(postgres_dsn) as connection:
        await schema.migrate(connection)
        monkeypatch.setattr(schema, "migrations", lambda: bad)
        with pytest.raises(asyncpg.UndefinedObjectError):
            await schema.migrate(connection)
        assert await connection.fetchval("SELECT to_regclass('fanfuse.later')") is None
        monkeypatch.setattr(schema, "migrations", lambda: good)
        await schema.migrate(connection)
        await schema.migrate(connection)
        assert await connection.fetchval("SELECT max(version) FROM fanfuse.schema_version") == latest + 1


async def test_the_schema_of_a_newer_version_is_refused(postgres_dsn):
    async with connected(postgres_dsn) as connection:
        await schema.migrate(connection)
        await connection.execute("INSERT INTO fanfuse.schema_version (version) VALUES (999)")
    store = PostgresCorpusStore(postgres_dsn)
    with pytest.raises(StoreUnavailableError, match="schema version 999, this version knows"):
        await store.start()
    await store.stop()


async def test_revisions_are_committed_in_their_order(postgres_dsn):
    """A reader that has seen revision n has everything below it: a slow transaction holds the later ones back."""
    async with following(postgres_dsn) as reader, connected(postgres_dsn) as slow:
        other = PostgresCorpusStore(postgres_dsn)
        transaction = slow.transaction()
        await transaction.start()
        first = await slow.fetchval(
            "INSERT INTO fanfuse.corpora (tenant, corpus, card) VALUES ('acme', 'docs', $1::text::json) "
            "RETURNING revision",
            DOCS.to_json().decode(),
        )
        later = asyncio.create_task(other.put(LEGAL, 0))
        await asyncio.sleep(0.3)
        assert not later.done()
        assert reader.revision < first
        await transaction.commit()
        second = await later
        assert second == first + 1
        await applied(reader, second)
        assert reader.of_tenant("acme") == (DOCS, LEGAL)
        await other.stop()


async def test_a_write_that_is_rolled_back_uses_no_revision_and_is_never_told(postgres_dsn):
    async with following(postgres_dsn) as reader, connected(postgres_dsn) as connection:
        heard: list[str] = []
        reader.on_change(lambda key, _card: heard.append(key))
        with suppress(ZeroDivisionError):
            async with connection.transaction():
                await connection.execute(
                    "INSERT INTO fanfuse.corpora (tenant, corpus, card) VALUES ('acme', 'ghost', '{}')"
                )
                raise ZeroDivisionError
        revision = await reader.put(DOCS, 0)
        await applied(reader, revision)
        assert (revision, heard) == (1, ["acme.docs"])


async def test_whoever_writes_with_sql_is_followed_and_rows_can_t_just_vanish(postgres_dsn):
    async with following(postgres_dsn) as reader, connected(postgres_dsn) as connection:
        await reader.put(DOCS, 0)
        await connection.execute(
            "UPDATE fanfuse.corpora SET card = jsonb_set(card::jsonb, '{description}', '\"by hand\"')::json"
        )
        await eventually(lambda: (card := reader.get("acme", "docs")) is not None and card.description == "by hand")
        with pytest.raises(asyncpg.RaiseError, match="set card to NULL instead"):
            await connection.execute("DELETE FROM fanfuse.corpora")
        await connection.execute("UPDATE fanfuse.corpora SET card = NULL")
        await eventually(lambda: reader.get("acme", "docs") is None)


async def test_without_notifications_a_change_is_found_by_looking_again(postgres_dsn, monkeypatch):
    """A pooler between, in transaction mode, swallows LISTEN."""
    monkeypatch.setattr("fanfuse_runtime.postgres_store.CHANNEL", "nobody_tells_this")
    monkeypatch.setattr("fanfuse_contracts.limits.KV_REREAD_EVERY_S", 0.3)
    async with following(postgres_dsn) as reader:
        revision = await reader.put(DOCS, 0)
        await applied(reader, revision)
        assert reader.get("acme", "docs") == DOCS


async def test_reread_looks_at_once(postgres_dsn, monkeypatch):
    monkeypatch.setattr("fanfuse_runtime.postgres_store.CHANNEL", "nobody_tells_this")
    monkeypatch.setattr("fanfuse_contracts.limits.KV_REREAD_EVERY_S", 3600.0)
    async with following(postgres_dsn) as reader:
        revision = await reader.put(DOCS, 0)
        reader.reread()
        await applied(reader, revision)
        assert reader.get("acme", "docs") == DOCS


async def test_an_outage_leaves_the_last_known_cards_and_says_so(
    own_postgres: PostgresServer, say: Callable[[str], None]
):
    dsn = own_postgres.dsn()
    async with following(dsn) as reader, following(dsn) as writer:
        revision = await writer.put(DOCS, 0)
        for store in (reader, writer):
            await applied(store, revision)
        with capture_logs() as logs:
            own_postgres.stop()
            await eventually(lambda: any(row["event"] == "registry.database_away" for row in logs))
            with pytest.raises(StoreUnavailableError, match=r"registry\.postgres_dsn does not serve"):
                await writer.put(LEGAL, 0)
            await asyncio.sleep(1.2)
            assert reader.of_tenant("acme") == (DOCS,)
            away = [row for row in logs if row["event"] == "registry.database_away"]
            assert len(away) == 2, "once for each of the two, however long it lasts"
            assert away[0]["known"] == 1
            assert PASSWORD not in str(logs)
            own_postgres.start()
            started = time.monotonic()
            after = await writer.put(LEGAL, 0)
            await applied(reader, after)
            took = time.monotonic() - started
            say(f"registry, PostgreSQL: the first change after a restart of the server is read after {took:.2f} s")
            assert reader.of_tenant("acme") == (DOCS, LEGAL)
            assert any(row["event"] == "registry.database_back" for row in logs)


async def test_connections_that_are_cut_are_made_again(postgres_dsn):
    async with following(postgres_dsn) as reader, connected(postgres_dsn) as connection:
        revision = await reader.put(DOCS, 0)
        for number in range(1, 4):
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fanfuse'"
            )
            writer = PostgresCorpusStore(postgres_dsn)
            revision = await writer.put(indexed(DOCS, number), revision)
            await writer.stop()
            await applied(reader, revision)
            assert reader.get("acme", "docs") == indexed(DOCS, number)


async def test_a_database_restored_from_a_backup_is_believed(postgres_dsn):
    """Its revisions are lower, or the same ones of other cards: what is not in it is gone."""
    async with following(postgres_dsn) as reader, connected(postgres_dsn) as connection:
        for card in CARDS:
            revision = await reader.put(card, 0)
        await applied(reader, revision)
        async with connection.transaction():
            await connection.execute("ALTER TABLE fanfuse.corpora DISABLE TRIGGER stamp_change")
            await connection.execute("DELETE FROM fanfuse.corpora WHERE corpus <> 'legal'")
            await connection.execute("UPDATE fanfuse.corpora SET revision = 1")
            await connection.execute("UPDATE fanfuse.registry SET revision = 1")
            await connection.execute("ALTER TABLE fanfuse.corpora ENABLE TRIGGER stamp_change")
        reader.reread()
        await eventually(lambda: dict(reader.values) == {"acme.legal": LEGAL})
        assert reader.revision == 1
        second = await reader.put(ARCHIVE, 0)
        assert second == 2
        await applied(reader, second)
        assert reader.of_tenant("acme") == (ARCHIVE, LEGAL)


async def test_a_user_that_may_only_read_follows_and_can_t_write(own_postgres: PostgresServer):
    async with connected(own_postgres.dsn()) as connection, following(own_postgres.dsn()) as writer:
        await writer.put(DOCS, 0)
        await connection.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
        await connection.execute("GRANT USAGE ON SCHEMA fanfuse TO reader")
        await connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA fanfuse TO reader")
        async with following(own_postgres.dsn(user="reader")) as reader:
            assert reader.get("acme", "docs") == DOCS
            with pytest.raises(ReadOnlyStoreError, match="permission denied"):
                await reader.put(LEGAL, 0)
            revision = await writer.put(LEGAL, 0)
            await applied(reader, revision)
            assert reader.get("acme", "legal") == LEGAL


async def test_a_card_with_odd_characters_comes_back(postgres_dsn):
    card = CorpusCard(tenant="acme", corpus="odd", display_name='\x00 " \\u0000 \n 𝄞', term_weights={"1e400": 1e-300})
    async with following(postgres_dsn) as store:
        await applied(store, await store.put(card, 0))
        assert store.get("acme", "odd") == card
        assert (await store.read("acme", "odd")).card == card


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda dsn: dsn.replace(PASSWORD, "wrong-secret"), "password authentication failed"),
        (lambda dsn: dsn.rpartition("/")[0] + "/no_such_database", "no_such_database"),
        (lambda dsn: "postgresql://postgres:wrong-secret@127.0.0.1:1/x", "Connect"),
        (lambda dsn: "postgresql://postgres:wrong-secret#x@127.0.0.1/x", "percent-encoded"),
        (lambda dsn: "mysql://postgres:wrong-secret@127.0.0.1/x", "postgresql://user:password@host"),
    ],
    ids=["password", "database", "port", "hash", "scheme"],
)
async def test_a_database_that_can_t_be_used_is_named_at_start_without_its_password(postgres_dsn, change, told):
    store = PostgresCorpusStore(change(postgres_dsn))
    with pytest.raises(StoreUnavailableError, match=told) as refused:
        await store.start()
    await store.stop()
    assert "wrong-secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


async def test_a_service_that_starts_without_its_database_ends_with_one_plain_line(nats_server, tmp_path):
    file = tmp_path / "fanfuse.yaml"
    file.write_text(f"registry: {{store: postgres, postgres_dsn: 'postgresql://u:{PASSWORD}@127.0.0.1:1/x'}}")
    service = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "fanfuse_corpus_router",
        env=os.environ | {"NATS_URL": nats_server.url, "FANFUSE_CONFIG_FILE": str(file)},
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await asyncio.wait_for(service.communicate(), 60)
    last = said.decode().splitlines()[-1]
    assert service.returncode == 2
    assert last.startswith("fanfuse: the database of registry.postgres_dsn does not serve")
    assert PASSWORD not in said.decode()
    assert b"Traceback" not in said


async def test_it_is_chosen_by_the_operators_file(postgres_dsn):
    config = FanfuseConfig.model_validate({"registry": {"store": "postgres", "postgres_dsn": postgres_dsn}})
    store = build_store(config, None, None)  # type: ignore[arg-type]
    assert isinstance(store, PostgresCorpusStore)
    await store.start()
    await store.stop()
    assert PASSWORD not in repr(config)


def test_without_the_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    monkeypatch.delitem(sys.modules, "fanfuse_runtime.postgres_store")
    config = FanfuseConfig.model_validate({"registry": {"store": "postgres", "postgres_dsn": "postgresql://x"}})
    with pytest.raises(StoreUnavailableError, match=r"fanfuse-runtime\[postgres\]"):
        build_store(config, None, None)  # type: ignore[arg-type]
