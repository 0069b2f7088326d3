"""The filter language: what a caller may ask of chunk metadata, and the digest a worker attests.

In: JSON such as `{"and": [{"field": "year", "op": "gte", "value": 2020}, {"not": {"field": "lang", "op": "eq",
"value": "de"}}]}`. Out: frozen models. A backend applies a filter exactly or answers `unsupported_filter`; nothing ever
drops one.
"""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, Final, Self

from pydantic import Discriminator, Field, StrictBool, StrictFloat, StrictInt, StrictStr, Tag, model_validator

from fanfuse_contracts import limits
from fanfuse_contracts.base import Guarded
from fanfuse_contracts.enums import ClosedSet


class Op(ClosedSet):
    """Comparison operators of a leaf."""

    EQ = "eq"
    NE = "ne"
    IN = "in"
    NOT_IN = "not_in"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    EXISTS = "exists"
    CONTAINS = "contains"


LIST_OPS = frozenset({Op.IN, Op.NOT_IN})
ORDER_OPS = frozenset({Op.GT, Op.GTE, Op.LT, Op.LTE})

_REMEMBERED: Final = 4_096
"""Corpora: router and worker each take the digest of every lane, and most queries state no filter."""

Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
FieldName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]


class Leaf(Guarded):
    """`field op value`. `in`/`not_in` take a list, `exists` a bool, ordered operators a number or a string.

    `contains`: the string field has the value as a substring (case-sensitive), or the list field has it as a member.
    `ne` and `not_in` also hold where the field is missing; every other operator does not. Integers and floats are one
    type, `true` is not 1, a list equals no scalar, strings order by code point, and values of different types are never
    equal nor ordered.
    """

    field: FieldName
    op: Op
    value: Scalar | Annotated[tuple[Scalar, ...], Field(min_length=1, max_length=256)]

    @model_validator(mode="after")
    def _value_fits_operator(self) -> Self:
        if (self.op in LIST_OPS) != isinstance(self.value, tuple):
            raise ValueError(f"operator {self.op.value!r} on {self.field!r} takes {_wanted(self.op)}")
        if self.op is Op.EXISTS and not isinstance(self.value, bool):
            raise ValueError(f"operator 'exists' on {self.field!r} takes true or false")
        if self.op in ORDER_OPS and isinstance(self.value, bool):
            raise ValueError(f"operator {self.op.value!r} on {self.field!r} takes a number or a string")
        return self


def _wanted(op: Op) -> str:
    return "a list of values" if op in LIST_OPS else "one value"


class And(Guarded):
    """Every part holds."""

    all_of: Annotated[tuple["Filter", ...], Field(alias="and", min_length=1)]


class Or(Guarded):
    """At least one part holds."""

    any_of: Annotated[tuple["Filter", ...], Field(alias="or", min_length=1)]


class Not(Guarded):
    """The part does not hold."""

    negated: Annotated["Filter", Field(alias="not")]


def _tag(value: Any) -> str | None:
    keys = value if isinstance(value, dict) else type(value).__name__.lower()
    return next((tag for tag in ("and", "or", "not") if tag in keys or keys == tag), "leaf")


Filter = Annotated[
    Annotated[Leaf, Tag("leaf")] | Annotated[And, Tag("and")] | Annotated[Or, Tag("or")] | Annotated[Not, Tag("not")],
    Discriminator(_tag),
]

And.model_rebuild()
Or.model_rebuild()
Not.model_rebuild()


def leaves(condition: Filter | None) -> Iterator[Leaf]:
    """Every leaf, in order."""
    match condition:
        case None:
            return
        case Leaf():
            yield condition
        case And(all_of=parts) | Or(any_of=parts):
            for part in parts:
                yield from leaves(part)
        case Not(negated=part):
            yield from leaves(part)


def depth(condition: Filter) -> int:
    """Levels of nesting; a leaf is 1."""
    match condition:
        case And(all_of=parts) | Or(any_of=parts):
            return 1 + max(depth(part) for part in parts)
        case Not(negated=part):
            return 1 + depth(part)
        case _:
            return 1


def check_size(condition: Filter | None) -> Filter | None:
    """Raise `ValueError` when a filter is over the limits of the contract."""
    if condition is None:
        return None
    if depth(condition) > limits.MAX_FILTER_DEPTH:
        raise ValueError(f"filter is nested deeper than {limits.MAX_FILTER_DEPTH} levels")
    if sum(1 for _ in leaves(condition)) > limits.MAX_FILTER_LEAVES:
        raise ValueError(f"filter has more than {limits.MAX_FILTER_LEAVES} conditions")
    return condition


def digest(tenant: str, corpus: str, condition: Filter | None) -> str:
    """What a worker attests to have applied: 16 hex digits over tenant, corpus and the filter's canonical JSON."""
    return digest_of(tenant, corpus, canonical(condition))


def canonical(condition: Filter | None) -> str:
    """The one JSON of a filter; empty without one."""
    return "" if condition is None else condition.model_dump_json(by_alias=True)


def digest_of(tenant: str, corpus: str, body: str) -> str:
    """`digest` of a filter by its canonical JSON, which is the same for every corpus of a query."""
    return _sha256_of(tenant, corpus, body) if body else _without_filter(tenant, corpus)


def _sha256_of(tenant: str, corpus: str, body: str) -> str:
    return hashlib.sha256(f"{tenant}\n{corpus}\n{body}".encode()).hexdigest()[:16]


@lru_cache(maxsize=_REMEMBERED)
def _without_filter(tenant: str, corpus: str) -> str:
    return _sha256_of(tenant, corpus, "")
