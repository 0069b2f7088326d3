"""Compiles the filter language to the query DSL of Elasticsearch and OpenSearch, exactly.

A value is indexed under its own type: `m.<field>.i` integer, `.d` float, `.b` boolean, `.s` string, `.l` member of a
list, and the field's name in `fields`. So values of different types never meet, and nothing is converted. A field that
the index was not made for is refused.
"""

import math
from collections.abc import Collection, Iterator
from typing import Any, Final

from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind
from fanfuse_contracts.filters import And, Filter, Leaf, Not, Op, Or, Scalar

Query = dict[str, Any]
NEVER: Final[Query] = {"match_none": {}}
MIN_LONG: Final = -(2**63)
MAX_LONG: Final = 2**63 - 1
MAX_PATTERN_CHARS: Final = 256
"""A longer substring would need an automaton larger than servers allow."""
_WILD: Final = str.maketrans({"\\": "\\\\", "*": "\\*", "?": "\\?"})


def compile_filter(condition: Filter, fields: Collection[str]) -> Query:
    """A query that holds for exactly the chunks for which `condition` holds. Raises `SearchError`."""
    match condition:
        case And(all_of=parts):
            return {"bool": {"filter": [compile_filter(part, fields) for part in parts]}}
        case Or(any_of=parts):
            return any_of([compile_filter(part, fields) for part in parts])
        case Not(negated=part):
            return _negation(compile_filter(part, fields))
        case Leaf():
            return _leaf(condition, fields)


def any_of(parts: list[Query]) -> Query:
    """At least one part holds; without parts it is never true."""
    if len(parts) < 2:
        return parts[0] if parts else NEVER
    return {"bool": {"should": parts, "minimum_should_match": 1}}


def double_term(value: float) -> float:
    """The one form of a float in the index: engines keep -0.0 apart from 0.0."""
    return value + 0.0


def _leaf(leaf: Leaf, fields: Collection[str]) -> Query:
    if leaf.field not in fields:
        message = f"field {leaf.field!r} is not indexed for filtering here"
        raise SearchError(FailureKind.UNSUPPORTED_FILTER, message)
    at = f"m.{leaf.field}"
    match leaf.op:
        case Op.EXISTS:
            exists = {"term": {"fields": leaf.field}}
            return exists if leaf.value else _negation(exists)
        case Op.EQ | Op.IN:
            return any_of(list(_equal(at, _values(leaf))))
        case Op.NE | Op.NOT_IN:
            return _negation(any_of(list(_equal(at, _values(leaf)))))
        case Op.CONTAINS:
            return _contains(at, leaf.value)
        case _:
            return _ordered(at, leaf.op, leaf.value)


def _negation(part: Query) -> Query:
    return {"bool": {"must_not": [part]}}


def _values(leaf: Leaf) -> tuple[Scalar, ...]:
    return leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)


def _equal(at: str, values: tuple[Scalar, ...]) -> Iterator[Query]:
    terms: dict[str, list[Scalar]] = {}
    for value in values:
        for kind, term in _terms(value):
            terms.setdefault(kind, []).append(term)
    for kind, wanted in terms.items():
        yield {"terms": {f"{at}.{kind}": wanted}}


def _terms(value: Scalar) -> Iterator[tuple[str, Scalar]]:
    """The indexed terms that equal a value: an integer may stand in the index as a float, and the other way."""
    match value:
        case bool():
            yield "b", value
        case str():
            yield "s", value
        case int() | float():
            if MIN_LONG <= value <= MAX_LONG and value == math.floor(value):
                yield "i", math.floor(value)
            if (near := _nearest(value)) == value:
                yield "d", double_term(near)


def _contains(at: str, value: object) -> Query:
    if not isinstance(value, str):
        return NEVER
    if len(value) > MAX_PATTERN_CHARS:
        message = f"'contains' takes at most {MAX_PATTERN_CHARS} characters here"
        raise SearchError(FailureKind.UNSUPPORTED_FILTER, message)
    inside = {"wildcard": {f"{at}.s": {"value": f"*{value.translate(_WILD)}*"}}}
    return any_of([inside, {"term": {f"{at}.l": value}}])


def _ordered(at: str, op: Op, value: object) -> Query:
    if isinstance(value, str):
        return {"range": {f"{at}.s": {op.value: value}}}
    if not isinstance(value, int | float):
        return NEVER
    return any_of([part for part in (_longs(at, op, value), _doubles(at, op, value)) if part != NEVER])


def _longs(at: str, op: Op, value: float) -> Query:
    """Integers on the right side of any number: the bound becomes the first integer on that side."""
    if op in (Op.GT, Op.GTE):
        least = math.floor(value) + 1 if op is Op.GT else math.ceil(value)
        return NEVER if least > MAX_LONG else {"range": {f"{at}.i": {"gte": max(least, MIN_LONG)}}}
    most = math.ceil(value) - 1 if op is Op.LT else math.floor(value)
    return NEVER if most < MIN_LONG else {"range": {f"{at}.i": {"lte": min(most, MAX_LONG)}}}


def _doubles(at: str, op: Op, value: float) -> Query:
    """Floats on the right side of any number. No float lies between an integer and the float nearest to it."""
    near = _nearest(value)
    upward = op in (Op.GT, Op.GTE)
    if math.isinf(near):
        return {"exists": {"field": f"{at}.d"}} if upward is (near < 0) else NEVER
    if near == value:
        bound = op.value
    else:
        included = near > value if upward else near < value
        bound = ("gt" if upward else "lt") + ("e" if included else "")
    return {"range": {f"{at}.d": {bound: double_term(near)}}}


def _nearest(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
