"""What a trained scorer sees of a query: named features, the same while fitting and while answering.

In: a text and its expansion terms. Out: per block the features with their counts or shares, all readable in a profile.
It knows no corpus and no weight. A change of what is read here raises `FORMAT_VERSION` in profile.py: weights fitted on
other features would mislead.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain, pairwise
from typing import Final

from fanfuse_classifier.domain.scripts import UNSPACED, count_scripts
from fanfuse_classifier.domain.text import fold, normalise

MAX_CHARS: Final = 1_024
"""Characters of the text, and of all expansion terms together, that are read; the rest changes no score."""
MAX_GRAM: Final = 4
"""Longest run of characters that is a feature."""

_LENGTHS: Final = (1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 50)
_TOKEN: Final = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+|[^\w\s]")
_UNSPACED: Final = re.compile(f"[{UNSPACED}]")


class Block(StrEnum):
    """A family of features; each is brought to its length by itself. Blocks of counts come first."""

    GRAM = "gram"
    """Runs of one to four characters of the folded text, blanks included: parts of words, endings, pairs of words,
    Chinese characters."""
    WORD = "word"
    """Words of the folded text; a script without blanks between words has none."""
    FORM = "form"
    """How it is written, not what it says: length, first word, last mark, capitals, digits, and their order."""
    SCRIPT = "script"
    """Share of each script among the letters."""


Features = Mapping[Block, Mapping[str, float]]
"""Block → feature → how often it occurs (GRAM, WORD), or its share or 1.0 (FORM, SCRIPT)."""

COUNTED: Final = frozenset((Block.GRAM, Block.WORD))
"""Blocks of counts: rare features weigh more in them, and repeating one adds little."""


def read_features(text: str, expansion_terms: Sequence[str] = ()) -> Features:
    """The features of a query. Expansion terms add grams and words; form and script are those of the text alone."""
    readable = normalise(text[:MAX_CHARS])
    folded = [_folded(readable), *(_folded(normalise(term)) for term in _bounded(expansion_terms))]
    tokens = _TOKEN.findall(readable)
    return {
        Block.GRAM: Counter(chain.from_iterable(chain.from_iterable(map(_grams, folded)))),
        Block.WORD: Counter(word for one in folded for word in _TOKEN.findall(one) if _is_word(word)),
        Block.FORM: _form(tokens),
        Block.SCRIPT: _script(readable),
    }


def _bounded(terms: Sequence[str]) -> Iterator[str]:
    left = MAX_CHARS
    for term in terms:
        if left <= 0:
            return
        yield term[:left]
        left -= len(term)


def _folded(text: str) -> str:
    return " ".join(fold(text).split())


def _grams(folded: str) -> Iterator[Iterable[str]]:
    """No gram for an empty text; the edges of a text count as blanks."""
    padded = f" {folded} " if folded else ""
    shifted = [padded[start:] for start in range(MAX_GRAM)]
    yield padded
    for length in range(2, MAX_GRAM + 1):
        yield map("".join, zip(*shifted[:length], strict=False))


def _is_word(token: str) -> bool:
    return (token[0].isalnum() or token[0] == "_") and not _UNSPACED.match(token)


def _form(tokens: Sequence[str]) -> dict[str, float]:
    if not tokens:
        return {}
    units = sum(len(token) / 2 if _UNSPACED.match(token) else 1.0 for token in tokens if token[0].isalnum())
    forms = [_form_of(token) for token in tokens]
    found = {f"words>={least}": 1.0 for least in _LENGTHS if units >= least}
    found |= {f"first={fold(tokens[0])}": 1.0, f"opens={forms[0]}": 1.0, f"ends={forms[-1]}": 1.0}
    found |= {f"share={form}": count / len(forms) for form, count in Counter(forms).items()}
    edged = ["^", *forms, "$"]
    found |= {f"pair={one} {two}": 1.0 for one, two in pairwise(edged)}
    triples = zip(edged[:-2], edged[1:-1], edged[2:], strict=True)
    return found | {f"triple={one} {two} {three}": 1.0 for one, two, three in triples}


def _form_of(token: str) -> str:
    """`x` lower, `Xx` capitalised, `XX` capitals, `X` one capital, `xX` mixed, `9` digits, `x9` with digits, `_` joined
    by underscores, `o` letters without case, else the mark itself."""
    if not token[0].isalnum() and token[0] != "_":
        return token
    if token.isdigit():
        return "9"
    if "_" in token:
        return "_"
    if any(map(str.isdigit, token)):
        return "x9"
    if token.islower():
        return "x"
    if token.isupper():
        return "XX" if len(token) > 1 else "X"
    if not any(map(str.isupper, token)):
        return "o"
    return "Xx" if token.istitle() else "xX"


def _script(text: str) -> dict[str, float]:
    letters = count_scripts(text)
    total = sum(letters.values())
    return {script: count / total for script, count in letters.items()}
