"""Brings a PostgreSQL database to the schema of this version: numbered SQL files, each applied once, in their order.

In: a connection. Out: nothing, or a typed error. All that is missing is applied in one transaction under an advisory
lock, so any number of processes may start at once; a database that is up to date needs no right to change it.
"""

from importlib.resources import files
from typing import Final, TypeAlias

import asyncpg

from fanfuse_runtime.corpus_store import StoreUnavailableError

_LOCK: Final = 0x66_61_6E_66_75_73_65
"""Key of the advisory lock: "fanfuse"."""
_EXISTS: Final = (
    # From the catalogue itself: a name look-up such as to_regclass remembers, while a transaction waits for the lock,
    # that the table was not there.
    "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'fanfuse' AND tablename = 'schema_version')"
)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"


def migrations() -> dict[int, str]:
    """SQL by version, from 1 on without a gap."""
    scripts = [each for each in files("fanfuse_runtime").joinpath("migrations").iterdir() if each.name.endswith(".sql")]
    return {int(each.name.partition("_")[0]): each.read_text("utf-8") for each in scripts}


async def migrate(connection: Connection) -> None:
    """Apply what is missing. Raises `StoreUnavailableError` for a schema that a newer version made."""
    wanted = migrations()
    if await _version(connection) == max(wanted):
        return
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        found = await _version(connection)
        if found > max(wanted):
            raise StoreUnavailableError(
                f"the registry's database has schema version {found}, this version knows {max(wanted)}: "
                "run the version that made it, or a newer one"
            )
        for version in range(found + 1, max(wanted) + 1):
            await connection.execute(wanted[version])
            await connection.execute("INSERT INTO fanfuse.schema_version (version) VALUES ($1)", version)


async def _version(connection: Connection) -> int:
    if not await connection.fetchval(_EXISTS):
        return 0
    found: int = await connection.fetchval("SELECT coalesce(max(version), 0) FROM fanfuse.schema_version")
    return found
