"""The status of an answer written a second time: a table of requirement and outcome, and the gravest word of all.

Imports nothing of Fanfuse. In: of each wired lane its requirement, its outcome and its corpora, and whether nothing but
time was lost. Out: `complete`, `partial`, `failed` or `expired`.
"""

from collections.abc import Sequence
from typing import NamedTuple

TABLE = {
    "answered": {"must": "fine", "should": "fine", "may": "fine"},
    "empty": {"must": "fine", "should": "fine", "may": "fine"},
    "cut": {"must": "gap", "should": "gap", "may": "fine"},
    "failed": {"must": "failure", "should": "gap", "may": "fine"},
    "late": {"must": "failure", "should": "gap", "may": "fine"},
    "not_waited": {"must": "fine", "should": "fine", "may": "fine"},
    "skipped_unhealthy": {"must": "failure", "should": "gap", "may": "fine"},
    "skipped_filter": {"must": "failure", "should": "gap unless the corpus answered", "may": "fine"},
    "skipped_no_input": {"must": "fine", "should": "fine", "may": "fine"},
}
GAVE_WHAT_IT_HAS = {"answered", "empty", "cut"}


class Wired(NamedTuple):
    requirement: str
    outcome: str
    corpora: tuple[str, ...]


def status(lanes: Sequence[Wired], *, only_time_was_lost: bool) -> str:
    words = {TABLE[lane.outcome][lane.requirement] for lane in lanes}
    answered = {corpus for lane in lanes if lane.outcome in GAVE_WHAT_IT_HAS for corpus in lane.corpora}
    if "failure" in words:
        return "failed"
    if not answered:
        return "expired" if only_time_was_lost else "failed"
    alone = any(
        lane.outcome == "skipped_filter" and lane.requirement == "should" and not answered & set(lane.corpora)
        for lane in lanes
    )
    return "partial" if "gap" in words or alone else "complete"
