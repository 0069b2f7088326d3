"""One JSONL line to a document. In: the text of the line. Out: a `Document`, or `RecordError` with a code and a reason;
whatever of a good record cannot be kept is noted by name.

`_id`, `title`, `text`, `entities`, `triples` and `vector` have their meaning; every other scalar or list of strings is
metadata, and so are those inside an object called `metadata`.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from fanfuse_contracts.chunks import MetadataValue, Triple
from fanfuse_contracts.limits import MAX_TITLE_CHARS, MAX_VECTOR_DIMENSIONS
from fanfuse_indexing import limits
from fanfuse_indexing.decoding import clean, plain_newlines
from fanfuse_indexing.documents import Document, Vector
from fanfuse_indexing.formats import Format
from fanfuse_indexing.report import Code

Note = Callable[[Code, str], None]

_OWN = frozenset({"_id", "title", "text", "entities", "triples", "vector", "metadata"})
_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_NOT_RELATION = re.compile(r"[^A-Z0-9]+")
_MAX_INT = 2**63


class RecordError(ValueError):
    """A line that can't become a document."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def parse_record(line: str, source: str, number: int, note: Note) -> Document:
    """The document of a line; `note` hears what was changed or left out. Raises `RecordError`."""
    record = _object(line)
    document_id = _document_id(record)
    full_title, full_text = (_string(record, name, note) for name in ("title", "text"))
    title, text = fit_title(" ".join(full_title.split()), plain_newlines(full_text))
    if not text.strip():
        raise RecordError(Code.NO_TEXT, f"document {document_id!r} has neither text nor title")
    return Document(
        document_id=document_id,
        title=title,
        text=text,
        source=source,
        format=Format.JSONL,
        line=number,
        metadata=dict(_metadata(record, note)),
        entities=_entities(record.get("entities"), note),
        triples=tuple(_triples(record.get("triples"), note)),
        vector=_vector(record.get("vector"), note),
    )


def fit_title(title: str, text: str) -> tuple[str, str]:
    """Title and text so that neither is lost: what a title has over 200 characters opens the text, and a title without
    text is its own text.
    """
    if not text.strip():
        text = title
    if len(title) <= MAX_TITLE_CHARS:
        return title, text
    cut = title.rfind(" ", 0, MAX_TITLE_CHARS + 1)
    cut = cut if cut > 0 else MAX_TITLE_CHARS
    rest = title[cut:].strip()
    return title[:cut].strip(), text if text == title else f"{rest}\n{text}"


def _object(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise RecordError(Code.BAD_JSON, f"{error.msg} at column {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(Code.BAD_JSON, str(error)) from error
    if not isinstance(record, dict):
        raise RecordError(Code.BAD_RECORD, "not a JSON object")
    return record


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _document_id(record: Mapping[str, Any]) -> str:
    value = record.get("_id")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise RecordError(Code.BAD_ID, "no '_id': give a string or a whole number")
    if clean(value) != value:
        raise RecordError(Code.BAD_ID, "'_id' holds an unpaired surrogate or NUL")
    if len(value) > limits.MAX_DOCUMENT_ID_CHARS:
        raise RecordError(Code.BAD_ID, f"'_id' has {len(value)} characters: at most {limits.MAX_DOCUMENT_ID_CHARS}")
    return value


def _string(record: Mapping[str, Any], name: str, note: Note) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RecordError(Code.BAD_RECORD, f"{name!r} is not a string")
    repaired = clean(value)
    if repaired != value:
        note(Code.REPAIRED_TEXT, f"{name!r} held unpaired surrogates or NUL: replaced by U+FFFD")
    return repaired


def _metadata(record: Mapping[str, Any], note: Note) -> Iterator[tuple[str, MetadataValue]]:
    nested = record.get("metadata")
    if nested is not None and not isinstance(nested, dict):
        note(Code.FIELD_DROPPED, "'metadata' is not an object")
    own = {name: value for name, value in record.items() if name not in _OWN}
    fields = {**(nested if isinstance(nested, dict) else {}), **own}
    for place, (name, value) in enumerate(fields.items()):
        if value is None:
            continue
        kept = metadata_value(value) if _FIELD_NAME.fullmatch(name) and place < limits.MAX_METADATA_FIELDS else None
        if kept is None:
            note(Code.FIELD_DROPPED, f"field {clean(name)[:80]!r} is not kept: {_why(name, value, place)}")
        else:
            yield name, kept


def metadata_value(value: object) -> MetadataValue | None:
    """A value that every engine can hold as an exact-match term, or None."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_MAX_INT <= value < _MAX_INT else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        kept = clean(value)
        return kept if len(kept.encode()) <= limits.MAX_METADATA_VALUE_BYTES else None
    if isinstance(value, list | tuple) and len(value) <= limits.MAX_METADATA_LIST:
        values = [metadata_value(item) if isinstance(item, str) else None for item in value]
        strings = tuple(item for item in values if isinstance(item, str))
        return strings if len(strings) == len(value) else None
    return None


def _why(name: str, value: object, place: int) -> str:
    if place >= limits.MAX_METADATA_FIELDS:
        return f"more than {limits.MAX_METADATA_FIELDS} fields"
    if not _FIELD_NAME.fullmatch(name):
        return "a field name is a letter or '_', then up to 63 letters, digits or '_'"
    if isinstance(value, dict | list):
        return f"only scalars and lists of at most {limits.MAX_METADATA_LIST:,} short strings are metadata"
    return f"out of range (64-bit numbers, at most {limits.MAX_METADATA_VALUE_BYTES:,} bytes of text)"


def _entities(value: object, note: Note) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        note(Code.FIELD_DROPPED, "'entities' is not a list of strings: entities are taken from the text")
        return None
    names = tuple(dict.fromkeys(clean(name).strip()[: limits.MAX_ENTITY_CHARS] for name in value if name.strip()))
    if len(names) > limits.MAX_ENTITIES:
        note(Code.CUT_LIST, f"{len(names)} entities: the first {limits.MAX_ENTITIES} are kept")
    return names[: limits.MAX_ENTITIES]


def _triples(value: object, note: Note) -> Iterator[Triple]:
    if value is None:
        return
    if not isinstance(value, list):
        note(Code.BAD_TRIPLE, "'triples' is not a list")
        return
    if len(value) > limits.MAX_TRIPLES_PER_RECORD:
        note(Code.CUT_LIST, f"{len(value)} triples: the first {limits.MAX_TRIPLES_PER_RECORD} are kept")
    for place, item in enumerate(value[: limits.MAX_TRIPLES_PER_RECORD], 1):
        triple = _triple(item)
        if triple is None:
            note(Code.BAD_TRIPLE, f"triple {place} is not three names of 1 to 512 characters")
        else:
            yield triple


def _triple(item: object) -> Triple | None:
    if not isinstance(item, list) or len(item) != 3 or not all(isinstance(part, str) for part in item):
        return None
    subject, relation, target = (clean(part).strip() for part in item)
    relation = _NOT_RELATION.sub("_", relation.upper()).strip("_")
    relation = f"R_{relation}" if relation[:1].isdigit() else relation
    if not (0 < len(subject) <= 512 and 0 < len(target) <= 512 and 0 < len(relation) <= 64):
        return None
    return Triple(subject=subject, relation=relation, object=target)


def _vector(value: object, note: Note) -> Vector | None:
    if value is None:
        return None
    numbers = value if isinstance(value, list) and 0 < len(value) <= MAX_VECTOR_DIMENSIONS else []
    if not numbers or not all(isinstance(item, int | float) and not isinstance(item, bool) for item in numbers):
        note(Code.BAD_VECTOR, f"'vector' is not a list of 1 to {MAX_VECTOR_DIMENSIONS} numbers: left out")
        return None
    try:
        return tuple(map(float, numbers))
    except OverflowError:
        note(Code.BAD_VECTOR, "'vector' holds a number out of range: left out")
        return None
