"""Query vectors: embedded in threads, outside the event loop, each text once.

In: the embedder a card names and a text. Out: a vector of the card's size, or a typed failure. A vector of another
model or size never stands in. Cache, queue and threads are bounded.
"""

import asyncio
import math
import threading
from array import array
from collections import Counter, OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from fanfuse_backend_workers.ports import Embedder, LoadEmbedder, SearchError
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.enums import FailureKind
from fanfuse_runtime.logs import get_logger

CACHED_VECTORS: Final = 4_096
"""Of 384 dimensions: 13 MB."""
MAX_WAITING: Final = 64
"""Texts that wait for one embedder; one more fails at once, so that an embedder that hangs piles up nothing."""
ENDPOINT_THREADS: Final = 8
"""Of each endpoint: they only wait for it."""


class _Source(NamedTuple):
    """What makes vectors: cards that name the same share it. Each has threads of its own, so that one that hangs
    keeps nobody from another."""

    model: str
    dimensions: int
    endpoint: str | None
    query_prefix: str


class _Key(NamedTuple):
    source: _Source
    text: str


_log = get_logger("backend-workers.embedding")


class QueryEmbedding:
    """The embedders of this process. Texts of lanes that ask at the same time are embedded once."""

    def __init__(self, load: LoadEmbedder, threads: int, cached: int = CACHED_VECTORS) -> None:
        self._load = load
        self._local_threads = threads
        self._threads: dict[_Source, ThreadPoolExecutor] = {}
        self._cached = cached
        self._cache: OrderedDict[_Key, array[float]] = OrderedDict()
        self._running: dict[_Key, asyncio.Task[array[float]]] = {}
        self._waiting: Counter[_Source] = Counter()
        self._embedders: dict[_Source, Embedder] = {}
        self._loading = threading.Lock()

    async def vector(self, spec: EmbedderSpec, text: str, timeout_s: float) -> tuple[float, ...]:
        """The vector of `text`. Raises `SearchError`: EMBEDDER, or CONFIG where model or size is not the card's."""
        key = _Key(_Source(spec.model, spec.dimensions, spec.endpoint, spec.query_prefix), text)
        vector = self._cache.get(key)
        if vector is None:
            vector = await self._wait(spec, key, timeout_s)
        else:
            self._cache.move_to_end(key)
        if len(vector) != spec.dimensions:
            message = f"{spec.model} gives {len(vector)} dimensions, the card says {spec.dimensions}"
            raise SearchError(FailureKind.CONFIG, message)
        return tuple(vector)

    def close(self) -> None:
        """Stop the threads; what is still being embedded is thrown away."""
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)

    async def _wait(self, spec: EmbedderSpec, key: _Key, timeout_s: float) -> "array[float]":
        task = self._running.get(key)
        if task is None:
            if self._waiting[key.source] >= MAX_WAITING:
                raise SearchError(FailureKind.EMBEDDER, f"{MAX_WAITING} texts are waiting for the embedder")
            self._waiting[key.source] += 1
            task = self._running[key] = asyncio.create_task(self._compute(spec, key))
            task.add_done_callback(lambda done: self._done(key, done))
        try:
            async with asyncio.timeout(timeout_s):
                # Another lane may wait for the same text: its vector is not lost with this one's budget.
                return await asyncio.shield(task)
        except TimeoutError as error:
            message = f"{spec.model} gave no vector within {timeout_s:.3f} s"
            raise SearchError(FailureKind.EMBEDDER, message) from error

    async def _compute(self, spec: EmbedderSpec, key: _Key) -> "array[float]":
        vector = await asyncio.get_running_loop().run_in_executor(self._threads_of(key.source), self._embed, spec, key)
        self._cache[key] = vector
        while len(self._cache) > self._cached:
            self._cache.popitem(last=False)
        return vector

    def _done(self, key: _Key, task: "asyncio.Task[array[float]]") -> None:
        del self._running[key]
        self._waiting[key.source] -= 1
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("embedding.failed", model=key.source.model, error=str(error))

    def _threads_of(self, source: _Source) -> ThreadPoolExecutor:
        if source not in self._threads:
            count = self._local_threads if source.endpoint is None else ENDPOINT_THREADS
            self._threads[source] = ThreadPoolExecutor(count, thread_name_prefix="embedder")
        return self._threads[source]

    def _embed(self, spec: EmbedderSpec, key: _Key) -> "array[float]":
        try:
            vector = array("d", self._embedder(spec, key.source).embed_query(key.text))
        except SearchError:
            raise
        except Exception as error:
            raise SearchError(FailureKind.EMBEDDER, f"{spec.model} failed: {type(error).__name__}") from error
        if not all(map(math.isfinite, vector)):
            raise SearchError(FailureKind.EMBEDDER, f"{spec.model} gave a vector that is not finite")
        return vector

    def _embedder(self, spec: EmbedderSpec, source: _Source) -> Embedder:
        with self._loading:
            embedder = self._embedders.get(source)
            if embedder is None:
                embedder = self._embedders[source] = self._loaded(spec)
            return embedder

    def _loaded(self, spec: EmbedderSpec) -> Embedder:
        embedder = self._load(spec)
        if embedder is None or embedder.model != spec.model:
            found = "nothing here" if embedder is None else embedder.model
            raise SearchError(FailureKind.CONFIG, f"the card names {spec.model}, its embedder is {found}")
        return embedder
