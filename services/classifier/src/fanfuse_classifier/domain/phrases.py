"""Quoted phrases.

In: a normalised text. Out: phrases without their quotes, with their places. Straight, typographic, French, German and
CJK quotes; an apostrophe inside a word is no quote.
"""

import re
from dataclasses import dataclass
from typing import Final

_QUOTED: Final = re.compile(
    r'"(?P<a>[^"\n]*)"'
    r"|“(?P<b>[^“”\n]+)[”“]"
    r"|„(?P<c>[^„“”\n]+)[“”]"
    r"|«(?P<d>[^«»\n]+)»"
    r"|»(?P<e>[^«»\n]+)«"
    r"|「(?P<f>[^「」\n]+)」"
    r"|『(?P<g>[^『』\n]+)』"
    r"|《(?P<h>[^《》\n]+)》"
    r"|(?<!\w)'(?P<i>[^'\n]+)'(?!\w)"
    r"|(?<!\w)‘(?P<j>[^‘’\n]+)’(?!\w)"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A quoted phrase; the span includes the quotes."""

    text: str
    start: int
    end: int


def find_phrases(text: str) -> tuple[Phrase, ...]:
    """Every quoted phrase that holds a letter or digit, in order; an empty pair of quotes uses up its quotes."""
    found: list[Phrase] = []
    for match in _QUOTED.finditer(text):
        inner = " ".join((match[match.lastgroup] if match.lastgroup else "").split())
        if any(map(str.isalnum, inner)):
            found.append(Phrase(inner, match.start(), match.end()))
    return tuple(found)
