"""What a corpus can be asked, and what it must not be asked: data on its capability card.

In: what an operator writes. Terms and expressions are matched by the classifier; the router decides.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from fanfuse_contracts.base import Written
from fanfuse_contracts.filters import FieldName
from fanfuse_contracts.tokens import Token

Terms = tuple[Annotated[str, Field(min_length=1, max_length=200)], ...]
"""Words or phrases, matched by token with word boundaries (substring in scripts written without spaces)."""


class Argument(Written):
    """Something a capability cannot do without, such as the id of a record."""

    name: Token
    description: Annotated[str, Field(max_length=500)] = ""
    """Told to the caller when it is missing."""
    field: FieldName | None = None
    """Given by a filter that fixes this field (`eq` or `in`)."""
    pattern: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """Given by the first match of this RE2 expression in the text."""

    @model_validator(mode="after")
    def _can_be_given(self) -> Self:
        if self.field is None and self.pattern is None:
            raise ValueError(f"argument {self.name!r} can never be given: state its field or its pattern")
        return self


class Capability(Written):
    """One thing a corpus can answer."""

    name: Token
    description: Annotated[str, Field(max_length=500)] = ""
    match_any: Annotated[Terms, Field(min_length=1, max_length=200)]
    """A query that holds one of these asks for this capability."""
    required: tuple[Argument, ...] = ()


class Topic(Written):
    """Something a corpus cannot confirm."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    match_any: Annotated[Terms, Field(min_length=1, max_length=200)]
