"""Texts of the winners, read from the live generation of their corpus.

In: a corpus, chunk ids, a limit in bytes. Out: one reply; whatever goes wrong is a typed failure in it.
"""

from collections.abc import Sequence

from fanfuse_backend_workers.catalog import Catalog, CorpusKey
from fanfuse_backend_workers.domain.texts import texts_reply
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.retrieval import ChunksReply, ChunkText, Failure
from fanfuse_runtime.logs import get_logger

_log = get_logger("backend-workers.texts")


async def read_texts(catalog: Catalog, corpus: CorpusKey, chunk_ids: Sequence[str], max_bytes: int) -> ChunksReply:
    """The texts that exist and fit; ids that do not exist are `gone`."""
    try:
        found = await _found(catalog, corpus, chunk_ids)
    except SearchError as error:
        _log.warning("texts.failed", corpus=corpus.corpus, failure=error.kind.value, error=error.message)
        return ChunksReply(failure=Failure(kind=error.kind, message=error.message))
    return texts_reply(chunk_ids, {chunk.chunk_id: chunk for chunk in found}, max_bytes)


async def _found(catalog: Catalog, corpus: CorpusKey, chunk_ids: Sequence[str]) -> list[ChunkText]:
    with await catalog.texts(corpus) as store:
        return await store.get(chunk_ids)
