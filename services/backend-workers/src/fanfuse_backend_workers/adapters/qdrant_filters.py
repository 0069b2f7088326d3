"""Builds Qdrant's filter objects from a compiled filter, always inside tenant and corpus.

Every point bears marks: its tenant, its corpus, its fields and their values, in one payload field with one index.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from qdrant_edge import FieldCondition, Filter, MatchAny, MatchValue

from fanfuse_backend_workers.adapters.filter_values import (
    AllOf,
    AnyOf,
    Condition,
    HasField,
    HasValue,
    Negation,
)
from fanfuse_backend_workers.adapters.value_tokens import field_token, run_tokens

if TYPE_CHECKING:
    from qdrant_edge import ConditionType  # exists in its stub only

MARKS = "marks"
_NO_MARK = "-"


def marks(tenant: str, corpus: str, tokens: Iterable[str]) -> list[str]:
    """What a point bears; `tokens`: of its fields and values."""
    return [f"tenant:{tenant}", f"corpus:{corpus}", *tokens]


def search_filter(tenant: str, corpus: str, condition: Condition | None) -> Filter:
    """Points of one tenant's corpus for which `condition` holds."""
    required: list[ConditionType] = [
        _marked(f"tenant:{tenant}"),
        _marked(f"corpus:{corpus}"),
    ]
    return Filter(must=required if condition is None else [*required, _part(condition)])


def _part(condition: Condition) -> "ConditionType":
    match condition:
        case HasField(field):
            return _marked(field_token(field))
        case HasValue(field, runs, size):
            return FieldCondition(MARKS, match=MatchAny(list(run_tokens(field, runs, size))))
        case Negation(part):
            return Filter(must_not=[_part(part)])
        case AllOf(parts):
            return Filter(must=[_part(part) for part in parts])
        case AnyOf(parts):
            # An empty `should` holds for every point: "none of these" must be a condition that never holds.
            return Filter(should=[_part(part) for part in parts] or [_marked(_NO_MARK)])


def _marked(mark: str) -> FieldCondition:
    return FieldCondition(MARKS, match=MatchValue(mark))
