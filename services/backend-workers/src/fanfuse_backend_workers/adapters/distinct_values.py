"""The distinct values of one metadata field, and which of them satisfy a leaf of a filter: exactly, and by looking them
up instead of at each where the operator allows that.

In: values, then leaves. Out: numbers of values. Integers and floats are one type and compare exactly; true is not 1; a
list equals no single value; strings compare by code point.
"""

import json
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from fanfuse_contracts.chunks import MetadataValue
from fanfuse_contracts.filters import Leaf, Op


@dataclass
class DistinctValues:
    """The values of one field, numbered in the order in which they were met."""

    numbers: dict[str, int] = field(default_factory=dict)
    values: list[MetadataValue] = field(default_factory=list)

    def number(self, value: MetadataValue) -> int:
        """The number of a value, a new one if it was not met before."""
        key = json.dumps(value)  # keeps 1, 1.0 and true apart, which are one dictionary key
        if key not in self.numbers:
            self.numbers[key] = len(self.values)
            self.values.append(value)
        return self.numbers[key]

    @cached_property
    def ordered(self) -> "Mapping[str, _Ordered]":
        """Numbers and strings, each in their order. Asked for when no value is added any more."""
        return {kind: _Ordered.of(self.values, kind) for kind in ("number", "str")}

    def holding(self, leaf: Leaf) -> tuple[int, ...]:
        """Numbers of the values that satisfy a leaf, sorted; `ne` and `not_in` are read as `eq` and `in`."""
        match leaf.op:
            case Op.EQ | Op.NE:
                return self._equal_to((leaf.value,))
            case Op.IN | Op.NOT_IN:
                return self._equal_to(leaf.value if isinstance(leaf.value, tuple) else ())
            case Op.CONTAINS:
                return tuple(number for number, value in enumerate(self.values) if _contains(value, leaf.value))
            case _:
                ordered = self.ordered.get(_type(leaf.value))
                return ordered.holding(leaf.op, leaf.value) if ordered else ()

    def _equal_to(self, wanted: Iterable[object]) -> tuple[int, ...]:
        keys = {json.dumps(twin) for one in wanted for twin in _twins(one)}
        return tuple(sorted(self.numbers[key] for key in keys if key in self.numbers))


@dataclass(frozen=True, slots=True)
class _Ordered:
    """Values of one type in their order, and their numbers."""

    values: list[Any]
    numbers: list[int]

    @classmethod
    def of(cls, values: list[MetadataValue], kind: str) -> Self:
        """Those of type `kind`; one that is not equal to itself has no place in an order."""
        found: list[tuple[Any, int]] = [
            (value, number) for number, value in enumerate(values) if _type(value) == kind and value == value
        ]
        found.sort()
        return cls([value for value, _ in found], [number for _, number in found])

    def holding(self, op: Op, wanted: Any) -> tuple[int, ...]:
        """Numbers of the values below or above `wanted`; numbers as numbers, strings by code point."""
        if wanted != wanted:
            return ()
        cut = (bisect_left if op in (Op.LT, Op.GTE) else bisect_right)(self.values, wanted)
        return tuple(sorted(self.numbers[:cut] if op in (Op.LT, Op.LTE) else self.numbers[cut:]))


def _contains(value: MetadataValue, wanted: object) -> bool:
    return isinstance(wanted, str) and isinstance(value, str | tuple) and wanted in value


def _twins(value: object) -> Iterator[object]:
    """Every value that is equal to this one and of its type; integers and floats are one type, true is not 1."""
    if not _is_number(value):
        yield value
        return
    number: Any = value
    if number == number:
        yield from (0, 0.0, -0.0) if number == 0 else (number, *_other_form(number))


def _other_form(number: int | float) -> Iterator[int | float]:
    if isinstance(number, float):
        if number.is_integer():
            yield int(number)
    elif abs(number) <= sys.float_info.max and float(number) == number:
        yield float(number)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _type(value: object) -> str:
    return "number" if _is_number(value) else type(value).__name__
