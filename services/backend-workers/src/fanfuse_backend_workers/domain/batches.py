"""How chunks are cut into batches for a server, and how far a run has come.

In: chunks in a fixed order, acknowledgements in any order. Out: batches within both bounds, and the number of chunks
from the beginning that are all acknowledged: an interrupted run goes on there, so nothing is left out.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from fanfuse_contracts.chunks import Chunk

MAX_CHUNKS: Final = 500
MAX_BYTES: Final = 5_000_000
_BYTES_PER_NUMBER: Final = 12
"""Of a vector's number in JSON."""


class Batch(NamedTuple):
    """`start`: chunks before it."""

    start: int
    chunks: tuple[Chunk, ...]


def batches(
    chunks: Iterable[Chunk], start: int = 0, max_chunks: int = MAX_CHUNKS, max_bytes: int = MAX_BYTES
) -> Iterator[Batch]:
    """Batches in the order of the chunks; one chunk larger than `max_bytes` is a batch of its own."""
    held: list[Chunk] = []
    size = 0
    for chunk in chunks:
        more = size_of(chunk)
        if held and (len(held) == max_chunks or size + more > max_bytes):
            yield Batch(start, tuple(held))
            start, held, size = start + len(held), [], 0
        held.append(chunk)
        size += more
    if held:
        yield Batch(start, tuple(held))


def size_of(chunk: Chunk) -> int:
    """Bytes of a chunk on the wire, nearly: JSON with its vector."""
    bare = chunk if chunk.vector is None else chunk.model_copy(update={"vector": None})
    return len(bare.to_json()) + _BYTES_PER_NUMBER * len(chunk.vector or ())


class Acknowledged:
    """Counts the chunks from the beginning without a gap."""

    def __init__(self, done: int = 0) -> None:
        self.done = done
        self._ahead: dict[int, int] = {}

    def take_in(self, batch: Batch) -> int:
        """One batch is written; returns the chunks that are now written without a gap."""
        self._ahead[batch.start] = len(batch.chunks)
        while (length := self._ahead.pop(self.done, None)) is not None:
            self.done += length
        return self.done
