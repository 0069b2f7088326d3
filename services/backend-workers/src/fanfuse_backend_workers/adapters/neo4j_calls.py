"""Calls to a Neo4j server: a session per call, a bounded number at once, each within its time, typed failures.

In: a statement and parameters. Out: records, or `SearchError`. No message repeats what the server said: it may hold
what a document says. Time is kept here too: not every server keeps it. A connection waited for takes from it.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import neo4j
from neo4j import exceptions

from fanfuse_backend_workers.adapters.trust import NOT_TRUSTED, is_mistrust
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind

T = TypeVar("T")
Parameters = Mapping[str, Any]
Records = list[neo4j.Record]
Write = Callable[[neo4j.AsyncManagedTransaction], Awaitable[T]]

_AGAIN_AFTER_S: Final = (0.02, 0.1)
_SERVER_STOPS_AFTER: Final = 1.1
"""The server's own limit, as a factor of ours: ours is met first and says what happened."""
_KINDS: Final = (
    ("Neo.ClientError.Security.", FailureKind.CONFIG, "the server refuses these credentials"),
    ("Neo.ClientError.Database.", FailureKind.CONFIG, "the server has no such database"),
    ("Neo.ClientError.Transaction.TransactionTimedOut", FailureKind.TIMEOUT, "the server gave up"),
    ("Neo.TransientError.Transaction.Terminated", FailureKind.TIMEOUT, "the server gave up"),
    ("Neo.TransientError.General.DatabaseUnavailable", FailureKind.UNAVAILABLE, "the database is not available"),
    ("Neo.TransientError.", FailureKind.OVERLOADED, "the server is overloaded"),
    ("Neo.ClientError.", FailureKind.BAD_REQUEST, "the server refused the statement"),
)


class Neo4jCalls:
    """The calls of one driver."""

    def __init__(self, driver: neo4j.AsyncDriver, database: str, connections: int) -> None:
        self._driver = driver
        self._database = database
        self._connections = connections
        self._free = asyncio.Semaphore(connections)
        self._closed = False

    async def read(self, statement: str, parameters: Parameters, timeout_s: float) -> Records:
        """All records of one reading statement; once more where the connection was found broken and time is left."""
        ends = asyncio.get_running_loop().time() + timeout_s
        try:
            return await self._read(statement, parameters, timeout_s)
        except SearchError as error:
            wait_s = random.uniform(*_AGAIN_AFTER_S)
            left_s = ends - asyncio.get_running_loop().time() - wait_s
            if not isinstance(error.__cause__, exceptions.SessionExpired | exceptions.ServiceUnavailable) or left_s < 0:
                raise
        await asyncio.sleep(wait_s)
        return await self._read(statement, parameters, left_s)

    async def _read(self, statement: str, parameters: Parameters, timeout_s: float) -> Records:
        query = neo4j.Query(statement, timeout=timeout_s * _SERVER_STOPS_AFTER)
        async with self._session(neo4j.READ_ACCESS, timeout_s) as session:
            result = await session.run(query, dict(parameters))
            return [record async for record in result]

    async def write(self, work: Write[T], timeout_s: float) -> T:
        """The result of `work(transaction)`, committed; again where the server says that this helps."""
        async with self._session(neo4j.WRITE_ACCESS, timeout_s) as session:
            return await session.execute_write(neo4j.unit_of_work(timeout=timeout_s)(work))

    async def run(self, statement: str, parameters: Parameters, timeout_s: float) -> Records:
        """All records of one writing statement, in a transaction of its own."""

        async def work(transaction: neo4j.AsyncManagedTransaction) -> Records:
            result = await transaction.run(statement, dict(parameters))
            return [record async for record in result]

        return await self.write(work, timeout_s)

    @asynccontextmanager
    async def _session(self, access: str, timeout_s: float) -> AsyncIterator[neo4j.AsyncSession]:
        if self._closed:
            raise SearchError(FailureKind.UNAVAILABLE, "the connection to the server is closed")
        connected = False
        try:
            async with asyncio.timeout(timeout_s), self._free:
                connected = True
                async with self._driver.session(database=self._database, default_access_mode=access) as session:
                    yield session
        except TimeoutError as error:
            if connected:
                raise SearchError(FailureKind.TIMEOUT, f"no answer within {timeout_s:.3f} s") from error
            message = f"all {self._connections} connections were busy for {timeout_s:.3f} s"
            raise SearchError(FailureKind.OVERLOADED, message) from error
        except (exceptions.Neo4jError, exceptions.DriverError, OSError) as error:
            raise typed(error) from error

    async def close(self) -> None:
        """Close the driver. Twice is no error."""
        self._closed = True
        await self._driver.close()


def typed(error: Exception) -> SearchError:
    """The failure behind an exception of the driver."""
    match error:
        case exceptions.AuthError() | exceptions.ConfigurationError():
            return SearchError(FailureKind.CONFIG, "the server refuses these credentials")
        case exceptions.Neo4jError(code=str(code)):
            for prefix, kind, message in _KINDS:
                if code.startswith(prefix):
                    return SearchError(kind, message)
            return SearchError(FailureKind.UNAVAILABLE, "the server failed")
        case _ if is_mistrust(error):
            return SearchError(FailureKind.CONFIG, NOT_TRUSTED)
        case _:
            return SearchError(FailureKind.UNAVAILABLE, f"the server cannot be reached: {type(error).__name__}")
