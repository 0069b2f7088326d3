"""Equal content in several corpora becomes one hit: sorted rows in, fewer rows and what collapsed into each out.

A copy adds nothing to the score: it is the same text found twice, not a second opinion. Only rows of the query's own
lanes are looked at, so a corpus that the principal may not read is never named.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from fanfuse_fuser.domain.rows import Identity, Poll, Polls, Row, identity_of

_hash_of = attrgetter("content_hash")


def content_hashes(found: Sequence[Poll]) -> Mapping[str, str]:
    """By chunk id of one corpus: the hash that the first lane in the plan's order states; empty: none."""
    hashes: dict[str, str] = {}
    for one in reversed(found):
        hashes.update(zip(one.column.chunk_ids, map(_hash_of, one.column.hits), strict=True))
    return hashes


def collapse(rows: Iterable[Row], polls: Polls) -> tuple[list[Row], dict[Identity, list[Row]]]:
    """The best row of each content hash stays; rows of other corpora with its hash are its copies, best first.

    Chunks of one corpus stay apart whatever their hashes, and so do chunks without a hash.
    """
    hashes = {corpus: content_hashes(found) for corpus, found in polls.items()}
    best: dict[str, Row] = {}
    copies: dict[Identity, list[Row]] = {}
    kept: list[Row] = []
    for row in rows:
        content_hash = hashes[row[2]][row[1]]
        first = best.setdefault(content_hash, row) if content_hash else row
        if first is row or first[2] == row[2]:
            kept.append(row)
        else:
            copies.setdefault(identity_of(first), []).append(row)
    return kept, copies
