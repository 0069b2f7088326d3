"""The distinct values of one metadata field, and which of them satisfy a leaf of a filter: exactly, and by looking them
up instead of at each where the operator allows that.

In: values, then leaves. Out: runs of numbers of values. Integers and floats are one type and compare exactly; true is
not 1; a list equals no single value; strings compare by code point.
"""

import json
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from fanfuse_contracts.chunks import MetadataValue
from fanfuse_contracts.filters import Leaf, Op

Runs = tuple[tuple[int, int], ...]
"""Numbers as half-open ranges, ascending and apart."""

_NUMBERS: Final = 0
_STRINGS: Final = 1
_UNORDERED: Final = 2


@dataclass
class DistinctValues:
    """The values of one field, numbered in the order in which they were met; after `sort` in their own order."""

    numbers: dict[str, int] = field(default_factory=dict)
    values: list[MetadataValue] = field(default_factory=list)

    def number(self, value: MetadataValue) -> int:
        """The number of a value, a new one if it was not met before."""
        key = json.dumps(value)  # keeps 1, 1.0 and true apart, which are one dictionary key
        if key not in self.numbers:
            self.numbers[key] = len(self.values)
            self.values.append(value)
        return self.numbers[key]

    def sort(self) -> list[int]:
        """Number the values by their order: numbers, strings, whatever has none; the new number of every old one."""
        order = sorted(range(len(self.values)), key=lambda number: _place(self.values[number]))
        places = [0] * len(order)
        for new, old in enumerate(order):
            places[old] = new
        self.values = [self.values[old] for old in order]
        self.numbers = {key: places[old] for key, old in self.numbers.items()}
        return places

    def holding(self, leaf: Leaf) -> Runs:
        """The sorted values that satisfy a leaf; `ne` and `not_in` are read as `eq` and `in`."""
        match leaf.op:
            case Op.EQ | Op.NE:
                return self._equal_to((leaf.value,))
            case Op.IN | Op.NOT_IN:
                return self._equal_to(leaf.value if isinstance(leaf.value, tuple) else ())
            case Op.CONTAINS:
                return _runs(number for number, value in enumerate(self.values) if _contains(value, leaf.value))
            case _:
                return self._on_one_side(leaf.op, leaf.value)

    def _equal_to(self, wanted: Iterable[object]) -> Runs:
        keys = {json.dumps(twin) for one in wanted for twin in _twins(one)}
        return _runs(sorted(self.numbers[key] for key in keys if key in self.numbers))

    def _on_one_side(self, op: Op, wanted: Any) -> Runs:
        """Values below or above `wanted`, of its type; numbers as numbers, strings by code point."""
        kind = _kind(wanted)
        if kind == _UNORDERED:
            return ()
        cut = (bisect_left if op in (Op.LT, Op.GTE) else bisect_right)(self.values, (kind, wanted), key=_place)
        if op in (Op.LT, Op.LTE):
            start, stop = bisect_left(self.values, kind, key=_kind), cut
        else:
            start, stop = cut, bisect_right(self.values, kind, key=_kind)
        return ((start, stop),) if start < stop else ()


def _runs(ascending: Iterable[int]) -> Runs:
    runs: list[tuple[int, int]] = []
    for number in ascending:
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return tuple(runs)


def _kind(value: object) -> int:
    if _is_number(value) and value == value:
        return _NUMBERS
    return _STRINGS if isinstance(value, str) else _UNORDERED


def _place(value: object) -> tuple[int, Any]:
    kind = _kind(value)
    return kind, 0 if kind == _UNORDERED else value


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
