"""Metadata whose fields keep their declared types, and filters that fit them: what the corpus-router lets through.

Out: strategies, and metadata that is the same in every run. Values sit where engines round or cut: 64-bit limits,
integers that no double holds, strings whose order by code point is not the order of UTF-16 units.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanfuse_contracts.chunks import MetadataValue
from fanfuse_contracts.corpus import FieldType
from fanfuse_contracts.filters import And, Filter, Leaf, Not, Or

FIELDS: Final[Mapping[str, FieldType]] = MappingProxyType(
    {
        "year": FieldType.INTEGER,
        "score": FieldType.FLOAT,
        "lang": FieldType.STRING,
        "tags": FieldType.STRINGS,
        "draft": FieldType.BOOLEAN,
    }
)
_INTEGERS = st.sampled_from((0, 1, -3, 2019, 2020, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)))
_FLOATS = st.sampled_from((0.0, -0.0, 0.5, 1.0, -3.25, 2019.5, float(2**53), 1e300, -1e300, 5e-324)) | _INTEGERS
_STRINGS = st.sampled_from(("", "a", "ab", "AB", "de", "É", "E\u0301", "x:y", "a*b", "a?b", "a\\b", "\uffff", "😀"))
_LISTS = st.lists(_STRINGS, max_size=3).map(tuple)
_VALUES: Final[Mapping[str, st.SearchStrategy[Any]]] = MappingProxyType(
    {"year": _INTEGERS, "score": _FLOATS, "lang": _STRINGS, "tags": _LISTS, "draft": st.booleans()}
)


def typed_metadata(count: int) -> list[dict[str, MetadataValue]]:
    """Metadata of `count` chunks; a field may be missing."""
    drawn: list[dict[str, MetadataValue]] = []

    @settings(max_examples=count, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.fixed_dictionaries({}, optional=dict(_VALUES)))
    def draw(metadata: dict[str, MetadataValue]) -> None:
        drawn.append(metadata)

    draw()
    return drawn


def _comparisons(field: str) -> st.SearchStrategy[Filter]:
    value = _VALUES[field]
    many = st.lists(value, min_size=1, max_size=4).map(tuple)
    return st.builds(Leaf, field=st.just(field), op=st.sampled_from(("eq", "ne")), value=value) | st.builds(
        Leaf, field=st.just(field), op=st.sampled_from(("in", "not_in")), value=many
    )


def _orders(field: str) -> st.SearchStrategy[Filter]:
    return st.builds(Leaf, field=st.just(field), op=st.sampled_from(("gt", "gte", "lt", "lte")), value=_VALUES[field])


_LEAVES: st.SearchStrategy[Filter] = st.one_of(
    *(_comparisons(field) for field in ("year", "score", "lang", "draft")),
    *(_orders(field) for field in ("year", "score", "lang")),
    st.builds(Leaf, field=st.sampled_from(("lang", "tags")), op=st.just("contains"), value=_STRINGS),
    st.builds(Leaf, field=st.sampled_from(tuple(FIELDS)), op=st.just("exists"), value=st.booleans()),
)


def _joined(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    several = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        several.map(lambda found: And(all_of=found)),
        several.map(lambda found: Or(any_of=found)),
        parts.map(lambda found: Not(negated=found)),
    )


TYPED_FILTERS: st.SearchStrategy[Filter] = st.recursive(_LEAVES, _joined, max_leaves=8)
"""Filters of every operator and nesting whose values fit their fields."""
