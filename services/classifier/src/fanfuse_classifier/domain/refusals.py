"""Why a submitted query is refused before anything is searched.

In: a text, or the validation error of a message that is no query. Out: a `Rejection` with a short message that names
the field and says what to do, or None.
"""

from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fanfuse_classifier.domain.text import is_blank
from fanfuse_contracts import limits
from fanfuse_contracts.enums import RejectionCode
from fanfuse_contracts.plan import Rejection

_MAX_FAULTS: Final = 3
_MAX_FAULT_CHARS: Final = 200
_TOO_LONG: Final = frozenset(("too_long", "string_too_long"))


def refuse_blank(text: str) -> Rejection | None:
    """EMPTY_QUERY for a text of which nothing can be seen."""
    if not is_blank(text):
        return None
    return Rejection(code=RejectionCode.EMPTY_QUERY, message="text: is blank; send the words to search for")


def refuse_expired(budget_ms: int) -> Rejection:
    """EXPIRED: the budget was over when the query was read."""
    return Rejection(
        code=RejectionCode.EXPIRED,
        message=f"budget_ms: {budget_ms} ms were over before the query was read; ask again or raise it",
        retryable=True,
    )


def refuse_overloaded() -> Rejection:
    """OVERLOADED: the query could not be passed on now."""
    return Rejection(
        code=RejectionCode.OVERLOADED,
        message="the queue behind the classifier takes no more queries; ask again later",
        retryable=True,
    )


def refuse_too_large(detail: str) -> Rejection:
    """TOO_LARGE: the classified query is larger than the broker takes."""
    return Rejection(code=RejectionCode.TOO_LARGE, message=f"the query is too large to be passed on: {detail}")


def refuse_without_router(detail: str, *, retryable: bool) -> Rejection:
    """UNAVAILABLE: the second half of a decision did not come."""
    return Rejection(
        code=RejectionCode.UNAVAILABLE,
        message=f"the corpus-router gave no decision: {detail}",
        retryable=retryable,
    )


def refuse_invalid(error: ValidationError) -> Rejection:
    """TOO_LARGE where a text or list is over its limit, else INVALID_QUERY; the first three faults by field."""
    rows = error.errors(include_url=False, include_context=False)
    faults = [_fault(row) for row in rows[:_MAX_FAULTS]]
    if len(rows) > _MAX_FAULTS:
        faults.append(f"and {len(rows) - _MAX_FAULTS} more")
    code = RejectionCode.TOO_LARGE if any(map(_is_too_large, rows)) else RejectionCode.INVALID_QUERY
    return Rejection(code=code, message="; ".join(faults))


def _fault(row: ErrorDetails) -> str:
    where = ".".join(map(str, row["loc"])) or "body"
    fault = f"{where}: {row['msg'].removeprefix('Value error, ')}"
    return fault if len(fault) <= _MAX_FAULT_CHARS else f"{fault[: _MAX_FAULT_CHARS - 3]}..."


def _is_too_large(row: ErrorDetails) -> bool:
    if row["type"] in _TOO_LONG:
        return True
    given = row["input"]
    return bool(row["loc"]) and isinstance(given, str) and len(given.encode("utf-8", "replace")) > limits.MAX_TEXT_BYTES
