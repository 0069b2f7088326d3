"""Builds Qdrant's filter objects from a compiled filter, always inside tenant and corpus."""

from typing import TYPE_CHECKING

from qdrant_edge import FieldCondition, Filter, MatchAny, MatchValue

from fanfuse_backend_workers.adapters.filter_values import (
    AllOf,
    AnyOf,
    Condition,
    HasField,
    HasValue,
    Negation,
    field_token,
    value_token,
)

if TYPE_CHECKING:
    from qdrant_edge import ConditionType  # exists in its stub only

_NO_TOKEN = "-"


def search_filter(tenant: str, corpus: str, condition: Condition | None) -> Filter:
    """Points of one tenant's corpus for which `condition` holds."""
    required: list[ConditionType] = [
        FieldCondition("tenant", match=MatchValue(tenant)),
        FieldCondition("corpus", match=MatchValue(corpus)),
    ]
    return Filter(must=required if condition is None else [*required, _part(condition)])


def _part(condition: Condition) -> "ConditionType":
    match condition:
        case HasField(field):
            return FieldCondition("values", match=MatchValue(field_token(field)))
        case HasValue(field, values):
            return FieldCondition("values", match=MatchAny([value_token(field, value) for value in values]))
        case Negation(part):
            return Filter(must_not=[_part(part)])
        case AllOf(parts):
            return Filter(must=[_part(part) for part in parts])
        case AnyOf(parts):
            # An empty `should` holds for every point: "none of these" must be a condition that never holds.
            return Filter(should=[_part(part) for part in parts] or [_never()])


def _never() -> FieldCondition:
    return FieldCondition("values", match=MatchValue(_NO_TOKEN))
