"""Compiles the filter language exactly for engines whose index never changes.

While indexing, every distinct metadata value of a field gets a number, and engines store only numbers. A leaf is
decided over the distinct values, by looking them up where its operator allows that, and becomes "field 3 has value 0,
4 or 7", which any engine tests exactly. It never approximates and never drops a condition.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from fanfuse_backend_workers.adapters.distinct_values import DistinctValues
from fanfuse_contracts.chunks import MetadataValue
from fanfuse_contracts.filters import And, Filter, Leaf, Not, Op, Or

EXACT_OPERATORS = frozenset(Op)


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
        self._fields: dict[str, tuple[int, DistinctValues]] = {}

    def number(self, metadata: Mapping[str, MetadataValue]) -> dict[int, int]:
        """Field number → value number of one chunk, for the engine to store."""
        return dict(self._number(*entry) for entry in metadata.items())

    def _number(self, name: str, value: MetadataValue) -> tuple[int, int]:
        field, values = self._fields.setdefault(name, (len(self._fields), DistinctValues()))
        return field, values.number(value)

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
        field, distinct = self._fields[leaf.field]
        if leaf.op is Op.EXISTS:
            return HasField(field) if leaf.value else Negation(HasField(field))
        holds = distinct.holding(leaf)
        if 2 * len(holds) <= len(distinct.values):
            return HasValue(field, holds) if holds else NEVER
        fails = tuple(sorted(set(range(len(distinct.values))) - set(holds)))
        return AllOf((HasField(field), Negation(HasValue(field, fails)))) if fails else HasField(field)

    def save(self, path: Path) -> None:
        """Write the table beside the index."""
        path.write_text(json.dumps({name: known.values for name, (_, known) in self._fields.items()}))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a saved table."""
        table = cls()
        for name, values in json.loads(path.read_text()).items():
            for value in values:
                table._number(name, tuple(value) if isinstance(value, list) else value)
        return table


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
