"""What a caller says, made into the query of the contract. No bus: everything wrong with a query is found here."""

import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from secrets import token_hex
from typing import Any, Final

from pydantic import ValidationError

from fanfuse_client.errors import InvalidQuery, TooLarge
from fanfuse_contracts import limits
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_contracts.tokens import InvalidTokenError, check_token

Query = str | SubmittedQuery
"""A text, or a whole query."""
Named = tuple[str, Query]
"""A query id of the caller's choice, and the query."""

_MAX_FAULTS: Final = 3
_MAX_PLACE: Final = 12
_COMPACT_JWT: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


def new_query_id() -> str:
    """A fresh query id: one token, 96 random bits."""
    return token_hex(12)


def checked_query_id(query_id: str | None) -> str:
    """The caller's id, or a fresh one. Raises `InvalidQuery` for an id that is no token."""
    try:
        return new_query_id() if query_id is None else check_token(query_id, "query id")
    except InvalidTokenError as error:
        raise InvalidQuery(str(error)) from error


def checked_token(principal_token: str) -> str:
    """The caller's token, unread. Raises `InvalidQuery`, which never repeats it, for what is no compact JWT."""
    if len(principal_token) > limits.MAX_PRINCIPAL_TOKEN_CHARS or not _COMPACT_JWT.fullmatch(principal_token):
        raise InvalidQuery(
            f"principal_token is no compact JWT of at most {limits.MAX_PRINCIPAL_TOKEN_CHARS} characters"
        )
    return principal_token


def build_query(query: Query, principal: Principal | None, fields: dict[str, Any]) -> SubmittedQuery:
    """The query to send. `principal` stands in where the query states none. Raises `InvalidQuery`, `TooLarge`."""
    if isinstance(query, SubmittedQuery):
        stated = query.model_dump(by_alias=True, exclude_unset=True) | fields
    else:
        _check_size(query)
        stated = {"text": query} | fields
    if principal is not None:
        stated.setdefault("principal", principal)
    try:
        return SubmittedQuery.model_validate(stated)
    except ValidationError as error:
        raise InvalidQuery(explain(error)) from error


def _check_size(text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > limits.MAX_TEXT_BYTES:
        raise TooLarge(f"the text has {size} bytes: at most {limits.MAX_TEXT_BYTES} are accepted, shorten it")


def explain(error: ValidationError, whole: str = "query") -> str:
    """The first faults in one line: `top_k: Input should be less than or equal to 100`. `whole`: the place of what no
    single field is at fault for."""
    rows = error.errors(include_url=False, include_context=False, include_input=False)
    faults = [_fault(row["loc"] or (whole,), row["msg"]) for row in rows[:_MAX_FAULTS]]
    more = f" (and {len(rows) - _MAX_FAULTS} more)" if len(rows) > _MAX_FAULTS else ""
    return "; ".join(faults) + more


def _fault(place: tuple[int | str, ...], message: str) -> str:
    told = message.removeprefix("Value error, ")
    at = ".".join(map(str, place[:_MAX_PLACE])) + ("…" if len(place) > _MAX_PLACE else "")
    return f"{at}: {told}" if any(place) else told


async def named(queries: Iterable[Query | Named] | AsyncIterable[Query | Named]) -> AsyncIterator[Named]:
    """Every query with an id, in order."""
    if isinstance(queries, AsyncIterable):
        async for query in queries:
            yield _named(query)
    else:
        for query in queries:
            yield _named(query)


def _named(query: Query | Named) -> Named:
    return query if isinstance(query, tuple) else (new_query_id(), query)
