"""Words of questions and of relation names, in a form in which `written_by` meets "who wrote".

In: a text or a relation's name. Out: roots, in order. English forms only: a word of another language is its own root,
so a question in it matches relations named in it letter by letter. It never guesses a meaning.
"""

import re
from collections.abc import Iterator
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
_ENDINGS: Final = (
    "ations", "ation", "ings", "ing", "ions", "ion", "ers", "ors", "er", "or", "ed", "es", "s", "e",
)  # fmt: skip
_LEAST_ROOT: Final = 3
_LEAST_SHARED: Final = 4
"""Letters of a root that another may end with: `screenwriter` ends with `writer`."""
_IRREGULAR: Final = {
    form: base
    for base, *forms in (
        row.split()
        for row in """bear born borne|become became|begin began begun|break broke broken|bring brought|build built
        buy bought|choose chose chosen|come came|die death dead|draw drew drawn|drive drove driven|fall fell fallen
        fight fought|fly flew flown|give gave given|grow grew grown|hold held|keep kept|know knew known|lead led
        leave left|lose lost|make made|marry marriage married|meet met|pay paid|rise rose risen|run ran|see saw seen
        seek sought|sell sold|send sent|sing sang sung song|speak spoke spoken|steal stole stolen|take took taken
        teach taught|tell told|think thought|wear wore worn|win won|write wrote written""".replace("\n", "|").split("|")
    )
    for form in forms
}
_SMALL: Final = frozenset(
    [
        "a",
        "about",
        "all",
        "also",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "being",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "him",
        "his",
        "how",
        "in",
        "is",
        "it",
        "its",
        "list",
        "me",
        "name",
        "of",
        "on",
        "or",
        "our",
        "she",
        "some",
        "than",
        "that",
        "the",
        "their",
        "them",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


def is_small(word: str) -> bool:
    """True for a word that no name and no relation is told by."""
    return len(word) < _LEAST_ROOT or word.casefold() in _SMALL


def words_of(text: str) -> Iterator[str]:
    """Runs of letters and digits, casefolded; an underscore separates."""
    yield from _WORD.findall(text.casefold())


def roots_of(text: str) -> tuple[str, ...]:
    """Roots of the words that are not small, in order; one may stand twice."""
    return tuple(root(word) for word in words_of(text) if not is_small(word))


def root(word: str) -> str:
    """`wrote`, `writers` and `writing` are `writ`; `directed` and `director` are `direct`."""
    word = _IRREGULAR.get(word, word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_ROOT:
            word = word.removesuffix(ending)
            break
    if len(word) > _LEAST_ROOT and word[-1] == word[-2]:
        return word[:-1]
    return word


def shared_roots(found: str) -> tuple[str, ...]:
    """The root and what a compound may end with, longest first: all that `found` means the same as."""
    return (found, *(found[start:] for start in range(1, len(found) - _LEAST_SHARED + 1)))


def same_root(asked: str, named: str) -> bool:
    """Whether a word of a question stands for a word of a relation's name."""
    return named in shared_roots(asked)
