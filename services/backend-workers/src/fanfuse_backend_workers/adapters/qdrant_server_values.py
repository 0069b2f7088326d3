"""What a point of a Qdrant collection stores for filters.

In: metadata. Out: payload fields and the payload indexes over them. Qdrant knows no equal floats, takes 1 for another
value than 1.0, compares as 64-bit floats and orders no strings, so a point bears marks (equality), the nearest floats
with what they miss of an integer (order of numbers), and the bytes of a string as numbers (order of strings).
"""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from qdrant_client import models

from fanfuse_backend_workers.ports import InvalidChunkError
from fanfuse_contracts.chunks import MetadataValue
from fanfuse_contracts.corpus import FieldType

MARKS: Final = "marks"
RAW, NUMBER, MISSED, ORDER = "m", "n", "r", "o"
"""As given; the nearest float; what it misses; the parts of a string."""
PARTS: Final = "abcd"
PART_BYTES: Final = 6
"""257^6 is below 2^53: every part is an exact float."""
MAX_ORDERED_BYTES: Final = len(PARTS) * PART_BYTES - 1
_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""No filter names another field, and one like `lang=s:de` would bear the mark of a value."""
_INTEGERS: Final = 2**63
_PLAIN_CHARS: Final = 128


def stored(metadata: Mapping[str, MetadataValue]) -> dict[str, Any]:
    """What a point stores of its metadata. Raises `InvalidChunkError` for a number that can not be stored exactly."""
    numbers: dict[str, float] = {}
    missed: dict[str, int] = {}
    order: dict[str, dict[str, int]] = {}
    fields = {field: value for field, value in metadata.items() if _FIELD.fullmatch(field)}
    for field, value in fields.items():
        if isinstance(value, str):
            order[field] = dict(zip(PARTS, parts_of(value), strict=True))
        elif _is_number(value):
            numbers[field] = _checked(field, value)
            if rest := missed_by(value, numbers[field]):
                missed[field] = rest
    return {
        RAW: dict(metadata),
        MARKS: [mark for field, value in fields.items() for mark in _marks(field, value)],
        NUMBER: numbers,
        MISSED: missed,
        ORDER: order,
    }


def indexes(fields: Mapping[str, FieldType]) -> dict[str, models.KeywordIndexParams | models.FloatIndexParams]:
    """The payload indexes that filters on these fields use, by the path of what they index."""
    found: dict[str, models.KeywordIndexParams | models.FloatIndexParams] = {
        MARKS: models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, enable_hnsw=False)
    }
    for field, kind in fields.items():
        if kind in (FieldType.STRING, FieldType.STRINGS):
            found[f"{RAW}.{field}"] = models.KeywordIndexParams(
                type=models.KeywordIndexType.KEYWORD, prefix=True, enable_hnsw=False
            )
        for path in _float_paths(field, kind):
            found[path] = models.FloatIndexParams(type=models.FloatIndexType.FLOAT, enable_hnsw=False)
    return found


def _marks(field: str, value: MetadataValue) -> Iterator[str]:
    yield field
    if isinstance(value, tuple):
        yield list_mark(field)
        yield from (member_mark(field, member) for member in value)
    else:
        yield value_mark(field, value)


def value_mark(field: str, value: object) -> str:
    """Equal for equal values of one type: integers and floats are one, `true` is not 1."""
    if isinstance(value, bool):
        return f"{field}=b{value:d}"
    if isinstance(value, str):
        return f"{field}=s{_short(value)}"
    assert isinstance(value, int | float)
    whole = isinstance(value, int) or value.is_integer()
    return f"{field}=n{_short(_digits(value) if whole else repr(value))}"


def _digits(value: float) -> str:
    """A whole number; hexadecimal, because Python writes no more than 4,300 decimal digits."""
    return f"{int(value):x}"


def member_mark(field: str, member: str) -> str:
    """Of a list with this string in it."""
    return f"{field}~{_short(member)}"


def list_mark(field: str) -> str:
    """Of any list."""
    return f"{field}[]"


def _short(text: str) -> str:
    return f":{text}" if len(text) <= _PLAIN_CHARS else f"#{hashlib.sha256(utf8(text)).hexdigest()}"


def utf8(text: str) -> bytes:
    """Its bytes, in the order of code points; a lone surrogate has some too."""
    return text.encode("utf-8", "surrogatepass")


def parts_of(text: str) -> list[int]:
    """Four numbers of six bytes each; 0 stands for the end, which is before every byte."""
    found = [byte + 1 for byte in utf8(text)[: MAX_ORDERED_BYTES + 1]]
    found += [0] * (MAX_ORDERED_BYTES + 1 - len(found))
    return [_packed(found[start : start + PART_BYTES]) for start in range(0, len(found), PART_BYTES)]


def _packed(digits: list[int]) -> int:
    number = 0
    for digit in digits:
        number = number * 257 + digit
    return number


def _is_number(value: MetadataValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _checked(field: str, value: MetadataValue) -> float:
    assert isinstance(value, int | float)
    nearest = nearest_float(value)
    if not math.isfinite(nearest) or (isinstance(value, int) and not -_INTEGERS <= value < _INTEGERS):
        raise InvalidChunkError(f"field {field!r} holds a number that is not finite, or an integer of over 64 bits")
    return nearest


def nearest_float(value: float) -> float:
    """Infinite where a number is beyond every finite float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def missed_by(value: MetadataValue, nearest: float) -> int:
    """What the nearest float misses of an integer."""
    return value - int(nearest) if isinstance(value, int) else 0


def _float_paths(field: str, kind: FieldType) -> tuple[str, ...]:
    match kind:
        case FieldType.INTEGER | FieldType.FLOAT:
            return f"{NUMBER}.{field}", f"{MISSED}.{field}"
        case FieldType.STRING:
            return tuple(f"{ORDER}.{field}.{part}" for part in PARTS)
        case _:
            return ()
