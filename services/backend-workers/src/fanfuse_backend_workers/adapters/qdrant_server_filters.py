"""Compiles the filter language exactly for Qdrant, over what `qdrant_server_values` stores.

In: a filter. Out: a Qdrant filter that holds for exactly the points for which the filter does. What would not be exact
is refused, never approximated: the order of strings by a value of over 23 bytes. `contains` in a string takes a server
of version 1.20 or newer; an older one refuses it.
"""

import math
import sys
from collections.abc import Callable, Mapping
from typing import Final

from qdrant_client import models

from fanfuse_backend_workers.adapters.qdrant_server_values import (
    MARKS,
    MAX_ORDERED_BYTES,
    MISSED,
    NUMBER,
    ORDER,
    PART_BYTES,
    PARTS,
    RAW,
    list_mark,
    member_mark,
    missed_by,
    nearest_float,
    parts_of,
    utf8,
    value_mark,
)
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind
from fanfuse_contracts.filters import And, Filter, Leaf, Not, Op, Or

OPERATORS: Final = frozenset(Op)
_EXACT: Final = 2**53
_NEVER_BORNE: Final = "-"


def compiled(condition: Filter) -> models.Filter:
    """The Qdrant filter of a condition. Raises `SearchError(UNSUPPORTED_FILTER)` where it would not be exact."""
    match condition:
        case And(all_of=parts):
            return models.Filter(must=[compiled(part) for part in parts])
        case Or(any_of=parts):
            return models.Filter(should=[compiled(part) for part in parts])
        case Not(negated=part):
            return _none_of(compiled(part))
        case Leaf():
            return _LEAVES[condition.op](condition)


def _eq(leaf: Leaf) -> models.Filter:
    return _all_of(_bears(value_mark(leaf.field, leaf.value)))


def _in(leaf: Leaf) -> models.Filter:
    assert isinstance(leaf.value, tuple)
    return _all_of(_bears(*(value_mark(leaf.field, value) for value in leaf.value)))


def _exists(leaf: Leaf) -> models.Filter:
    has = _all_of(_bears(leaf.field))
    return has if leaf.value else _none_of(has)


def _contains(leaf: Leaf) -> models.Filter:
    if not isinstance(leaf.value, str):
        return _NEVER
    inside = models.FieldCondition(key=f"{RAW}.{leaf.field}", match=models.MatchSubstring(substring=leaf.value))
    # Qdrant looks into each string of a list: a list is asked for its members instead.
    in_string = models.Filter(must=[inside], must_not=[_bears(list_mark(leaf.field))])
    return models.Filter(should=[_bears(member_mark(leaf.field, leaf.value)), in_string])


def _ordered(leaf: Leaf) -> models.Filter:
    if isinstance(leaf.value, str):
        return _string_order(leaf.field, leaf.op, leaf.value)
    assert isinstance(leaf.value, int | float)
    return _number_order(leaf.field, leaf.op, leaf.value)


_LEAVES: Final[Mapping[Op, Callable[[Leaf], models.Filter]]] = {
    Op.EQ: _eq,
    Op.NE: lambda leaf: _none_of(_eq(leaf)),
    Op.IN: _in,
    Op.NOT_IN: lambda leaf: _none_of(_in(leaf)),
    Op.EXISTS: _exists,
    Op.CONTAINS: _contains,
    Op.LT: _ordered,
    Op.LTE: _ordered,
    Op.GT: _ordered,
    Op.GTE: _ordered,
}


def _string_order(field: str, op: Op, wanted: str) -> models.Filter:
    """By code point, which is the order of UTF-8 bytes: the first part that differs decides."""
    size = len(utf8(wanted))
    if size > MAX_ORDERED_BYTES:
        message = f"strings are ordered by values of at most {MAX_ORDERED_BYTES} bytes; one for {field!r} has {size}"
        raise SearchError(FailureKind.UNSUPPORTED_FILTER, message)
    deciding = size // PART_BYTES
    paths = [f"{ORDER}.{field}.{part}" for part in PARTS[: deciding + 1]]
    equal: list[models.FieldCondition] = []
    choices: list[models.Condition] = []
    for number, (path, part) in enumerate(zip(paths, parts_of(wanted), strict=False)):
        how = op if number == deciding else _strict(op)
        choices.append(_all_of(*equal, _compares(path, how, float(part))))
        equal.append(_compares(path, Op.EQ, float(part)))
    return models.Filter(should=choices)


def _number_order(field: str, op: Op, wanted: float) -> models.Filter:
    """Nearest floats decide, and where they are equal, what they miss of an integer."""
    path, nearest = f"{NUMBER}.{field}", nearest_float(wanted)
    if math.isnan(nearest):
        return _NEVER
    if math.isinf(nearest):
        return _all_of(_any_number(path)) if (nearest > 0) is (_strict(op) is Op.LT) else _NEVER
    if abs(nearest) < _EXACT:
        return _all_of(_compares(path, op, nearest))
    beyond = _compares(path, _strict(op), nearest)
    level = _all_of(_compares(path, Op.EQ, nearest), _missed(field, op, missed_by(wanted, nearest)))
    return models.Filter(should=[beyond, level])


def _missed(field: str, op: Op, wanted: int) -> models.Filter:
    path = f"{MISSED}.{field}"
    compares = _compares(path, op, float(wanted))
    if not _COMPARE[op](0, wanted):
        return _all_of(compares)
    return models.Filter(should=[compares, _none_of(_all_of(_any_number(path)))])


_COMPARE: Final[Mapping[Op, Callable[[int, int], bool]]] = {
    Op.LT: int.__lt__,
    Op.LTE: int.__le__,
    Op.GT: int.__gt__,
    Op.GTE: int.__ge__,
}


def _strict(op: Op) -> Op:
    return {Op.LTE: Op.LT, Op.GTE: Op.GT}.get(op, op)


def _compares(path: str, op: Op, value: float) -> models.FieldCondition:
    bounds = {"gte": value, "lte": value} if op is Op.EQ else {op.value: value}
    return models.FieldCondition(key=path, range=models.Range(**bounds))


def _any_number(path: str) -> models.FieldCondition:
    return models.FieldCondition(key=path, range=models.Range(gte=-sys.float_info.max, lte=sys.float_info.max))


def _bears(*marks: str) -> models.FieldCondition:
    found = models.MatchValue(value=marks[0]) if len(marks) == 1 else models.MatchAny(any=list(marks))
    return models.FieldCondition(key=MARKS, match=found)


def _all_of(*parts: models.FieldCondition | models.Filter) -> models.Filter:
    return models.Filter(must=list(parts))


def _none_of(part: models.Filter) -> models.Filter:
    return models.Filter(must_not=[part])


_NEVER: Final = _all_of(_bears(_NEVER_BORNE))
