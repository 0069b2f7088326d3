"""Metadata as Neo4j stores it, and filters over that, compiled exactly.

In: metadata, a filter. Out: properties, a predicate and its parameters. Every field name and value is a parameter.
Equality is tested on marks (field, type and value in one string), order on numbers and on the hexadecimal digits of
UTF-8, whose order is that of code points. An integer that no 64 bits and no float hold is refused.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.chunks import MetadataValue
from fanfuse_contracts.enums import FailureKind
from fanfuse_contracts.filters import And, Filter, Leaf, Not, Op, Or

OPERATORS: Final = frozenset(Op)
_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SIGN: Final = {Op.LT: "<", Op.LTE: "<=", Op.GT: ">", Op.GTE: ">="}
_INTEGERS: Final = range(-(2**63), 2**63)
Parameters = dict[str, Any]


def properties_of(metadata: Mapping[str, MetadataValue]) -> Parameters:
    """Properties of a chunk. A field whose name no filter can have is left out."""
    marks: list[str] = []
    found: Parameters = {"marks": marks}
    for field, value in metadata.items():
        if not _FIELD.fullmatch(field):
            continue
        marks.append(field)
        if isinstance(value, tuple):
            marks += [_mark(field, "member", member) for member in dict.fromkeys(value)]
            continue
        marks.append(_value_mark(field, value))
        if isinstance(value, str):
            found |= {f"text_{field}": value, f"order_{field}": _digits(value)}
        elif not isinstance(value, bool):
            found[f"number_{field}"] = _number(value, FailureKind.BAD_REQUEST)
    return found


def predicate(condition: Filter, parameters: Parameters) -> str:
    """A predicate over `c`, never null, that holds for exactly the chunks for which `condition` does."""
    match condition:
        case And(all_of=parts):
            return f"({' AND '.join(predicate(part, parameters) for part in parts)})"
        case Or(any_of=parts):
            return f"({' OR '.join(predicate(part, parameters) for part in parts)})"
        case Not(negated=part):
            return f"(NOT {predicate(part, parameters)})"
        case Leaf(op=Op.EXISTS):
            return _any_mark([condition.field], parameters, negated=not condition.value)
        case Leaf(op=Op.EQ | Op.NE | Op.IN | Op.NOT_IN, value=value):
            values = value if isinstance(value, tuple) else (value,)
            marks = [_value_mark(condition.field, one) for one in values]
            return _any_mark(marks, parameters, negated=condition.op in (Op.NE, Op.NOT_IN))
        case Leaf(op=Op.CONTAINS, value=value):
            if not isinstance(value, str):
                return "false"
            member = _any_mark([_mark(condition.field, "member", value)], parameters)
            return f"({member} OR {_compared(f'text_{condition.field}', 'CONTAINS', value, parameters)})"
        case Leaf(value=str(value)):
            return _compared(f"order_{condition.field}", _SIGN[condition.op], _digits(value), parameters)
        case Leaf(value=value):
            assert isinstance(value, int | float), "the contract refuses lists and booleans here"
            number = _number(value, FailureKind.UNSUPPORTED_FILTER)
            return _compared(f"number_{condition.field}", _SIGN[condition.op], number, parameters)


def _any_mark(marks: list[str], parameters: Parameters, *, negated: bool = False) -> str:
    name = _named(marks, parameters)
    found = f"any(mark IN c.marks WHERE mark IN ${name})"
    return f"(NOT {found})" if negated else found


def _compared(field: str, sign: str, value: object, parameters: Parameters) -> str:
    name, wanted = _named(field, parameters), _named(value, parameters)
    return f"coalesce(c[${name}] {sign} ${wanted}, false)"


def _named(value: object, parameters: Parameters) -> str:
    name = f"filter{len(parameters):d}"
    parameters[name] = value
    return name


def _value_mark(field: str, value: object) -> str:
    match value:
        case bool():
            return _mark(field, "bool", str(value))
        case int():
            return _mark(field, "number", str(value))
        case float():
            return _mark(field, "number", str(int(value)) if value.is_integer() else repr(value))
        case _:
            return _mark(field, "text", str(value))


def _mark(field: str, kind: str, value: str) -> str:
    return f"{field}\x1f{kind}\x1f{value}"


def _digits(value: str) -> str:
    return value.encode("utf-8", "surrogatepass").hex()


def _number(value: int | float, refusal: FailureKind) -> float:
    if isinstance(value, float):
        return value + 0.0  # Neo4j orders -0.0 before 0.0, and they are one number
    if value in _INTEGERS:
        return value
    try:
        nearest = float(value)
    except OverflowError:
        nearest = 0.0
    if nearest != value:
        raise SearchError(refusal, "an integer beyond 64 bits can not be compared exactly here")
    return nearest
