"""Saved lane lists fused again, by the code that the fuser runs. In: one query's record and a policy. Out: its list.

`differences` compares with the answer that came through the bus: order and scores must be the same, bit for bit.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fanfuse_contracts import limits
from fanfuse_contracts.answer import Copy
from fanfuse_contracts.fusion import FusionApplied, FusionConfig
from fanfuse_evaluation.lane_lists import AnsweredHit, AskedQuery
from fanfuse_fuser.domain.fusion import Fused, fuse
from fanfuse_fuser.domain.ranked import RankedList


class Places(NamedTuple):
    """Hits that were compared, and how many of them differ."""

    compared: int
    order: int
    """Places that hold another hit."""
    score: int
    """Places with the same hit and another score."""


def config_of(applied: FusionApplied) -> FusionConfig:
    """The configuration under which an answer was made."""
    return FusionConfig(
        policy=applied.policy,
        k=applied.k if applied.k is not None else limits.RRF_K,
        reserved_seats=applied.reserved_seats,
        collapse=applied.collapse,
    )


def fused_again(asked: AskedQuery, config: FusionConfig) -> tuple[AnsweredHit, ...]:
    """The first `top_k` hits under a policy."""
    lists = [RankedList(one.lane, one.hits) for one in asked.lists]
    return tuple(map(_hit, fuse(lists, config)[: asked.top_k])) if lists else ()


def differences(asked: AskedQuery) -> Places:
    """The answer against the same lists fused again under its own policy."""
    again = () if asked.fusion is None else fused_again(asked, config_of(asked.fusion))
    length = max(len(again), len(asked.answer))
    pairs = list(zip(asked.answer, again, strict=False))
    same = [mine.score != other.score for mine, other in pairs if _key(mine) == _key(other)]
    return Places(length, length - len(same), sum(same))


def document_list(asked: AskedQuery, hits: Sequence[AnsweredHit]) -> list[str]:
    """Distinct documents, best first, by the ids of the judgements; foreign ones bear the name of their corpus.

    A hit that has a copy in the query's own collection counts as that copy.
    """
    return list(dict.fromkeys(_document(asked, hit) for hit in hits))


def _document(asked: AskedQuery, hit: AnsweredHit) -> str:
    for corpus, chunk_id in ((hit.corpus, hit.chunk_id), *((copy.corpus, copy.chunk_id) for copy in hit.also_in)):
        if corpus == asked.collection:
            return asked.documents.get(chunk_id, chunk_id)
    return f"{hit.corpus}/{hit.chunk_id}"


def _key(hit: AnsweredHit) -> tuple[str, str]:
    return hit.corpus, hit.chunk_id


def _hit(row: Fused) -> AnsweredHit:
    copies = tuple(Copy(corpus=corpus, chunk_id=chunk_id) for corpus, chunk_id in row.copies)
    return AnsweredHit(corpus=row.corpus, chunk_id=row.chunk_id, score=row.score, also_in=copies)
