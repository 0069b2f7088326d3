"""Compiles the filter language exactly for engines whose index never changes.

While indexing, every distinct metadata value of a field gets a number, and engines store only numbers. A leaf is
decided once per distinct value, whatever its operator, and becomes "field 3 has value 0, 4 or 7", which any engine
tests exactly. It never approximates and never drops a condition.
"""

import json
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fanfuse_contracts.chunks import MetadataValue
from fanfuse_contracts.filters import And, Filter, Leaf, Not, Op, Or

EXACT_OPERATORS = frozenset(Op)
_COMPARE: Mapping[Op, Callable[[Any, Any], bool]] = {
    Op.LT: operator.lt,
    Op.LTE: operator.le,
    Op.GT: operator.gt,
    Op.GTE: operator.ge,
}


@dataclass(frozen=True, slots=True)
class HasField:
    """The chunk has the field."""

    field: int


@dataclass(frozen=True, slots=True)
class HasValue:
    """The chunk has the field with one of these values; `values` is sorted and not empty."""

    field: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """All parts hold; without parts it is true."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A part holds; without parts it is false."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """The part does not hold."""

    part: "Condition"


Condition = HasField | HasValue | AllOf | AnyOf | Negation
NEVER = AnyOf(())


class FieldValues:
    """The fields and distinct values of one index, numbered in the order in which they were met."""

    def __init__(self) -> None:
        self._fields: dict[str, tuple[int, dict[str, int], list[MetadataValue]]] = {}

    def number(self, metadata: Mapping[str, MetadataValue]) -> dict[int, int]:
        """Field number → value number of one chunk, for the engine to store."""
        return dict(self._number(*entry) for entry in metadata.items())

    def _number(self, name: str, value: MetadataValue) -> tuple[int, int]:
        field, numbers, values = self._fields.setdefault(name, (len(self._fields), {}, []))
        key = json.dumps(value)  # keeps 1, 1.0 and true apart, which are one dictionary key
        if key not in numbers:
            numbers[key] = len(values)
            values.append(value)
        return field, numbers[key]

    def compile(self, condition: Filter) -> Condition:
        """The condition over numbers that holds for exactly the chunks for which `condition` holds."""
        match condition:
            case And(all_of=parts):
                return AllOf(tuple(self.compile(part) for part in parts))
            case Or(any_of=parts):
                return AnyOf(tuple(self.compile(part) for part in parts))
            case Not(negated=part):
                return Negation(self.compile(part))
            case Leaf(op=Op.NE | Op.NOT_IN):
                return Negation(self._compile_leaf(condition))
            case _:
                return self._compile_leaf(condition)

    def _compile_leaf(self, leaf: Leaf) -> Condition:
        if leaf.field not in self._fields:
            return AllOf(()) if leaf.op is Op.EXISTS and leaf.value is False else NEVER
        field, _, values = self._fields[leaf.field]
        if leaf.op is Op.EXISTS:
            return HasField(field) if leaf.value else Negation(HasField(field))
        holds = tuple(number for number, value in enumerate(values) if _holds(leaf, value))
        if 2 * len(holds) <= len(values):
            return HasValue(field, holds) if holds else NEVER
        fails = tuple(sorted(set(range(len(values))) - set(holds)))
        return AllOf((HasField(field), Negation(HasValue(field, fails)))) if fails else HasField(field)

    def save(self, path: Path) -> None:
        """Write the table beside the index."""
        path.write_text(json.dumps({name: values for name, (_, _, values) in self._fields.items()}))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a saved table."""
        table = cls()
        for name, values in json.loads(path.read_text()).items():
            for value in values:
                table._number(name, tuple(value) if isinstance(value, list) else value)
        return table


def _holds(leaf: Leaf, value: MetadataValue) -> bool:
    """Whether `ne` and `not_in`, read as `eq` and `in`, or any other operator hold for a value that is there."""
    match leaf.op:
        case Op.EQ | Op.NE:
            return _equal(value, leaf.value)
        case Op.IN | Op.NOT_IN:
            return isinstance(leaf.value, tuple) and any(_equal(value, member) for member in leaf.value)
        case Op.CONTAINS:
            return isinstance(leaf.value, str) and isinstance(value, str | tuple) and leaf.value in value
        case _:
            return _ordered(leaf.op, value, leaf.value)


def _equal(value: object, wanted: object) -> bool:
    """Equal and of one type; integers and floats are one type, true is not 1, a list equals no single value."""
    return _type(value) == _type(wanted) and value == wanted


def _ordered(op: Op, value: object, wanted: object) -> bool:
    """Numbers compare with numbers, strings with strings by code point; anything else does not hold."""
    if _type(value) != _type(wanted) or not (isinstance(value, str) or _is_number(value)):
        return False
    return _COMPARE[op](value, wanted)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _type(value: object) -> str:
    return "number" if _is_number(value) else type(value).__name__


def tokens(numbers: Mapping[int, int]) -> Iterator[str]:
    """What an engine of keyword fields stores for a chunk: one token per field and one per value."""
    for field, value in numbers.items():
        yield field_token(field)
        yield value_token(field, value)


def field_token(field: int) -> str:
    """Token of every chunk that has the field."""
    return str(field)


def value_token(field: int, value: int) -> str:
    """Token of every chunk that has this value in the field."""
    return f"{field}:{value}"
