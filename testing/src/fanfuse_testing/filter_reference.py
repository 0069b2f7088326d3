"""The meaning of the filter language, written as plainly as possible: what every engine is compared with.

In: a filter and the metadata of one chunk. Out: whether the filter holds. It shares no code with any engine.
"""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from fanfuse_contracts.chunks import MetadataValue
from fanfuse_contracts.filters import And, Filter, Leaf, Not, Or

Metadata = Mapping[str, MetadataValue]


def holds(condition: Filter, metadata: Metadata) -> bool:
    """Whether `condition` holds for a chunk with this metadata."""
    if isinstance(condition, And):
        return all(holds(part, metadata) for part in condition.all_of)
    if isinstance(condition, Or):
        return any(holds(part, metadata) for part in condition.any_of)
    if isinstance(condition, Not):
        return not holds(condition.negated, metadata)
    present = condition.field in metadata
    value: Any = metadata.get(condition.field)
    wanted: Any = condition.value
    match condition.op:
        case "exists":
            return present is wanted
        case "eq" | "ne":
            return (present and _same(value, wanted)) is (condition.op == "eq")
        case "in" | "not_in":
            return (present and any(_same(value, one) for one in wanted)) is (condition.op == "in")
        case "contains":
            return isinstance(wanted, str) and isinstance(value, str | tuple) and wanted in value
    if not present or _family(value) != _family(wanted) or _family(value) not in ("number", "str"):
        return False
    outcomes = {"gt": value > wanted, "gte": value >= wanted, "lt": value < wanted, "lte": value <= wanted}
    return bool(outcomes[condition.op])


def _same(value: object, wanted: object) -> bool:
    return _family(value) == _family(wanted) and value == wanted


def _family(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if number else type(value).__name__


FIELDS = ("year", "lang", "tags", "score", "draft", "mixed")
SCALARS = st.sampled_from(
    (0, 1, -3, 2019, 2020, 2**53 + 1, 0.0, 1.0, 2019.5, 1e300, True, False, "", "a", "ab", "de", "en", "É", "1", "2019")
)
_STRINGS = st.sampled_from(("", "a", "ab", "de", "e", "É", "x:y", "1"))

_VALUES: st.SearchStrategy[Any] = SCALARS | st.lists(_STRINGS, max_size=3).map(tuple)
METADATA: st.SearchStrategy[dict[str, MetadataValue]] = st.dictionaries(
    st.sampled_from(FIELDS), _VALUES, max_size=len(FIELDS)
)
"""Metadata with fields that come and go and change their type: the worst an engine may meet."""


def _leaves() -> st.SearchStrategy[Filter]:
    field = st.sampled_from((*FIELDS, "unknown"))
    many = st.lists(SCALARS, min_size=1, max_size=4).map(tuple)
    ordered = SCALARS.filter(lambda value: not isinstance(value, bool))
    return st.one_of(
        st.builds(Leaf, field=field, op=st.sampled_from(("eq", "ne")), value=SCALARS),
        st.builds(Leaf, field=field, op=st.sampled_from(("in", "not_in")), value=many),
        st.builds(Leaf, field=field, op=st.sampled_from(("gt", "gte", "lt", "lte")), value=ordered),
        st.builds(Leaf, field=field, op=st.just("exists"), value=st.booleans()),
        st.builds(Leaf, field=field, op=st.just("contains"), value=_STRINGS | SCALARS),
    )


def _joined(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    several = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        several.map(lambda found: And(all_of=found)),
        several.map(lambda found: Or(any_of=found)),
        parts.map(lambda found: Not(negated=found)),
    )


FILTERS: st.SearchStrategy[Filter] = st.recursive(_leaves(), _joined, max_leaves=8)
"""Filters of every operator and nesting, most of which hold for some metadata of `METADATA`."""
