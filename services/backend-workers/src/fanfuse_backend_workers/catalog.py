"""What this worker holds open: one engine per corpus and backend of its pools, the texts of every corpus.

In: cards, as the registry tells of them. Out: leases of the live generation, and the registry revision up to which
every card is served. A directory that is missing is a failure of its corpus, never of the backend.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_backend_workers.ports import OpenEngine, OpenTexts, SearchEngine, TextStore
from fanfuse_backend_workers.shelf import Opener, Shelf
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.corpus_store import CorporaReader

WAIT_FOR_CARD_S: Final = 0.2
"""A command may overtake the card it speaks of by this much."""


class CorpusKey(NamedTuple):
    """A corpus of a tenant."""

    tenant: str
    corpus: str


class EngineKey(NamedTuple):
    """A corpus on one of its backends."""

    tenant: str
    corpus: str
    kind: Kind
    backend: str


class OpenCorpus(NamedTuple):
    """An opened engine with the card it was opened for."""

    card: CorpusCard
    engine: SearchEngine


async def _close_engine(opened: OpenCorpus) -> None:
    await opened.engine.close()


async def _close_texts(store: TextStore) -> None:
    await store.close()


class Catalog:
    """Follows the registry."""

    def __init__(
        self, corpora: CorporaReader, pools: Iterable[Pool], open_engine: OpenEngine, open_texts: OpenTexts
    ) -> None:
        self._corpora = corpora
        self._pools = frozenset(pools)
        self._open_engine = open_engine
        self._open_texts = open_texts
        self._engines: Shelf[EngineKey, OpenCorpus] = Shelf(_close_engine)
        self._texts: Shelf[CorpusKey, TextStore] = Shelf(_close_texts)
        self._held: dict[CorpusKey, frozenset[EngineKey]] = {}
        self._closed = False

    async def start(self) -> None:
        """Follow the registry; returns when everything in it is open or has failed."""
        self._corpora.on_change(self._on_change)
        await self._engines.settled()
        await self._texts.settled()

    async def close(self) -> None:
        """Close everything."""
        self._closed = True
        await self._engines.close()
        await self._texts.close()

    async def engine(self, key: EngineKey) -> AbstractContextManager[OpenCorpus]:
        """The live generation of a corpus on a backend; raises `SearchError`."""
        return await self._engines.lease(key, WAIT_FOR_CARD_S)

    async def texts(self, key: CorpusKey) -> AbstractContextManager[TextStore]:
        """The texts of the live generation of a corpus; raises `SearchError`."""
        return await self._texts.lease(key, WAIT_FOR_CARD_S)

    @property
    def engines(self) -> tuple[EngineKey, ...]:
        """Every corpus and backend held."""
        return self._engines.keys

    @property
    def cold(self) -> tuple[EngineKey, ...]:
        """What can't be searched yet: its engine, or the embedder that is loaded with it, is not open."""
        return () if self._engines.unsettled_since() is None else self._engines.unopened

    def applied_revision(self) -> int:
        """Highest revision of the registry such that every card up to it is served, and nothing older is."""
        unsettled = (self._engines.unsettled_since(), self._texts.unsettled_since())
        return min((since for since in unsettled if since is not None), default=self._corpora.revision)

    def _on_change(self, key: str, card: CorpusCard | None) -> None:
        if self._closed:
            return
        # The registry counts the revision of a change after it told of it: this is the one before.
        since = self._corpora.revision
        corpus = CorpusKey(*key.split(".", 1))
        wanted = {} if card is None else self._wanted(card)
        for dropped in self._held.pop(corpus, frozenset()) - wanted.keys():
            self._engines.drop(dropped, since)
        if card is None:
            self._texts.drop(corpus, since)
            return
        self._held[corpus] = frozenset(wanted)
        # A server's filters are compiled for the fields of the card.
        version = (card.generation, card.embedder, tuple(sorted(card.fields.items())))
        for engine, wiring in wanted.items():
            self._engines.want(engine, version, self._engine_opener(card, wiring), since)
        self._texts.want(corpus, version, self._texts_opener(card), since)

    def _wanted(self, card: CorpusCard) -> dict[EngineKey, Wiring]:
        return {
            EngineKey(card.tenant, card.corpus, wiring.kind, wiring.backend): wiring
            for wiring in card.backends
            if Pool(wiring.kind, wiring.pool) in self._pools
        }

    def _engine_opener(self, card: CorpusCard, wiring: Wiring) -> Opener[OpenCorpus]:
        async def opener() -> OpenCorpus:
            return OpenCorpus(card, await self._open_engine(card, wiring))

        return opener

    def _texts_opener(self, card: CorpusCard) -> Opener[TextStore]:
        async def opener() -> TextStore:
            return await self._open_texts(card)

        return opener
