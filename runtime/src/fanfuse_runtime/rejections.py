"""A body that is not what the contract says becomes a rejection that names the faulty fields and what is wrong."""

from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fanfuse_contracts import limits
from fanfuse_contracts.enums import RejectionCode
from fanfuse_contracts.plan import Rejection

_MAX_FAULTS: Final = 3
_MAX_FAULT_CHARS: Final = 200
_TOO_LONG: Final = frozenset(("too_long", "string_too_long"))


def reject_invalid(error: ValidationError) -> Rejection:
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
