"""Can a backend apply a filter exactly?

In: a corpus's card, one of its wirings and a filter's conditions. Out: None if each can be enforced, else the first
problem with its field, operator and what is possible. A filter is never relaxed.
"""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from fanfuse_contracts.corpus import CorpusCard, FieldType, Wiring
from fanfuse_contracts.filters import ORDER_OPS, And, Filter, Leaf, Op, Scalar

_EQUALITY: Final = frozenset({Op.EQ, Op.NE, Op.IN, Op.NOT_IN})

OPERATORS: Final = MappingProxyType(
    {
        FieldType.STRING: _EQUALITY | ORDER_OPS | {Op.CONTAINS, Op.EXISTS},
        FieldType.INTEGER: _EQUALITY | ORDER_OPS | {Op.EXISTS},
        FieldType.FLOAT: _EQUALITY | ORDER_OPS | {Op.EXISTS},
        FieldType.BOOLEAN: _EQUALITY | {Op.EXISTS},
        FieldType.STRINGS: frozenset({Op.CONTAINS, Op.EXISTS}),
    }
)
"""Operators that mean something for a field of a type."""

_I64: Final = 2**63
_VALUES: Final = MappingProxyType(
    {
        FieldType.STRING: "a string",
        FieldType.INTEGER: "a 64-bit integer",
        FieldType.FLOAT: "a number",
        FieldType.BOOLEAN: "true or false",
        FieldType.STRINGS: "a string",
    }
)


def filter_problem(card: CorpusCard, wiring: Wiring, conditions: Sequence[Leaf]) -> str | None:
    """None if `wiring` enforces every leaf of the filter on this corpus, else why not."""
    for leaf in conditions:
        if (problem := _leaf_problem(card, wiring, leaf)) is not None:
            return problem
    return None


def fixed_fields(condition: Filter | None) -> frozenset[str]:
    """Fields that every match must have with one of the stated values: `eq` and `in`, alone or joined by `and`."""
    match condition:
        case Leaf(op=Op.EQ | Op.IN):
            return frozenset({condition.field})
        case And(all_of=parts):
            return frozenset().union(*(fixed_fields(part) for part in parts))
        case _:
            return frozenset()


def _leaf_problem(card: CorpusCard, wiring: Wiring, leaf: Leaf) -> str | None:
    kind = card.fields.get(leaf.field)
    if kind is None:
        fields = ", ".join(f"{name} ({type_.value})" for name, type_ in sorted(card.fields.items()))
        return f"field {leaf.field!r} is not filterable in corpus {card.corpus!r}; possible: {fields or 'no field'}"
    if leaf.op not in OPERATORS[kind]:
        return f"operator {leaf.op.value!r} does not fit {kind.value} field {leaf.field!r}; possible: {_names(kind)}"
    if leaf.op not in wiring.operators:
        return (
            f"operator {leaf.op.value!r} on {leaf.field!r} cannot be applied by {wiring.kind.value}/{wiring.backend} "
            f"in corpus {card.corpus!r}; possible: {_names(kind, wiring)}"
        )
    if not _value_fits(kind, leaf):
        return f"{kind.value} field {leaf.field!r} takes {_VALUES[kind]} with operator {leaf.op.value!r}"
    return None


def _names(kind: FieldType, wiring: Wiring | None = None) -> str:
    possible = OPERATORS[kind] if wiring is None else OPERATORS[kind] & wiring.operators
    return ", ".join(sorted(op.value for op in possible)) or "no operator"


def _value_fits(kind: FieldType, leaf: Leaf) -> bool:
    if leaf.op is Op.EXISTS:
        return True
    values = leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)
    return all(_scalar_fits(kind, value) for value in values)


def _scalar_fits(kind: FieldType, value: Scalar) -> bool:
    match kind:
        case FieldType.STRING | FieldType.STRINGS:
            return isinstance(value, str)
        case FieldType.BOOLEAN:
            return isinstance(value, bool)
        case FieldType.INTEGER:
            return isinstance(value, int) and not isinstance(value, bool) and -_I64 <= value < _I64
        case FieldType.FLOAT:
            return isinstance(value, int | float) and not isinstance(value, bool)
