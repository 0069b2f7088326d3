"""The client: ask a query and get its one answer, or a typed error that says what to do.

It listens before it publishes, publishes under one message id however often it must, and reads the stored answer where
the live one could have been missed. It never invents, reorders or repairs an answer.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final, Self

from nats.aio.msg import Msg
from pydantic import ValidationError

from fanfuse_client.connection import Connection
from fanfuse_client.errors import AnswerTimeout, ClientError, InvalidQuery, NotConnected, Unavailable
from fanfuse_client.queries import Named, Query, build_query, checked_query_id, checked_token, named
from fanfuse_client.streaming import run_bounded
from fanfuse_client.tracing import trace_headers
from fanfuse_contracts import headers as names
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.access import Access
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.plan import DecideReply, DecideRequest
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_contracts.tokens import check_token

GRACE_S: Final = 2.0
"""An answer that is due at the end of the budget still has to travel."""


@dataclass(eq=False, slots=True)
class _Waiting:
    """Somebody who waits for one answer."""

    query_id: str
    answer: "asyncio.Future[Answer]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    async def hear(self, msg: Msg) -> None:
        """Take an answer as it was republished."""
        self.take(msg.data)

    def take(self, data: bytes) -> None:
        """Take the bytes of an answer; the first one counts."""
        if self.answer.done():
            return
        try:
            self.answer.set_result(_parse(data))
        except ClientError as error:
            self.answer.set_exception(error)


def _parse(data: bytes) -> Answer:
    try:
        return Answer.from_json(data)
    except ValidationError as error:
        raise ClientError("the answer is of a version this client can't read: update the client") from error


def _headers(principal_token: str | None) -> dict[str, str]:
    headers = trace_headers()
    return headers if principal_token is None else headers | {names.PRINCIPAL: checked_token(principal_token)}


class Client:
    """One tenant's access to the bus: an asynchronous context manager; any number of calls may run at once."""

    def __init__(
        self,
        url: str,
        tenant: str,
        *,
        principal: Principal | None = None,
        access: Access | None = None,
    ) -> None:
        """`url`: one NATS URL, or several separated by commas. `principal` is stated in every query that has neither a
        principal nor a `principal_token`. `access`: who the caller is on the bus; its user is the tenant's unless it
        names another. Raises `InvalidTokenError`, `InvalidAddressError`."""
        self.tenant = check_token(tenant, "tenant")
        self._principal = principal
        access = access or Access()
        self._connection = Connection(url, tenant, replace(access, user=access.user or tenant))
        self._connection.on_reconnected = self._read_missed
        self._waiting: set[_Waiting] = set()

    async def __aenter__(self) -> Self:
        await self._connection.open()
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    # -- one query ----------------------------------------------------------------------------------------------

    async def ask(
        self, query: Query, *, query_id: str | None = None, principal_token: str | None = None, **fields: Any
    ) -> Answer:
        """Ask and wait for the answer. `fields` are those of `SubmittedQuery`, such as `top_k=5, corpora=("docs",)`.

        `principal_token`: a JWT that states and proves the principal; sent in a header, never part of the query.
        `decision`: an earlier one to stay with (`sticky_of(answer.decisions)`). `capability`: which of the options of
        an answer's `clarification` is meant.

        A query id that was used before gives the answer stored for it. Raises `InvalidQuery` or `TooLarge` before
        anything is sent; `NotAllowed`, `Overloaded` or `NotConnected` if it was not accepted; `AnswerTimeout`.
        """
        submitted = self._build(query, fields, principal_token)
        headers = _headers(principal_token)
        waiting = _Waiting(checked_query_id(query_id))
        async with self._hearing(waiting):
            if query_id is not None:
                with suppress(Unavailable):  # a bus without streams says so when the query is published
                    await self._read_stored(waiting)
            if not waiting.answer.done():
                await self._publish(waiting.query_id, submitted.to_json(), headers)
            return await self._wait(waiting, submitted.budget_ms)

    async def submit(
        self, query: Query, *, query_id: str | None = None, principal_token: str | None = None, **fields: Any
    ) -> str:
        """Hand in a query and return its id as soon as it is accepted; read the answer later with `stored`."""
        submitted = self._build(query, fields, principal_token)
        accepted = checked_query_id(query_id)
        await self._publish(accepted, submitted.to_json(), _headers(principal_token))
        return accepted

    async def decide(
        self, query: Query, *, timeout_s: float = 2.0, principal_token: str | None = None, **fields: Any
    ) -> DecideReply:
        """What would be done with this query, without doing it. Raises `Unavailable` where no service answers."""
        request = DecideRequest(query=self._build(query, fields, principal_token))
        subject = subjects.query_decide(self.tenant)
        data = await self._connection.request(subject, request.to_json(), _headers(principal_token), timeout_s)
        try:
            return DecideReply.from_json(data)
        except ValidationError as error:
            raise ClientError("the reply is of a version this client can't read: update the client") from error

    async def cancel(self, query_id: str) -> None:
        """Say that nobody waits for this query any more. It is still answered once, with what is known then."""
        subject = subjects.query_cancelled(self.tenant, checked_query_id(query_id))
        await self._connection.send(subject, trace_headers())

    async def stored(self, query_id: str) -> Answer | None:
        """The answer stored for a query of the last 24 hours, or None."""
        subject = subjects.query_fused(self.tenant, checked_query_id(query_id))
        data = await self._connection.last(streams.ANSWERS.name, subject)
        return None if data is None else _parse(data)

    # -- many queries -------------------------------------------------------------------------------------------

    async def stream(
        self, queries: Iterable[Query | Named] | AsyncIterable[Query | Named], concurrency: int = 16, **fields: Any
    ) -> AsyncIterator[tuple[str, Answer]]:
        """Ask many queries, at most `concurrency` at a time, and give each (query id, answer) as it arrives.
        `fields` are those of `ask`.

        A query is a text, a `SubmittedQuery`, or (query id, either). `queries` is read only as fast as answers are
        taken. The first error ends the stream; what still runs is then given up.
        """
        if concurrency < 1:
            raise InvalidQuery(f"concurrency is {concurrency}: at least 1 query must run at a time")

        async def ask_named(item: Named) -> tuple[str, Answer]:
            query_id, query = item
            return query_id, await self.ask(query, query_id=query_id, **fields)

        async for answered in run_bounded(named(queries), ask_named, concurrency):
            yield answered

    # -- below --------------------------------------------------------------------------------------------------

    def _build(self, query: Query, fields: dict[str, Any], principal_token: str | None) -> SubmittedQuery:
        return build_query(query, self._principal if principal_token is None else None, fields)

    async def _publish(self, query_id: str, payload: bytes, headers: dict[str, str]) -> None:
        marked = headers | {names.MESSAGE_ID: streams.submission_id(self.tenant, query_id)}
        await self._connection.publish(subjects.query_submitted(self.tenant, query_id), payload, marked)

    @asynccontextmanager
    async def _hearing(self, waiting: _Waiting) -> AsyncIterator[None]:
        """Listen for the answer inside the block, and from before it on."""
        subject = subjects.query_answered(self.tenant, waiting.query_id)
        async with self._connection.allowed(subject):
            subscription = await self._connection.nc.subscribe(subject, cb=waiting.hear)
            self._waiting.add(waiting)
            try:
                await self._connection.flush()
                yield
            finally:
                self._waiting.discard(waiting)
                if not self._connection.nc.is_closed:
                    await subscription.unsubscribe()

    async def _wait(self, waiting: _Waiting, budget_ms: int) -> Answer:
        timeout_s = budget_ms / 1e3 + GRACE_S
        try:
            return await asyncio.wait_for(asyncio.shield(waiting.answer), timeout_s)
        except TimeoutError:
            await self._read_stored(waiting)
        if waiting.answer.done():
            return waiting.answer.result()
        raise AnswerTimeout(
            f"query {waiting.query_id} was accepted but not answered within {timeout_s:g} s: "
            "are all services running? Ask again with the same query id to get its answer.",
            waiting.query_id,
        )

    async def _read_stored(self, waiting: _Waiting) -> None:
        subject = subjects.query_fused(self.tenant, waiting.query_id)
        data = await self._connection.last(streams.ANSWERS.name, subject)
        if data is not None:
            waiting.take(data)

    async def _read_missed(self) -> None:
        # What was answered while the connection was away was heard by nobody here.
        for waiting in tuple(self._waiting):
            try:
                await self._read_stored(waiting)
            except (Unavailable, NotConnected):
                return  # the broker still starts: the wait's own last read follows
