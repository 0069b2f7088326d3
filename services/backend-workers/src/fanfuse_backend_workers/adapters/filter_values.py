"""Compiles the filter language exactly for engines whose index never changes.

While indexing, every distinct metadata value of a field gets a number by its order, and engines store only numbers. A
leaf is decided over the distinct values, by looking them up where its operator allows that, and becomes "field 3 has a
value from 4 up to 7", which any engine tests exactly. It never approximates and never drops a condition.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from fanfuse_backend_workers.adapters.distinct_values import DistinctValues, Runs
from fanfuse_backend_workers.adapters.value_tokens import field_token, value_tokens
from fanfuse_contracts.chunks import MetadataValue
from fanfuse_contracts.filters import And, Filter, Leaf, Not, Op, Or

EXACT_OPERATORS = frozenset(Op)


@dataclass(frozen=True, slots=True)
class HasField:
    """The chunk has the field."""

    field: int


@dataclass(frozen=True, slots=True)
class HasValue:
    """The chunk has the field with a value of these runs, of which there is at least one."""

    field: int
    runs: Runs
    size: int
    """Distinct values of the field."""


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


Numbers = dict[int, int]
"""Field number → value number, of one chunk."""
Condition = HasField | HasValue | AllOf | AnyOf | Negation
NEVER = AnyOf(())


class FieldValues:
    """The fields and distinct values of one index: numbered as they are met, then sorted, then asked."""

    def __init__(self) -> None:
        self._fields: dict[str, tuple[int, DistinctValues]] = {}

    def number(self, metadata: Mapping[str, MetadataValue]) -> Numbers:
        """Field number → value number of one chunk, until the values are sorted."""
        return dict(self._number(*entry) for entry in metadata.items())

    def sort(self) -> "list[list[int]]":
        """Number every field's values by their order; field number → old number → new one, for the engine to store."""
        return [distinct.sort() for _, distinct in self._fields.values()]

    def tokens(self, numbers: Numbers) -> Iterator[str]:
        """What an engine of keyword fields stores for a chunk: one token per field, and its value's blocks."""
        sizes = [len(distinct.values) for _, distinct in self._fields.values()]
        for field, value in numbers.items():
            yield field_token(field)
            yield from value_tokens(field, value, sizes[field])

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
        runs = distinct.holding(leaf)
        return HasValue(field, runs, len(distinct.values)) if runs else NEVER

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
