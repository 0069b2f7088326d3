"""Index generations: immutable directories, built beside the live one and swapped by a pointer elsewhere.

In: chunks of one corpus. Out: `<data>/<tenant>/<corpus>/<kind or texts>/<generation>`, complete, with verified counts.
A run that fails leaves nothing behind and never touches a finished generation.
"""

import fcntl
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from fanfuse_backend_workers.adapters.sqlite_texts import SqliteTexts, digest_texts, read_texts, write_texts
from fanfuse_backend_workers.ports import Embedder, IndexBuilder, InvalidChunkError
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.tokens import check_token

TEXTS: Final = "texts"
_TEXTS_FILE: Final = "chunks.sqlite"
_LOCK_FILE: Final = ".lock"
_BUILDING: Final = ".building-"
_EMBED_BATCH: Final = 64

Progress = Callable[[str, int], None]
"""Called with what is being built (`texts`, `keyword` …) and the chunks done so far."""


class GenerationError(RuntimeError):
    """A generation could not be built; the message says why and what to do."""


class CorpusName(NamedTuple):
    """Whose corpus, and which."""

    tenant: str
    corpus: str


@dataclass(frozen=True, slots=True)
class BuiltGeneration:
    """A finished generation. `blank` counts chunks left out because they hold no text, `relations` those they state."""

    generation: str
    chunks: int
    counts: Mapping[Kind, int]
    blank: int
    relations: int


def generation_id(now: datetime, random_part: str) -> str:
    """A token that sorts by time: `20261130t101500123456z-3f9a`. `random_part`: lower-case letters and digits."""
    return check_token(f"{now.astimezone(UTC):%Y%m%dt%H%M%S%f}z-{random_part}", "generation")


def generation_folder(data: Path, name: CorpusName, part: str, generation: str) -> Path:
    """Directory of one part (a kind's value, or `texts`) of a generation."""
    return data.joinpath(*(check_token(step, "path") for step in (*name, part, generation)))


def open_texts(data: Path, name: CorpusName, generation: str) -> SqliteTexts:
    """The text store of a generation; raises `SearchError(NOT_FOUND)`."""
    return SqliteTexts(generation_folder(data, name, TEXTS, generation) / _TEXTS_FILE)


def read_chunks(data: Path, name: CorpusName, generation: str, skip: int = 0) -> Iterator[Chunk]:
    """The chunks of a generation but the first `skip`, by id, with vectors: build again, nothing is embedded anew."""
    return read_texts(generation_folder(data, name, TEXTS, generation) / _TEXTS_FILE, skip)


def digest_chunks(data: Path, name: CorpusName, generation: str) -> str:
    """What two generations of equal contents have in common. Blocking."""
    return digest_texts(generation_folder(data, name, TEXTS, generation) / _TEXTS_FILE)


def rename_generation(data: Path, name: CorpusName, old: str, new: str) -> None:
    """Give a generation that nobody serves another id, which nobody serves either. Blocking."""
    with _locked(data, name) as folder:
        for path in [*folder.glob(f"*/{check_token(old)}")]:
            shutil.rmtree(path.with_name(check_token(new)), ignore_errors=True)
            path.rename(path.with_name(new))


def remove_generation(data: Path, name: CorpusName, generation: str) -> None:
    """Remove one generation that nobody serves. Blocking."""
    with _locked(data, name) as folder:
        for path in [*folder.glob(f"*/{check_token(generation)}")]:
            shutil.rmtree(path)


def build_generation(
    data: Path,
    name: CorpusName,
    generation: str,
    chunks: Iterable[Chunk],
    builders: Sequence[IndexBuilder],
    embedder: Embedder | None = None,
    progress: Progress = lambda part, done: None,
    *,
    with_vectors: bool = False,
) -> BuiltGeneration:
    """Build texts and indexes of one generation. Blocking; memory does not grow with the text.

    With a vector builder, or `with_vectors`, chunks without a vector are embedded. Raises `GenerationError`,
    `DuplicateChunkError`, or what `chunks` and builders raise; no part of the generation is left then.
    """
    parts = [TEXTS, *(builder.kind.value for builder in builders)]
    with _locked(data, name):
        if any(generation_folder(data, name, part, generation).exists() for part in parts):
            raise GenerationError(f"generation {generation!r} exists: every run takes a new id")
        try:
            build = _Build(data, name, generation, progress)
            wanted = embedder if with_vectors or Kind.VECTOR.value in parts else None
            total = build.write_texts(chunks, wanted)
            counts = {builder.kind: build.write_index(builder, total) for builder in builders}
            build.publish(parts)
        except BaseException:
            for part in parts:
                shutil.rmtree(_building(data, name, part, generation), ignore_errors=True)
                shutil.rmtree(generation_folder(data, name, part, generation), ignore_errors=True)
            raise
    return BuiltGeneration(generation, total, counts, build.blank, build.relations)


def remove_unused(data: Path, name: CorpusName, keep: Collection[str]) -> tuple[str, ...]:
    """Remove every generation not in `keep` and what killed runs left; returns the ids removed, oldest first.

    Readers that have files of an old generation open keep them until they close. Raises `GenerationError` while an
    index run of this corpus is at work.
    """
    removed: set[str] = set()
    with _locked(data, name) as folder:
        for path in folder.glob("*/*"):
            if path.is_dir() and path.name not in keep:
                shutil.rmtree(path)
                removed.add(path.name.removeprefix(_BUILDING))
    return tuple(sorted(removed - set(keep)))


@dataclass(slots=True)
class _Build:
    data: Path
    name: CorpusName
    generation: str
    progress: Progress
    blank: int = field(default=0, init=False)
    relations: int = field(default=0, init=False)

    def write_texts(self, chunks: Iterable[Chunk], embedder: Embedder | None) -> int:
        path = self._start(TEXTS) / _TEXTS_FILE
        sound = self._sound(chunks)
        stream = sound if embedder is None else _with_vectors(sound, embedder)
        return write_texts(path, self._told(TEXTS, stream))

    def write_index(self, builder: IndexBuilder, total: int) -> int:
        part = builder.kind.value
        folder = self._start(part)
        texts = read_texts(_building(self.data, self.name, TEXTS, self.generation) / _TEXTS_FILE)
        try:
            count = builder.build(folder, self.name.tenant, self.name.corpus, self._told(part, texts))
        except InvalidChunkError as error:
            raise GenerationError(str(error)) from error
        if count != total:
            raise GenerationError(f"the {part} index holds {count} chunks of {total}: the generation is not used")
        return count

    def publish(self, parts: Iterable[str]) -> None:
        for part in parts:
            building = _building(self.data, self.name, part, self.generation)
            building.rename(generation_folder(self.data, self.name, part, self.generation))

    def _start(self, part: str) -> Path:
        folder = _building(self.data, self.name, part, self.generation)
        shutil.rmtree(folder, ignore_errors=True)  # left by a run that was killed
        folder.mkdir(parents=True)
        return folder

    def _sound(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            if chunk.text.strip():
                self.relations += len(chunk.triples)
                yield chunk
            else:
                self.blank += 1

    def _told(self, part: str, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for done, chunk in enumerate(chunks, start=1):
            yield chunk
            self.progress(part, done)


def embedded_text(chunk: Chunk) -> str:
    """What the vector of a chunk stands for: title and text."""
    return f"{chunk.title} {chunk.text}".strip()


def _with_vectors(chunks: Iterable[Chunk], embedder: Embedder) -> Iterator[Chunk]:
    stream = iter(chunks)
    while batch := list(islice(stream, _EMBED_BATCH)):
        bare = [chunk for chunk in batch if chunk.vector is None]
        vectors = iter(embedder.embed_documents([embedded_text(chunk) for chunk in bare]))
        for chunk in batch:
            yield chunk if chunk.vector is not None else chunk.model_copy(update={"vector": tuple(next(vectors))})


def _building(data: Path, name: CorpusName, part: str, generation: str) -> Path:
    finished = generation_folder(data, name, part, generation)
    return finished.with_name(_BUILDING + finished.name)


@contextmanager
def _locked(data: Path, name: CorpusName) -> Iterator[Path]:
    """The corpus's folder, for one index run at a time; the lock dies with its process."""
    folder = data.joinpath(*(check_token(step, "path") for step in name))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK_FILE).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise GenerationError(f"another index run of {'/'.join(name)} is at work: wait for it to end") from error
        yield folder
