"""Indexing a corpus: chunks to the next generation, beside the live one; then the registry points to it.

In: a source of chunks and what the card should say. Out: the new card, once every live instance serves it. A run that
fails or is interrupted changes nothing; what is no longer in the source is gone afterwards.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Final

from fanfuse_all_in_one.failures import NothingToIndexError, OperatorError
from fanfuse_all_in_one.operating import Operator
from fanfuse_all_in_one.publishing import (
    alone_on,
    check_servers,
    refuse_unstated_servers,
    servers_of,
    write_to_servers,
)
from fanfuse_all_in_one.switching import switch_to
from fanfuse_backend_workers.adapters.embedded import index_builder
from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.adapters.embedding_cache import CachedEmbedder, EmbeddingCache
from fanfuse_backend_workers.adapters.sqlite_texts import DuplicateChunkError
from fanfuse_backend_workers.generations import (
    BuiltGeneration,
    CorpusName,
    GenerationError,
    build_generation,
    generation_id,
)
from fanfuse_backend_workers.ports import Embedder, IndexWriteError, SearchError
from fanfuse_contracts.backends import DEFAULT_BACKEND, BackendsConfig
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, FieldType
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.card_merge import merge_fields
from fanfuse_runtime.corpus_store import Registered, RegistryError

DEFAULT_EMBEDDER: Final = EmbedderSpec(model="all-MiniLM-L6-v2", dimensions=384, languages=("en",))
CACHE_FILE: Final = "embeddings.sqlite"

Progress = Callable[[str, int], None]
"""Called from a thread with the part being built (`texts`, `vector` …) and the chunks done."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a card should say. None: as it stands, or the default for a new corpus."""

    tenant: str
    corpus: str
    public: bool | None = None
    readers: frozenset[str] | None = None
    display_name: str | None = None
    description: str | None = None
    term_weights: Mapping[str, float] | None = None

    @property
    def name(self) -> CorpusName:
        """Whose corpus, and which."""
        return CorpusName(self.tenant, self.corpus)


@dataclass(frozen=True, slots=True)
class Indexed:
    """A finished run."""

    card: CorpusCard
    blank: int
    """Chunks left out because they hold no text."""
    removed: tuple[str, ...]
    """Generations that nobody uses any more."""


async def index_corpus(
    operator: Operator,
    data_dir: Path,
    wish: Wish,
    chunks: Iterable[Chunk],
    fields: Callable[[], Mapping[str, FieldType]],
    progress: Progress = lambda part, done: None,
) -> Indexed:
    """Index `chunks` as the whole content of a corpus. `fields` is asked at the end of `chunks`.

    What the operators' file states of the corpus is kept. Raises an `OperatorError`: nothing was changed, but for a
    `NotAppliedError`.
    """
    before = await operator.card(wish.tenant, wish.corpus)
    wanted = _wanted(wish, before.card, operator.stated(wish.tenant, wish.corpus), operator.config.backends)
    operator.refuse_unwritable(wanted.card)
    sound = _checked(chunks, wanted, fields)
    card = wanted.card.model_copy(update={"embedder": wanted.embedder})
    return await _index(operator, data_dir, before, card, sound, progress, lambda: wanted.with_fields(fields()))


async def rebuild_corpus(
    operator: Operator, data_dir: Path, before: Registered, chunks: Iterable[Chunk], progress: Progress
) -> Indexed:
    """The same corpus with these chunks only; their vectors are kept."""
    card = before.card
    assert card is not None
    return await _index(operator, data_dir, before, card, chunks, progress, lambda: card.fields)


async def _index(
    operator: Operator,
    data_dir: Path,
    before: Registered,
    wanted: CorpusCard,
    chunks: Iterable[Chunk],
    progress: Progress,
    fields: Callable[[], dict[str, FieldType]],
) -> Indexed:
    """Build in the data directory, write to the servers, then switch."""
    servers = servers_of(operator, wanted)
    await refuse_unstated_servers(operator, wanted)
    await check_servers(servers)
    embedded = _embedded_kinds(operator, wanted)
    with alone_on(servers, data_dir, CorpusName(wanted.tenant, wanted.corpus)):
        with _disk_faults(data_dir):
            built = await in_thread(lambda stop: _build(data_dir, wanted, chunks, embedded, _stoppable(progress, stop)))
        card = wanted.model_copy(update={"fields": fields(), **_pointer(built)})
        card = await write_to_servers(servers, data_dir, card, progress)
        return Indexed(card, built.blank, await switch_to(operator, data_dir, card, before))


def _embedded_kinds(operator: Operator, card: CorpusCard) -> tuple[Kind, ...]:
    """Kinds of index that the data directory must hold; raises where a backend is not known."""
    config = operator.config.backends
    for wiring in card.backends:
        if wiring.backend not in config.known(wiring.kind):
            raise OperatorError(
                f"corpus {card.corpus} is wired to {wiring.kind.value}/{wiring.backend}, which the configuration does "
                "not name: give the operators' file with -f, or correct it"
            )
    servers = operator.servers
    return tuple(
        kind for kind in Kind if any(w.kind is kind and not servers.is_server(kind, w.backend) for w in card.backends)
    )


@contextmanager
def cached_embedder(data_dir: Path, spec: EmbedderSpec) -> Iterator[Embedder | None]:
    """An embedder with the vectors of earlier runs; None where every chunk must bring its vector. Blocking."""
    embedder = build_embedder(spec)
    if embedder is None:
        yield None
        return
    with closing(EmbeddingCache(data_dir / CACHE_FILE)) as cache:
        yield CachedEmbedder(embedder, cache)


async def in_thread(work: Callable[[threading.Event], BuiltGeneration]) -> BuiltGeneration:
    """Run blocking work; when this task is cancelled the work is told to stop, and waited for."""
    stop = threading.Event()
    running = asyncio.create_task(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.gather(running, return_exceptions=True)
        raise
    except (DuplicateChunkError, GenerationError, RegistryError, SearchError) as error:
        raise OperatorError(str(error)) from error


@contextmanager
def _disk_faults(data_dir: Path) -> Iterator[None]:
    """What a full or faulty disk does to a build, as an operator's error: sqlite and each engine have their own."""
    try:
        yield
    except (IndexWriteError, sqlite3.Error, OSError) as error:
        raise OperatorError(
            f"the index was not written, and what was there stays: {error}. Is the disk of {data_dir} full? Make room, "
            "or give another --data, and index again"
        ) from error


class _Stopped(Exception):
    """The run was interrupted."""


def _stoppable(progress: Progress, stop: threading.Event) -> Progress:
    def told(part: str, done: int) -> None:
        if stop.is_set():
            raise _Stopped
        progress(part, done)

    return told


def _build(
    data_dir: Path, card: CorpusCard, chunks: Iterable[Chunk], kinds: Iterable[Kind], progress: Progress
) -> BuiltGeneration:
    name = CorpusName(card.tenant, card.corpus)
    builders = [index_builder(kind) for kind in kinds]
    generation = generation_id(datetime.now(UTC), token_hex(2))
    if not any(wiring.kind is Kind.VECTOR for wiring in card.backends):
        return build_generation(data_dir, name, generation, chunks, builders, None, progress)
    with cached_embedder(data_dir, card.embedder or DEFAULT_EMBEDDER) as embedder:
        return build_generation(data_dir, name, generation, chunks, builders, embedder, progress, with_vectors=True)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The card before anything is built, what its text is embedded with, and the fields that are stated."""

    card: CorpusCard
    embedder: EmbedderSpec
    stated_fields: Mapping[str, FieldType]

    def with_fields(self, found: Mapping[str, FieldType]) -> dict[str, FieldType]:
        """Those that are stated and those found; raises `StatedOtherwiseError`."""
        return merge_fields(self.card.corpus, self.stated_fields, found)


def _wanted(wish: Wish, registered: CorpusCard | None, stated: CorpusCard | None, known: BackendsConfig) -> _Wanted:
    old = registered or stated or CorpusCard(tenant=wish.tenant, corpus=wish.corpus)
    wishes = {
        "public": wish.public,
        "readers": wish.readers,
        "display_name": wish.display_name,
        "description": wish.description,
        "term_weights": None if wish.term_weights is None else dict(wish.term_weights),
    }
    update: dict[str, object] = {name: value for name, value in wishes.items() if value is not None}
    backends = old.backends or (() if stated else tuple(known.wiring(kind, DEFAULT_BACKEND) for kind in Kind))
    card = old.model_copy(update={"backends": backends, **update})
    # Without a file, the fields of a corpus that was never indexed are stated ones: it got them from a file.
    fields = stated.fields if stated else {} if old.generation else old.fields
    return _Wanted(card, (stated and stated.embedder) or old.embedder or DEFAULT_EMBEDDER, fields)


def _checked(
    chunks: Iterable[Chunk], wanted: _Wanted, fields: Callable[[], Mapping[str, FieldType]]
) -> Iterator[Chunk]:
    """The chunks; raises where there are none, or one does not fit what is stated of the corpus."""
    empty = True
    spec = wanted.embedder
    for chunk in chunks:
        empty = False
        if chunk.vector is not None and len(chunk.vector) != spec.dimensions:
            raise GenerationError(
                f"the vector of {chunk.chunk_id!r} has {len(chunk.vector)} numbers: "
                f"{spec.model} makes {spec.dimensions}"
            )
        yield chunk
    if empty:
        raise NothingToIndexError("there is no text to index: is the path right? An existing corpus stays as it is")
    wanted.with_fields(fields())


def _pointer(built: BuiltGeneration) -> dict[str, object]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "generation": built.generation,
        "chunks": built.chunks,
        "relations": built.relations,
        "indexed_at": now,
    }
