"""The lists of every lane of one judged query, with the answer that was made of them: what is saved and read again.

In: records. Out: JSON Lines that hold all that fusing and judging need, so that an offline run needs no bus, engine or
collection. Texts are not in it. Files of a newer version are refused, never half read.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field, ValidationError

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_all_in_one.whole_file import whole_file
from fanfuse_contracts.answer import Copy
from fanfuse_contracts.base import Event, FiniteFloat, Model
from fanfuse_contracts.enums import Status
from fanfuse_contracts.fusion import FusionApplied
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import ChunkId, LaneHit
from fanfuse_contracts.tokens import Token


class LaneListsError(OperatorError):
    """A file of lane lists can't be used; the message names the line."""


class LaneList(Model):
    """One list that was fused."""

    lane: Lane
    hits: tuple[LaneHit, ...]


class AnsweredHit(Model):
    """A hit of the answer."""

    corpus: Token
    chunk_id: ChunkId
    score: FiniteFloat
    also_in: tuple[Copy, ...] = ()


class AskedQuery(Event):
    """One judged query, what its lanes found and what the flow answered."""

    collection: Token
    query_id: str
    grades: dict[str, int]
    """By document id."""
    top_k: int
    """So many hits were asked for."""
    status: Status
    lost: tuple[str, ...] = ()
    """Lanes that are missing from the answer, each with why."""
    fusion: FusionApplied | None = None
    """How the answer was fused. None where nothing was."""
    lists: tuple[LaneList, ...] = ()
    """In the order of the plan."""
    answer: tuple[AnsweredHit, ...] = ()
    documents: dict[str, str] = Field(default={})
    """Document id by chunk id, for chunks that are a part of a document of the collection."""


def save(path: Path, records: Iterable[AskedQuery]) -> None:
    """Write a file of lane lists. It appears when it is whole."""
    with whole_file(path) as stream:
        for record in records:
            stream.write(record.to_json() + b"\n")


def load(path: Path) -> tuple[AskedQuery, ...]:
    """Read a file of lane lists. Raises `LaneListsError`."""
    records = tuple(_records(path))
    if not records:
        raise LaneListsError(f"{path}: holds no query")
    return records


def _records(path: Path) -> Iterator[AskedQuery]:
    seen: set[tuple[str, str]] = set()
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                record = _record(path, number, line)
                key = (record.collection, record.query_id)
                if key in seen:
                    raise LaneListsError(f"{path}:{number}: query {record.query_id!r} stands there a second time")
                seen.add(key)
                yield record
    except OSError as error:
        raise LaneListsError(f"{path}: {error.strerror}") from error


def _record(path: Path, number: int, line: bytes) -> AskedQuery:
    try:
        return AskedQuery.from_json(line)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "the line"
        raise LaneListsError(
            f"{path}:{number}: not a query of `fanfuse eval --save-lanes`: {where}: {fault['msg']}"
        ) from error
