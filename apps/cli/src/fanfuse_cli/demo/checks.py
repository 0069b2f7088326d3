"""What must hold at a step of the demonstration. A step that does not hold ends it with one plain line."""

from collections.abc import Collection

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Kind, LaneOutcome, Status

_WITH_HITS = frozenset({LaneOutcome.ANSWERED, LaneOutcome.CUT})


class DemoFailed(Exception):
    """A step went wrong; the message says which and how."""


def check(holds: bool, what: str) -> None:
    """Raise `DemoFailed` unless `holds`."""
    if not holds:
        raise DemoFailed(what)


def check_complete(answer: Answer, what: str) -> None:
    """A complete answer with hits, to which every kind of backend that was asked replied."""
    found = f"{answer.status.value} with {len(answer.hits)} hits"
    check(answer.status is Status.COMPLETE and bool(answer.hits), f"{what}: expected a complete answer, got {found}")
    check(not answer.bm25_fallback, f"{what}: expected no fallback")


def check_finds(answer: Answer, expected: Collection[str], what: str) -> None:
    """At least one of the expected ids is among the hits."""
    found = [hit.chunk_id for hit in answer.hits]
    check(bool(set(found) & set(expected)), f"{what}: expected one of {', '.join(expected)}, found {', '.join(found)}")


def kinds_with_hits(answer: Answer) -> frozenset[Kind]:
    """Kinds of which some lane gave hits; an empty reply proves nothing of its engine."""
    return frozenset(lane.kind for lane in answer.coverage.lanes if lane.outcome in _WITH_HITS)
