"""Surface forms of names: runs of capitalised words, quoted names, dotted symbols.

In: the readings of one text. Out: entities with their places, in order. The first word of a sentence is none only
because it is capitalised, and where everything is capitalised (a title, capitals only) capitals say nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from fanfuse_classifier.domain.identifiers import Identifier
from fanfuse_classifier.domain.lexicon import Words, function_words, openers, word_set
from fanfuse_classifier.domain.phrases import Phrase
from fanfuse_classifier.domain.words import Word, outside

_INSIDE_NAMES: Final = word_set("of the de da del della di du la le van von der den bin al el y")
_COORDINATORS: Final = word_set("and or vs versus und oder et ou y e o en och og и")
_ABBREVIATIONS: Final = word_set("dr mr mrs ms prof st jr sr no vs gen sen rep capt lt")
_SENTENCE_ENDS: Final = frozenset(".!?:;…。！？؟।\n")
_JOINING_GAPS: Final = frozenset(("", " ", "-", "'", "’", "&", " & "))
_MAX_QUOTED_WORDS: Final = 8
_TITLE_WORDS: Final = 4
# Nouns are capitalised in these languages, so a single capitalised word is no name.
_CAPITALISED_NOUNS: Final = frozenset(("de", "lb"))


@dataclass(frozen=True, slots=True)
class Entity:
    """A name as it stands in the text; `words` counts its words."""

    text: str
    start: int
    end: int
    words: int

    @property
    def is_acronym(self) -> bool:
        """Capitals only, one word: as often a term (RAG, CEO) as a name."""
        return self.words == 1 and self.text.isupper()


def find_entities(
    text: str,
    words: Sequence[Word],
    identifiers: Sequence[Identifier],
    phrases: Sequence[Phrase],
    language: str | None,
) -> tuple[Entity, ...]:
    """Every entity, in order of place; none overlaps another."""
    symbols = [Entity(i.text, i.start, i.end, 1) for i in identifiers if i.symbol]
    exact = {identifier.text for identifier in identifiers}
    quoted = [
        Entity(phrase.text, phrase.start, phrase.end, len(phrase.text.split()))
        for phrase in phrases
        if phrase.text not in exact and _is_quoted_name(phrase.text)
    ]
    named = _Names(text, outside(words, (*identifiers, *phrases)), language).find()
    return tuple(sorted((*symbols, *quoted, *named), key=lambda entity: entity.start))


def _is_quoted_name(phrase: str) -> bool:
    first = next((character for character in phrase if character.isalpha()), "")
    # A letter without case may well begin a name.
    return bool(first) and not first.islower() and len(phrase.split()) <= _MAX_QUOTED_WORDS


def _is_capitalised(word: Word) -> bool:
    return word.spaced and (word.text[0].isupper() or word.text[0].istitle())


def _is_acronym(word: Word) -> bool:
    return len(word.text) > 1 and word.text.isupper()


def _takes_full_stop(word: Word) -> bool:
    """Dr. and the letters of U.S. end no sentence."""
    return word.folded in _ABBREVIATIONS or len(word.text) == 1


class _Names:
    """Capitalised runs of one text."""

    def __init__(self, text: str, words: Sequence[Word], language: str | None) -> None:
        self._text = text
        self._words = words
        self._language = language
        self._small: Words = function_words(language) | openers(language)
        cased = [word for word in words if word.spaced and word.text.lower() != word.text.upper()]
        self._shouted = len(cased) > 1 and all(word.text.isupper() for word in cased)
        self._title = self._reads_as_title(cased)

    def _reads_as_title(self, cased: Sequence[Word]) -> bool:
        long = [word for word in cased if len(word.text) > 3]
        if len(cased) < _TITLE_WORDS or not long or not all(map(_is_capitalised, long)):
            return False
        small = [word for word in cased[1:] if word.folded in self._small and word.folded not in {"i", "the"}]
        content = sum(word.folded not in self._small for word in cased)
        return any(map(_is_capitalised, small)) or (content == len(cased) and content >= _TITLE_WORDS)

    def find(self) -> list[Entity]:
        """The entities among these words."""
        if self._shouted:
            return []
        if self._title:
            return [self._entity(place, place) for place, word in enumerate(self._words) if _is_acronym(word)]
        found: list[Entity] = []
        for first, last in self._runs():
            begin = self._without_small(first, last)
            if begin <= last and self._is_name(begin, last, first, bool(found)):
                found.append(self._entity(begin, last))
        return found

    def _runs(self) -> Iterator[tuple[int, int]]:
        place = 0
        while place < len(self._words):
            if not _is_capitalised(self._words[place]):
                place += 1
                continue
            last = self._run_end(place)
            yield place, last
            place = last + 1

    def _run_end(self, first: int) -> int:
        last = place = first
        while place + 1 < len(self._words) and self._joined(place):
            place += 1
            if _is_capitalised(self._words[place]):
                last = place
            elif self._words[place].folded not in _INSIDE_NAMES or place - last > 2:
                break
            elif last == first and _is_acronym(self._words[first]):
                return last
        return last

    def _joined(self, place: int) -> bool:
        word, following = self._words[place], self._words[place + 1]
        gap = self._text[word.end : following.start]
        return gap in _JOINING_GAPS or (gap in {".", ". "} and _takes_full_stop(word))

    def _without_small(self, first: int, last: int) -> int:
        while first <= last and self._words[first].folded in self._small and not _is_acronym(self._words[first]):
            first += 1
        return first

    def _is_name(self, begin: int, last: int, first: int, found_before: bool) -> bool:
        word = self._words[begin]
        if begin < last or _is_acronym(word):
            return True
        if self._language in _CAPITALISED_NOUNS:
            return False
        if begin != first or not self._opens_sentence(begin):
            return len(word.text) > 1
        return self._is_coordinated(last)

    def _opens_sentence(self, place: int) -> bool:
        if place == 0:
            return True
        gap = self._text[self._words[place - 1].end : self._words[place].start]
        if gap.strip() == "." and _takes_full_stop(self._words[place - 1]):
            return False
        return not _SENTENCE_ENDS.isdisjoint(gap)

    def _is_coordinated(self, place: int) -> bool:
        """Alice and Bob: what stands beside a name is one."""
        if place + 2 >= len(self._words):
            return False
        middle, other = self._words[place + 1], self._words[place + 2]
        return middle.folded in _COORDINATORS and _is_capitalised(other)

    def _entity(self, first: int, last: int) -> Entity:
        start, end = self._words[first].start, self._words[last].end
        if first < last and len(self._words[last].text) == 1 and self._text.startswith(".", end):
            end += 1
        return Entity(" ".join(self._text[start:end].split()), start, end, last - first + 1)
