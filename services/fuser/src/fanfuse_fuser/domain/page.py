"""One page of the fused list: hits with their texts and votes, within the size an answer may have.

In: the fused list, what the text fetch brought. Out: the page, and what is missing from it, by name. Texts are cut
before anything else; a hit never disappears in silence.
"""

import json
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from fanfuse_contracts import limits
from fanfuse_contracts.answer import Answer, AnswerHit, Copy
from fanfuse_contracts.enums import Status
from fanfuse_contracts.retrieval import ChunkText
from fanfuse_fuser.domain.fusion import Fused, FusedList
from fanfuse_fuser.domain.rows import Identity

SPARES = 5
"""Texts fetched beyond the page, so that the hits that move up for deleted chunks have theirs."""


@dataclass(frozen=True, slots=True)
class Texts:
    """What the text fetch brought. A chunk in neither field has no known text."""

    known: Mapping[Identity, ChunkText]
    gone: Set[Identity]
    """Chunks deleted since their lane found them."""


NO_TEXTS = Texts({}, frozenset())


@dataclass(frozen=True, slots=True)
class Page:
    """Consecutive hits of the fused list, without the deleted ones."""

    hits: tuple[AnswerHit, ...]
    missing_texts: tuple[str, ...]
    gone: int


def wanted_texts(fused: FusedList, offset: int, top_k: int) -> dict[str, tuple[str, ...]]:
    """Chunk ids by corpus whose text the page may need: its own and a few spares, best first."""
    wanted: dict[str, list[str]] = {}
    for corpus, chunk_id in fused[offset : offset + top_k + SPARES].identities():
        wanted.setdefault(corpus, []).append(chunk_id)
    return {corpus: tuple(ids) for corpus, ids in wanted.items()}


def page_of(fused: FusedList, offset: int, top_k: int, texts: Texts | None) -> Page:
    """Hits `offset + 1` to `offset + top_k`; deleted ones are dropped and the next move up. None: no text is wanted.

    Where a deleted chunk has a copy in another corpus, that one takes its place, with its own score.
    """
    found = texts or NO_TEXTS
    rows, dropped = _rows(fused, offset, top_k, found.gone)
    hits = tuple(_hit(row, offset + number, found) for number, row in enumerate(rows, start=1))
    missing = () if texts is None else tuple(hit.chunk_id for hit in hits if hit.text is None)
    return Page(hits, missing, dropped)


class Fitted(NamedTuple):
    """An answer that fits, and its JSON."""

    answer: Answer
    body: bytes


def fit(answer: Answer, limit: int = limits.MAX_ANSWER_BYTES) -> Fitted:
    """The answer in at most `limit` bytes of JSON.

    Cut from the last hit upwards: texts with their sources (named in `missing_texts`), then titles. Only where that is
    not enough the last hits go, and a complete answer becomes partial.
    """
    body = answer.to_json()
    over = len(body) - limit
    if over <= 0:
        return Fitted(answer, body)
    hits, missing = list(answer.hits), set(answer.missing_texts)
    for bare in (_without_text, _without_title):
        over -= _strip(hits, over, bare, missing)
    status = answer.status
    while over > 0 and hits:
        over -= len(hits.pop().to_json())
        status = Status.PARTIAL if status is Status.COMPLETE else status
    names = tuple(hit.chunk_id for hit in hits if hit.chunk_id in missing and hit.text is None)
    cut = answer.model_copy(update={"hits": tuple(hits), "missing_texts": names, "status": status})
    return Fitted(cut, cut.to_json())


def _rows(fused: FusedList, offset: int, top_k: int, gone: Set[Identity]) -> tuple[list[Fused], int]:
    """The rows of the page, and how many before its end were dropped."""
    rows: list[Fused] = []
    dropped = 0
    for row in islice(fused, offset, None):
        if len(rows) == top_k:
            break
        kept = _alive(row, fused, gone)
        if kept is None:
            dropped += 1
        else:
            rows.append(kept)
    return rows, dropped


def _alive(row: Fused, fused: FusedList, gone: Set[Identity]) -> Fused | None:
    """The row without its deleted copies; the best copy instead of it where it is deleted itself."""
    if not gone:
        return row
    left = [one for one in (row, *fused.copies_of(row)) if (one.corpus, one.chunk_id) not in gone]
    copies = tuple((one.corpus, one.chunk_id) for one in left[1:])
    return left[0]._replace(copies=copies, reserved_by=row.reserved_by) if left else None


def _hit(row: Fused, rank: int, texts: Texts) -> AnswerHit:
    text = texts.known.get((row.corpus, row.chunk_id))
    return AnswerHit(
        rank=rank,
        corpus=row.corpus,
        chunk_id=row.chunk_id,
        score=row.score,
        title=row.title,
        text=text.text if text else None,
        source=text.source if text else "",
        content_hash=row.content_hash,
        contributions=row.contributions(),
        also_in=tuple(Copy(corpus=corpus, chunk_id=chunk_id) for corpus, chunk_id in row.copies),
        reserved_by=row.reserved_by,
    )


def _strip(hits: list[AnswerHit], over: int, bare: Callable[[AnswerHit], AnswerHit], missing: set[str]) -> int:
    """Make the last hits bare until `over` bytes are saved; returns what was saved and names the lost texts."""
    saved = 0
    for position in range(len(hits) - 1, -1, -1):
        if saved >= over:
            break
        hit = hits[position]
        stripped = bare(hit)
        saved += len(hit.to_json()) - len(stripped.to_json())
        if hit.text is not None and stripped.text is None:
            missing.add(hit.chunk_id)
            saved -= len(json.dumps(hit.chunk_id, ensure_ascii=False).encode()) + 1
        hits[position] = stripped
    return saved


def _without_text(hit: AnswerHit) -> AnswerHit:
    return hit.model_copy(update={"text": None, "source": ""})


def _without_title(hit: AnswerHit) -> AnswerHit:
    return hit.model_copy(update={"title": ""})
