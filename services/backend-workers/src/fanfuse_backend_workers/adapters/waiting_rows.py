"""What an engine will store, until every value of every field was met: only then is a value's number known.

In: rows, with the metadata of their chunks. Out: the same rows, with numbers. They wait in a file without a name beside
the index, so that memory does not grow with a corpus; it is gone when the last row was taken, or nobody takes another.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from fanfuse_backend_workers.adapters.filter_values import FieldValues, Numbers
from fanfuse_contracts.chunks import MetadataValue

_LENGTH_BYTES: Final = 4


class Waiting(NamedTuple):
    """A row: what JSON holds, and bytes."""

    fields: dict[str, Any]
    metadata: Mapping[str, MetadataValue]
    blob: bytes = b""


class Numbered(NamedTuple):
    """The row, and the numbers of its chunk's values."""

    fields: dict[str, Any]
    numbers: Numbers
    blob: bytes


def numbered(rows: Iterable[Waiting], values: FieldValues, directory: Path) -> Iterator[Numbered]:
    """Every row in the same order. `values` is filled and sorted when the first comes. Blocking."""
    with tempfile.TemporaryFile(dir=directory) as file:
        for row in rows:
            met = list(values.number(row.metadata).items())
            head = json.dumps([row.fields, met, len(row.blob)]).encode()
            file.write(len(head).to_bytes(_LENGTH_BYTES) + head + row.blob)
        places = values.sort()
        file.seek(0)
        while length := file.read(_LENGTH_BYTES):
            fields, met, blob_bytes = json.loads(file.read(int.from_bytes(length)))
            numbers = {field: places[field][value] for field, value in met}
            yield Numbered(fields, numbers, file.read(blob_bytes))
