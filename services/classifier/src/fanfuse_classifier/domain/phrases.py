"""Quoted phrases.

In: a normalised text. Out: phrases without their quotes, with their places. Straight, typographic, French, German,
Swedish and CJK quotes, and the backticks of code; an apostrophe inside a word and the sign of inches are no quotes.
"""

import re
from typing import Final, NamedTuple

_PAIRS: Final = "“” ““ „“ „” ”” ‟” ‚‘ ‹› ›‹ «» »« 「」 『』 《》 〈〉 〝〞 ﹁﹂ ﹃﹄"
_TITLE_MARKS: Final = frozenset("《〈")
_CORNERS: Final = "『"


def _between(pair: str) -> str:
    return rf"{pair[0]}[^{pair}\n]+{pair[1]}"


_QUOTED: Final = re.compile(
    r'(?<!\d)"[^"\n]*"'
    + "".join(f"|{_between(pair)}" for pair in _PAIRS.split())
    + r"|`[^`\n]+`"
    + r"|(?<!\w)'[^'\n]+'(?!\w)"
    + r"|(?<!\w)‘[^‘’\n]+’(?!\w)"
)
_ANY_QUOTE: Final = re.compile("[\"'`‘" + "".join(sorted({pair[0] for pair in _PAIRS.split()})) + "]")


class Phrase(NamedTuple):
    """A quoted phrase; the span includes the quotes."""

    text: str
    start: int
    end: int
    mark: str
    """The opening quote."""

    def is_title(self, language: str | None) -> bool:
        """True within the marks that Chinese and Japanese keep for titles of works."""
        return self.mark in _TITLE_MARKS or (self.mark == _CORNERS and language == "ja")


def find_phrases(text: str) -> tuple[Phrase, ...]:
    """Every quoted phrase that holds a letter or digit, in order; an empty pair of quotes uses up its quotes."""
    if not _ANY_QUOTE.search(text):
        return ()
    found: list[Phrase] = []
    for match in _QUOTED.finditer(text):
        inner = " ".join(match[0][1:-1].split())
        if any(map(str.isalnum, inner)):
            found.append(Phrase(inner, *match.span(), match[0][0]))
    return tuple(found)
