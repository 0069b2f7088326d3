"""Equal content in several corpora becomes one hit: sorted rows in, fewer rows and what collapsed into each out.

A copy adds nothing to the score: it is the same text found twice, not a second opinion. Only rows of the query's own
lanes are looked at, so a corpus that the principal may not read is never named.
"""

from collections.abc import Iterable

from fanfuse_fuser.domain.rows import Identity, Polls, Row, first_vote_of, identity_of


def content_hash_of(row: Row, polls: Polls) -> str:
    """The hash that the first lane in the plan's order states; empty: none."""
    return first_vote_of(row, polls).hit.content_hash


def collapse(rows: Iterable[Row], polls: Polls) -> tuple[list[Row], dict[Identity, list[Row]]]:
    """The best row of each content hash stays; rows of other corpora with its hash are its copies, best first.

    Chunks of one corpus stay apart whatever their hashes, and so do chunks without a hash.
    """
    best: dict[str, Row] = {}
    copies: dict[Identity, list[Row]] = {}
    kept: list[Row] = []
    for row in rows:
        content_hash = content_hash_of(row, polls)
        first = best.setdefault(content_hash, row) if content_hash else row
        if first is row or first[2] == row[2]:
            kept.append(row)
        else:
            copies.setdefault(identity_of(first), []).append(row)
    return kept, copies
