"""Does a text ask about code?

In: a normalised text, its words and identifiers. Out: yes or no, by unambiguous names of languages and tools, symbols
and marks of code; words that people use elsewhere (class, function, java) don't count.
"""

import re
from collections.abc import Iterable
from typing import Final

from fanfuse_classifier.domain.identifiers import Identifier
from fanfuse_classifier.domain.lexicon import CODE_NAMES
from fanfuse_classifier.domain.words import Word

_MARKS: Final = re.compile(r"`|\w\(\)|::|->|=>|==|!=|&&|\|\||</|\{\}|\[\]|\bdef \w|^import \w|\bfrom \w+ import\b")


def asks_about_code(text: str, words: Iterable[Word], identifiers: Iterable[Identifier]) -> bool:
    """True if a symbol, a mark of code or the name of a language or tool is in the text."""
    return (
        any(identifier.symbol for identifier in identifiers)
        or any(word.folded in CODE_NAMES for word in words)
        or _MARKS.search(text) is not None
    )
