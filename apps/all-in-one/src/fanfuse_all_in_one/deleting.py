"""Deleting chunks: the corpus is built again without them, and stored answers that show them are taken away.

In: ids of chunks or documents, or none for the whole corpus. Out: what was deleted. When it returns, no answer shows a
deleted chunk: neither a new one, nor one of a query that was running, nor a stored one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fanfuse_all_in_one.failures import OperatorError, UnknownChunkError, UnknownCorpusError
from fanfuse_all_in_one.indexing import Progress, rebuild_corpus
from fanfuse_all_in_one.operating import Operator
from fanfuse_all_in_one.publishing import refuse_unstated_servers, remove_from_servers
from fanfuse_all_in_one.stored_answers import remove_answers, shown_ids
from fanfuse_all_in_one.switching import remove_files, settle, take_out, wait_answered, wait_applied
from fanfuse_backend_workers.generations import CorpusName, read_chunks
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_runtime.configfile import ConfigError
from fanfuse_runtime.corpus_store import Registered, UnreadableCardError

_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Deleted:
    """A finished deletion. `left` None: the whole corpus is gone."""

    chunks: int
    left: int | None
    answers: int
    """Stored answers that were taken away."""


async def delete_chunks(
    operator: Operator,
    data_dir: Path,
    tenant: str,
    corpus: str,
    ids: Iterable[str] | None,
    progress: Progress = lambda part, done: None,
) -> Deleted:
    """Delete; raises `UnknownCorpusError`, `UnknownChunkError` (nothing was changed) or another `OperatorError`."""
    before = await operator.what_stands(tenant, corpus)
    if before.fault is not None:
        await _take_out_unreadable(operator, data_dir, before.fault, ids)
        return Deleted(0, None, await remove_answers(operator.bus, tenant, corpus, None))
    if before.card is None and ids is None and await _complete(operator, tenant, corpus):
        await wait_answered(operator)
        return Deleted(0, None, await remove_answers(operator.bus, tenant, corpus, None))
    card = _indexed(tenant, corpus, before)
    if ids is None:
        await refuse_unstated_servers(operator, card)
        await take_out(operator, data_dir, card, before)
        gone, left = None, None
    else:
        gone, absent = _chunks_of(data_dir, card, frozenset(ids))
        # Ids that are absent but still shown were deleted by a run that was interrupted: this one completes it.
        _refuse_unknown(card, absent - await shown_ids(operator.bus, tenant, corpus, absent))
        left = await _take_away(operator, data_dir, before, card, gone, progress)
    await wait_answered(operator)
    answers = await remove_answers(operator.bus, tenant, corpus, None if gone is None else gone | absent)
    return Deleted(card.chunks if gone is None else len(gone), left, answers)


async def _take_out_unreadable(
    operator: Operator, data_dir: Path, found: UnreadableCardError, ids: Iterable[str] | None
) -> None:
    """Take a record out that says nothing of its corpus, and whatever is kept under its name."""
    if ids is not None:
        raise OperatorError(str(found))
    name = CorpusName(found.tenant, found.corpus)
    await wait_applied(operator, await operator.delete_card(*name, found.revision))
    remove_files(data_dir, name)
    await _complete(operator, *name)
    await wait_answered(operator)


async def _complete(operator: Operator, tenant: str, corpus: str) -> bool:
    """Remove what an interrupted deletion left of a whole corpus; False if no server holds anything of it."""
    try:
        servers = operator.servers.all()
    except ConfigError as error:
        raise OperatorError(str(error)) from error
    return bool(await remove_from_servers(servers, CorpusName(tenant, corpus)))


async def _take_away(
    operator: Operator, data_dir: Path, before: Registered, card: CorpusCard, gone: frozenset[str], progress: Progress
) -> int:
    if not gone:
        await settle(operator, data_dir, card, before)
        return card.chunks
    kept = (chunk for chunk in _chunks(data_dir, card) if chunk.chunk_id not in gone)
    return (await rebuild_corpus(operator, data_dir, before, kept, progress)).card.chunks


def _indexed(tenant: str, corpus: str, before: Registered) -> CorpusCard:
    if before.card is None:
        raise UnknownCorpusError(f"tenant {tenant} has no corpus {corpus}: see `fanfuse corpus list --tenant {tenant}`")
    if before.card.generation is None:
        raise UnknownCorpusError(f"corpus {corpus} is not indexed here: delete in the engine that holds it")
    return before.card


def _chunks(data_dir: Path, card: CorpusCard) -> Iterator[Chunk]:
    assert card.generation is not None
    return read_chunks(data_dir, CorpusName(card.tenant, card.corpus), card.generation)


def _chunks_of(data_dir: Path, card: CorpusCard, ids: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The chunks that these ids name, each a chunk's or a document's; and the ids that name none."""
    found: set[str] = set()
    named: set[str] = set()
    for chunk in _chunks(data_dir, card):
        matching = ids & {chunk.chunk_id, chunk.document_id}
        if matching:
            found.add(chunk.chunk_id)
            named |= matching
    return frozenset(found), ids - named


def _refuse_unknown(card: CorpusCard, ids: frozenset[str]) -> None:
    unknown = sorted(ids)
    if unknown:
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        shown = ", ".join(map(repr, unknown[:_NAMED]))
        raise UnknownChunkError(f"corpus {card.corpus} has no chunk or document {shown}{more}: nothing was deleted")
