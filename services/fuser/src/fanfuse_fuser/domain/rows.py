"""The rows that fusion sorts: plain tuples whose own order is the documented total order."""

from fanfuse_contracts.retrieval import LaneHit

Identity = tuple[str, str]
"""Corpus and chunk id; the tenant is the query's."""
Cast = list[tuple[int, int, LaneHit, float]]
"""Votes for one chunk: rank, position of the lane in the plan, hit, value; by position."""
Row = tuple[float, int, int, str, str, Cast]
"""Minus score, best rank, first lane that gave it, chunk id, corpus, votes."""


def identity_of(row: Row) -> Identity:
    """Whose row it is."""
    return row[4], row[3]
