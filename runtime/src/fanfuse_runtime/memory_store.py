"""The registry of corpora in the operators' file: the same in every process that reads it, changed by a restart.

In: the file's cards, and a data directory. What `index` makes is kept in `<data>/indexed.json`, beside the indexes it
speaks of, and followed by every process on that directory; nothing else can be changed while processes run.
"""

import asyncio
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

from pydantic import Field, ValidationError

from fanfuse_contracts.base import Model
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, FieldType
from fanfuse_contracts.streams import corpus_key
from fanfuse_contracts.tokens import Token
from fanfuse_runtime.card_merge import INDEX_OWNED, StatedOtherwiseError, changed_fields, with_index
from fanfuse_runtime.corpus_store import ConflictError, ReadOnlyStoreError, Registered, StoreUnavailableError
from fanfuse_runtime.known import KnownCards
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.tasks import end_tasks

FILE: Final = "indexed.json"
_LOCK: Final = "indexed.lock"
_LOOK_EVERY_S: Final = 0.2
_WHERE: Final = "the registry is the configuration file (registry.store: memory)"

_log = get_logger("registry")


class _Indexed(Model):
    """What `index` knows of a corpus."""

    revision: Annotated[int, Field(gt=0)]
    generation: Token | None = None
    chunks: int = 0
    relations: int | None = None
    indexed_at: str | None = None
    embedder: EmbedderSpec | None = None
    fields: dict[str, FieldType] = {}


class _IndexedFile(Model):
    """All of them. `revision`: the highest one."""

    revision: Annotated[int, Field(ge=0)] = 0
    corpora: dict[str, dict[str, Any]] = {}
    """Each an `_Indexed`; one that can't be read is no reason to lose the others."""

    def of(self, key: str) -> _Indexed | None:
        """What `index` knows of one corpus; None if nothing that can be read."""
        if key not in self.corpora:
            return None
        try:
            return _Indexed.model_validate(self.corpora[key])
        except ValidationError as error:
            _log.error("registry.unreadable", key=key, error=str(error))
            return None


class MemoryCorpusStore(KnownCards):
    """`CorpusStore` of one process; `cards` are those of `FanfuseConfig.cards()`."""

    def __init__(self, cards: Iterable[CorpusCard], data_dir: Path) -> None:
        super().__init__()
        self._stated = {corpus_key(card.tenant, card.corpus): card for card in cards}
        self._data_dir = data_dir
        self._seen: tuple[int, int] | None = None
        self._task: asyncio.Task[None] | None = None
        self._again = asyncio.Event()

    async def start(self, timeout_s: float = 10.0) -> None:
        """Know every card, and follow what `index` does. Raises `StoreUnavailableError`."""
        del timeout_s  # nothing is waited for
        self._look()
        self._task = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        """Stop following."""
        if self._task is not None:
            await end_tasks((self._task,))

    def reread(self) -> None:
        """Look again now."""
        self._again.set()

    async def read(self, tenant: str, corpus: str) -> Registered:
        """The card as it stands now, with the revision that a write must name."""
        key = corpus_key(tenant, corpus)
        return self._registered(key, self._load()) if key in self._stated else Registered(None, 0)

    async def read_all(self) -> tuple[Registered, ...]:
        """Every card as it stands now, by tenant and id."""
        indexed = self._load()
        return tuple(self._registered(key, indexed) for key in sorted(self._stated, key=lambda key: key.split(".")))

    def objection(self, card: CorpusCard) -> str | None:
        """Why this card can't be registered here: it is not in the file, or differs in what the file states."""
        stated = self._stated.get(corpus_key(card.tenant, card.corpus))
        if stated is None:
            return (
                f"corpus {card.corpus} of tenant {card.tenant} is not in the file, and {_WHERE}: "
                "add it to section corpora, and start again"
            )
        try:
            changed = changed_fields(with_index(stated, card), card)
        except StatedOtherwiseError as error:
            return str(error)
        if changed:
            return f"{', '.join(changed)} of corpus {card.corpus}: {_WHERE}, change it there and start again"
        return None

    async def put(self, card: CorpusCard, over: int) -> int:
        """Keep what `index` made. Raises `ConflictError`, `ReadOnlyStoreError`."""
        objection = self.objection(card)
        if objection is not None:
            raise ReadOnlyStoreError(objection)
        return await asyncio.to_thread(self._write, card, over)

    async def delete(self, tenant: str, corpus: str, over: int) -> NoReturn:
        """Raises `ReadOnlyStoreError`: only the file can lose a corpus."""
        del over
        raise ReadOnlyStoreError(
            f"corpus {corpus} of tenant {tenant}: {_WHERE}, take it out of section corpora and start again"
        )

    # -- what index made ----------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            self._again.clear()
            try:
                self._look()
            except StoreUnavailableError as error:
                _log.error("registry.unreadable", error=str(error))
            except Exception as error:  # noqa: BLE001 - a fault of who hears a change must not blind this process
                _log.error("registry.watch_broke", exc_info=error)
            try:
                async with asyncio.timeout(_LOOK_EVERY_S):
                    await self._again.wait()
            except TimeoutError:
                continue

    def _look(self) -> None:
        seen = self._stamp()
        if seen != self._seen or not self._values:
            self._take_in(self._load())
            self._seen = seen
        self.note_answer()

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = (self._data_dir / FILE).stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _take_in(self, indexed: _IndexedFile) -> None:
        if indexed.revision < self.revision:
            self.begin_anew()
        for key in self._stated:
            card = self._registered(key, indexed).card
            if self._values.get(key) != card:
                self._set(key, card)
        self.pass_over(indexed.revision)

    def _registered(self, key: str, indexed: _IndexedFile) -> Registered:
        stated, found = self._stated[key], indexed.of(key)
        if found is None:
            return Registered(stated, 0)
        known = stated.model_copy(update={name: getattr(found, name) for name in _KEPT})
        try:
            return Registered(with_index(stated, known), found.revision)
        except StatedOtherwiseError as error:
            # The file is the law here: what was indexed under another one is not served.
            _log.warning("registry.index_left_out", key=key, reason=str(error))
            return Registered(stated, found.revision)

    def _load(self) -> _IndexedFile:
        path = self._data_dir / FILE
        try:
            return _IndexedFile.from_stored(path.read_bytes())
        except FileNotFoundError:
            return _IndexedFile()
        except (OSError, ValidationError) as error:
            raise StoreUnavailableError(f"{path} can't be read: remove it, and index again") from error

    def _write(self, card: CorpusCard, over: int) -> int:
        key = corpus_key(card.tenant, card.corpus)
        self._data_dir.mkdir(parents=True, exist_ok=True)
        with (self._data_dir / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = self._load()
            if self._registered(key, before).revision != over:
                raise ConflictError(card.tenant, card.corpus)
            revision = before.revision + 1
            found = _Indexed(revision=revision, **{name: getattr(card, name) for name in _KEPT})
            after = _IndexedFile(revision=revision, corpora=before.corpora | {key: found.model_dump(mode="json")})
            partial = self._data_dir / f"{FILE}.{os.getpid()}"
            partial.write_bytes(after.to_json())
            partial.replace(self._data_dir / FILE)
        return revision


_KEPT: Final = (*INDEX_OWNED, "embedder", "fields")
