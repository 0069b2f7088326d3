"""Why a submitted query is refused before anything is searched.

In: a text, or the body of a message that is no `SubmittedQuery`. Out: a `Rejection` with a short message that names the
field and says what to do, or None.
"""

import json
from typing import Any, Final

from pydantic import ValidationError

from fanfuse_classifier.domain.text import is_blank
from fanfuse_contracts import limits
from fanfuse_contracts.enums import RejectionCode
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import SubmittedQuery

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


def explain_invalid(body: bytes, fallback: Rejection) -> Rejection:
    """Name what is wrong with a body that can't be read as a query; `fallback` if nothing is."""
    try:
        SubmittedQuery.from_json(body)
    except ValidationError as error:
        return _explain(error, body)
    return fallback


def _explain(error: ValidationError, body: bytes) -> Rejection:
    rows = error.errors(include_url=False, include_context=False, include_input=False)
    faults = [_fault(row["loc"], row["msg"]) for row in rows[:_MAX_FAULTS]]
    if len(rows) > _MAX_FAULTS:
        faults.append(f"and {len(rows) - _MAX_FAULTS} more")
    too_large = any(row["type"] in _TOO_LONG for row in rows) or _text_bytes(body) > limits.MAX_TEXT_BYTES
    code = RejectionCode.TOO_LARGE if too_large else RejectionCode.INVALID_QUERY
    return Rejection(code=code, message="; ".join(faults))


def _fault(place: tuple[int | str, ...], message: str) -> str:
    where = ".".join(map(str, place)) or "body"
    what = message.removeprefix("Value error, ")
    fault = f"{where}: {what}"
    return fault if len(fault) <= _MAX_FAULT_CHARS else f"{fault[: _MAX_FAULT_CHARS - 3]}..."


def _text_bytes(body: bytes) -> int:
    """Bytes of the text in a body, 0 where it has none that can be read."""
    try:
        query: Any = json.loads(body)
    except ValueError:
        return 0
    text = query.get("text") if isinstance(query, dict) else None
    return len(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else 0
