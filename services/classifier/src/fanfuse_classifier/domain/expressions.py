"""Regular expressions that an operator writes: RE2, so that matching takes linear time for any text.

In: an expression as written. Out: a compiled one, or `InvalidExpressionError` with the reason. Linear time alone is no
bound: a small expression such as `a{1000}` becomes a large program, so the size of the program is bounded too.
"""

from collections.abc import Sequence
from typing import Final

import re2

from fanfuse_classifier.domain.text import normalise

MAX_INSTRUCTIONS: Final = 2_000
"""Of the compiled program; the longest text of a query takes at most about this many × 8,192 steps of some 15 ns."""
_MAX_MEMORY: Final = 1 << 20
"""Bytes for one program and its states; what needs more is refused while it is compiled."""


class InvalidExpressionError(ValueError):
    """The expression is not RE2, or would be too costly; the message says which."""


class Expression:
    """A compiled expression, case-sensitive unless it says `(?i)`."""

    __slots__ = ("_compiled", "written")

    def __init__(self, written: str) -> None:
        """Raises `InvalidExpressionError`."""
        self.written = written
        try:
            self._compiled = re2.compile(normalise(written), _options())
        except re2.error as error:
            raise InvalidExpressionError(f"{_shown(written)} is not valid RE2: {_reason(error)}") from error
        size = self._compiled.programsize
        if size > MAX_INSTRUCTIONS:
            raise InvalidExpressionError(
                f"{_shown(written)} is too costly: {size} instructions, at most {MAX_INSTRUCTIONS} are allowed; "
                "repeat less, or list words in match_any"
            )

    def matches(self, text: str) -> bool:
        """True if a part of the normalised text matches."""
        return self._compiled.search(text) is not None


class AnyOf:
    """Several expressions at once: one look at a text tells whether it is worth asking each of them."""

    __slots__ = ("_joined",)

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self._joined = _joined(expressions)

    def may_match(self, text: str) -> bool:
        """False only if none of the expressions matches; always true where they are too large together."""
        return self._joined is None or self._joined.matches(text)


def _joined(expressions: Sequence[Expression]) -> Expression | None:
    if any(r"\Q" in one.written for one in expressions):  # a quotation may reach to the end, and over what follows
        return None
    try:
        return Expression("|".join(f"(?:{one.written})" for one in expressions))
    except InvalidExpressionError:  # each is valid: only their sum can be too costly
        return None


def _options() -> "re2.Options":
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MAX_MEMORY
    return options


def _reason(error: "re2.error") -> str:
    reason = error.args[0] if error.args else error
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


def _shown(written: str) -> str:
    return repr(written if len(written) <= 80 else f"{written[:77]}...")
