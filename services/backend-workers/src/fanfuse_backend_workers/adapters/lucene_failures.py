"""What an Elasticsearch or OpenSearch server's refusal means.

In: an HTTP status and the JSON body. Out: a typed failure, and whether it is worth a second try. A message holds the
names of error types only: a server's own reasons quote the query and the documents.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind

_KINDS: Final[Mapping[int, FailureKind]] = {
    401: FailureKind.CONFIG,
    403: FailureKind.CONFIG,
    404: FailureKind.NOT_FOUND,
    406: FailureKind.CONFIG,
    408: FailureKind.TIMEOUT,
    413: FailureKind.TOO_LARGE,
    415: FailureKind.CONFIG,
    429: FailureKind.OVERLOADED,
    504: FailureKind.TIMEOUT,
}
_HINTS: Final[Mapping[FailureKind, str]] = {
    FailureKind.CONFIG: "check the backend's url, user, key and permissions",
    FailureKind.NOT_FOUND: "there is no such index: index the corpus",
}
_TYPE_NAME: Final = re.compile(r"[a-z][a-z_]{0,79}")
_BREAKER: Final = "circuit_breaking_exception"
_WORTH_A_SECOND_TRY: Final = frozenset({429, 503})
_DEPTH: Final = 8


class ServerError(SearchError):
    """A typed failure. `again`: whether the same call may do better a moment later; None: once the server is back."""

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        again: bool | None = None,
        after_s: float | None = None,
        cause: str = "",
    ) -> None:
        super().__init__(kind, message)
        self.again = again
        self.after_s = after_s
        """How long the server asks to wait, if it does."""
        self.cause = cause
        """Name of the server's error type."""


def failure(status: int, body: object, after_s: float | None = None) -> ServerError:
    """The failure of a reply whose status is not 2xx."""
    kind = _kind(status)
    causes = list(_causes(body, _DEPTH))
    cause = causes[-1].get("type", "") if causes else ""
    named = ", ".join(dict.fromkeys(one["type"] for one in causes)) or "no error type"
    hint = _HINTS.get(kind)
    message = f"the server refused with HTTP {status} ({named})" + (f": {hint}" if hint else "")
    again = True if status in _WORTH_A_SECOND_TRY else None
    if any(_permanent(one) for one in causes):
        again = False
    return ServerError(kind, message, again=again, after_s=after_s, cause=cause)


def retry_after(header: str | None) -> float | None:
    """Seconds of a Retry-After header; None without one, or where it is a date."""
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None


def _kind(status: int) -> FailureKind:
    return _KINDS.get(status, FailureKind.BAD_REQUEST if 400 <= status < 500 else FailureKind.UNAVAILABLE)


def _permanent(cause: Mapping[str, Any]) -> bool:
    return cause["type"] == _BREAKER and cause.get("durability") == "PERMANENT"


def _causes(body: object, depth: int) -> Iterator[Mapping[str, Any]]:
    """Every error in a body, outermost first: errors hide in `root_cause`, `caused_by` and `failed_shards`."""
    if depth == 0:
        return
    if isinstance(body, list):
        for part in body:
            yield from _causes(part, depth)
    elif isinstance(body, Mapping):
        if isinstance(name := body.get("type"), str) and _TYPE_NAME.fullmatch(name):
            yield body
        for key in ("error", "failed_shards", "failures", "reason", "caused_by", "root_cause"):
            yield from _causes(body.get(key), depth - 1)
