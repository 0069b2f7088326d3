"""The registry of corpora in a PostgreSQL database, followed by every process through LISTEN.

In: the address of a database. Out: the cards, current within a second of a commit; while the database is away the last
known ones stay. Also without notifications (a pooler between) every process looks again every five seconds. The address
holds a password: it never stands in a message or a log.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final

import asyncpg

from fanfuse_contracts import limits
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_runtime.corpus_store import (
    ConflictError,
    ReadOnlyStoreError,
    Registered,
    StoreUnavailableError,
    UnreadableCardError,
    registered_card,
    stored_card,
)
from fanfuse_runtime.known import KnownCards
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.schema import migrate
from fanfuse_runtime.tasks import end_tasks

CHANNEL: Final = "fanfuse_corpora"
_TIMEOUT_S: Final = 5.0
_RETRY_S: Final = 0.5
_RETRY_AFTER_FAULT_S: Final = 1.0
_WRITERS: Final = 2
_IDLE_S: Final = 10.0
"""Who only follows keeps one connection."""
_SETTINGS: Final[dict[str, Any]] = {
    # A pooler between us and the database knows no prepared statements of ours.
    "statement_cache_size": 0,
    "server_settings": {"application_name": "fanfuse"},
}
_AWAY: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)

_READ: Final = "SELECT card::text, revision FROM fanfuse.corpora WHERE tenant = $1 AND corpus = $2"
_READ_ALL: Final = (
    "SELECT tenant, corpus, card::text, revision FROM fanfuse.corpora WHERE card IS NOT NULL "
    'ORDER BY tenant COLLATE "C", corpus COLLATE "C"'
)
_SINCE: Final = "SELECT tenant, corpus, card::text, revision FROM fanfuse.corpora WHERE revision > $1 ORDER BY revision"
_INSERT: Final = (
    "INSERT INTO fanfuse.corpora (tenant, corpus, card) VALUES ($1, $2, $3::text::json) "
    "ON CONFLICT (tenant, corpus) DO NOTHING RETURNING revision"
)
_UPDATE: Final = (
    "UPDATE fanfuse.corpora SET card = $3::text::json WHERE tenant = $1 AND corpus = $2 AND revision = $4 "
    "RETURNING revision"
)
_DELETE: Final = (
    "UPDATE fanfuse.corpora SET card = NULL "
    "WHERE tenant = $1 AND corpus = $2 AND revision = $3 AND card IS NOT NULL RETURNING revision"
)

_log = get_logger("registry")


class PostgresCorpusStore(KnownCards):
    """`CorpusStore` in a database that several deployments may share with other things: it has a schema of its own."""

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self._dsn = dsn
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._opening = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._again = asyncio.Event()
        self._loaded = asyncio.Event()

    # -- follow -------------------------------------------------------------------------------------------------

    async def start(self, timeout_s: float = 10.0) -> None:
        """Follow changes; returns when every present card is known. Raises `StoreUnavailableError`."""
        async with self._connected():
            self._task = asyncio.create_task(self._run())
        with _plainly():
            await asyncio.wait_for(self._loaded.wait(), timeout_s)

    async def stop(self) -> None:
        """Stop following, and close every connection."""
        if self._task is not None:
            await end_tasks((self._task,))
        if self._pool is not None:
            self._pool.terminate()

    def reread(self) -> None:
        """Look again now."""
        self._again.set()

    async def _run(self) -> None:
        away = False
        while True:
            try:
                async with self._listening() as connection:
                    await self._look(connection, everything=True)
                    if away:
                        _log.info("registry.database_back")
                    away = False
                    self._loaded.set()
                    await self._follow(connection)
            except _AWAY as error:
                if not away:
                    _log.warning("registry.database_away", error=_why(error), known=len(self._values))
                away = True
                await asyncio.sleep(_RETRY_S)
            except Exception as error:  # noqa: BLE001 - one bad change must not blind this process for good
                _log.error("registry.watch_broke", exc_info=error)
                await asyncio.sleep(_RETRY_AFTER_FAULT_S)

    async def _follow(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(limits.KV_REREAD_EVERY_S):
                    await self._again.wait()
            self._again.clear()
            await self._look(connection, everything=False)

    async def _look(self, connection: "asyncpg.Connection[asyncpg.Record]", *, everything: bool) -> None:
        last = await connection.fetchval("SELECT revision FROM fanfuse.registry")
        self.note_answer()
        # A database restored from a backup, or another one behind the same address: nothing known of it holds.
        everything = everything or last < self.revision
        rows = await connection.fetch(_SINCE, 0 if everything else self.revision)
        if everything:
            self.begin_anew()
        for row in rows:
            self.confirm(f"{row['tenant']}.{row['corpus']}", _parse(row), row["revision"])
        if everything:
            self.keep_only({f"{row['tenant']}.{row['corpus']}" for row in rows})

    @asynccontextmanager
    async def _listening(self) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
        connection = await asyncpg.connect(self._dsn, timeout=_TIMEOUT_S, command_timeout=_TIMEOUT_S, **_SETTINGS)
        try:
            connection.add_termination_listener(lambda _connection: self._again.set())
            await connection.add_listener(CHANNEL, lambda *_heard: self._again.set())
            yield connection
        finally:
            connection.terminate()

    # -- read and write -----------------------------------------------------------------------------------------

    async def read(self, tenant: str, corpus: str) -> Registered:
        """The card as it stands now, with the revision that a write must name. Raises `UnreadableCardError`."""
        async with self._connected() as connection:
            row = await connection.fetchrow(_READ, tenant, corpus)
        if row is None:
            return Registered(None, 0)
        card = None if row["card"] is None else stored_card(tenant, corpus, row["card"].encode(), row["revision"])
        return Registered(card, row["revision"])

    async def read_all(self) -> tuple[Registered, ...]:
        """Every card as it stands now, by tenant and id; of one that can't be read, why."""
        async with self._connected() as connection:
            rows = await connection.fetch(_READ_ALL)
        return tuple(
            registered_card(row["tenant"], row["corpus"], row["card"].encode(), row["revision"]) for row in rows
        )

    def objection(self, card: CorpusCard) -> str | None:
        """None: any card can be registered here."""
        del card
        return None

    async def put(self, card: CorpusCard, over: int) -> int:
        """Write a card over a known revision; returns the new one.

        Raises `ConflictError`, `ReadOnlyStoreError`, `StoreUnavailableError`.
        """
        written = (card.tenant, card.corpus, card.to_json().decode())
        async with self._connected() as connection:
            if over == 0:
                revision = await connection.fetchval(_INSERT, *written)
            else:
                revision = await connection.fetchval(_UPDATE, *written, over)
        return _written(card.tenant, card.corpus, revision)

    async def delete(self, tenant: str, corpus: str, over: int) -> int:
        """Take a card out; returns the revision from which on it is gone.

        Raises `ConflictError`, `ReadOnlyStoreError`, `StoreUnavailableError`.
        """
        async with self._connected() as connection:
            revision = await connection.fetchval(_DELETE, tenant, corpus, over)
        return _written(tenant, corpus, revision)

    @asynccontextmanager
    async def _connected(self) -> "AsyncIterator[asyncpg.pool.PoolConnectionProxy[asyncpg.Record]]":
        pool = await self._open_pool()
        with _plainly():
            async with pool.acquire() as connection:
                yield connection

    async def _open_pool(self) -> "asyncpg.Pool[asyncpg.Record]":
        async with self._opening:
            if self._pool is None:
                self._pool = await self._new_pool()
        return self._pool

    async def _new_pool(self) -> "asyncpg.Pool[asyncpg.Record]":
        with _plainly():
            pool = await asyncpg.create_pool(
                self._dsn,
                min_size=0,
                max_size=_WRITERS,
                max_inactive_connection_lifetime=_IDLE_S,
                timeout=_TIMEOUT_S,
                command_timeout=_TIMEOUT_S,
                **_SETTINGS,
            )
            async with pool.acquire() as connection:
                await migrate(connection)
        return pool


def _written(tenant: str, corpus: str, revision: int | None) -> int:
    if revision is None:
        raise ConflictError(tenant, corpus)
    return revision


def _parse(row: asyncpg.Record) -> CorpusCard | None:
    if row["card"] is None:
        return None
    try:
        return stored_card(row["tenant"], row["corpus"], row["card"].encode())
    except UnreadableCardError as error:
        # A value this version can't read is treated as absent: fail closed, and say so.
        _log.error("registry.unreadable", key=f"{row['tenant']}.{row['corpus']}", error=str(error))
        return None


@contextmanager
def _plainly() -> Iterator[None]:
    """Faults of the database as errors of the registry, without its address."""
    try:
        yield
    except asyncpg.InsufficientPrivilegeError as error:
        raise ReadOnlyStoreError(f"the user of registry.postgres_dsn may not do this: {_why(error)}") from error
    except asyncpg.exceptions.ClientConfigurationError:
        raise _bad_address() from None
    except _AWAY as error:
        raise StoreUnavailableError(f"the database of registry.postgres_dsn does not serve: {_why(error)}") from error
    except ValueError:
        raise _bad_address() from None


def _bad_address() -> StoreUnavailableError:
    # What is wrong with it may hold a part of the password, so it is not told.
    return StoreUnavailableError(
        "registry.postgres_dsn is no address of a database: write postgresql://user:password@host:port/name, "
        "with '#', '/', '@' and ':' of the password percent-encoded"
    )


def _why(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
