"""Surface forms of names: runs of capitalised words, quoted names, titles of works, names marked by a word beside them.

In: the readings of one text. Out: entities with their places, in order. The first word of a sentence is none only
because it is capitalised, and where everything is capitalised (a title, capitals only) capitals say nothing. Lower-case
words are none: without a list of names nothing tells.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from fanfuse_classifier.domain import name_words as marks
from fanfuse_classifier.domain.entity import Entity
from fanfuse_classifier.domain.identifiers import Identifier
from fanfuse_classifier.domain.language import is_caseless
from fanfuse_classifier.domain.lexicon import small_words
from fanfuse_classifier.domain.marked_names import find_marked_names
from fanfuse_classifier.domain.phrases import Phrase
from fanfuse_classifier.domain.words import Word, outside

_SENTENCE_ENDS: Final = frozenset(".!?:;…。！？؟।\n")
_JOINING_GAPS: Final = frozenset(("", " ", "-", "'", "’", "&", " & "))
_LEGAL_GAPS: Final = frozenset((", ", "., ", ". ", " "))
_LIST_SIGNS: Final = frozenset(",;/&、،")
_MAX_QUOTED_WORDS: Final = 8
_TITLE_WORDS: Final = 4
# Nouns are capitalised in these languages, so a single capitalised word is no name.
_CAPITALISED_NOUNS: Final = frozenset(("de", "lb"))
# How German makes nouns: by these endings, or by putting words together.
_NOUN_DE: Final = re.compile(r"\w{3,}(?:ung|heit|keit|schaft|tion|tät|ismus|ment|nis|enz)(?:s\w+|en|e)?|\w{12,}")


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
    quoted = [_quoted(phrase, language) for phrase in phrases if phrase.text not in exact and _is_name(phrase)]
    free = outside(words, (*identifiers, *phrases)) if identifiers or phrases else words
    capitalised = _Names(text, free, language).find()
    marked = find_marked_names(text, free, language)
    return tuple(_without_overlap(sorted((*symbols, *quoted, *capitalised, *marked), key=lambda entity: entity.start)))


def _without_overlap(entities: Sequence[Entity]) -> Iterator[Entity]:
    end = 0
    for entity in entities:
        if entity.start >= end:
            end = entity.end
            yield entity


def _is_name(phrase: Phrase) -> bool:
    first = next((character for character in phrase.text if character.isalpha()), "")
    # A letter without case may well begin a name.
    return bool(first) and not first.islower() and len(phrase.text.split()) <= _MAX_QUOTED_WORDS and phrase.mark != "`"


def _quoted(phrase: Phrase, language: str | None) -> Entity:
    """A work in title marks is a name; a law in them is a text to be found by its words."""
    title = phrase.is_title(language) and not phrase.text.endswith(marks.STATUTES_ZH)
    words = len(phrase.text) / 2 if title and is_caseless(language) else len(phrase.text.split())
    return Entity(phrase.text, phrase.start, phrase.end, words, marked=title, quoted=True)


def _is_capitalised(word: Word) -> bool:
    return word.spaced and (word.text[0].isupper() or word.text[0].istitle())


def _is_acronym(word: Word) -> bool:
    return len(word.text) > 1 and word.text.isupper()


def _takes_full_stop(word: Word) -> bool:
    """Dr. and the letters of U.S. end no sentence."""
    return word.folded in marks.ADDRESSES or len(word.text) == 1 or word.folded in {"no", "vs"}


class _Names:
    """Capitalised runs of one text."""

    def __init__(self, text: str, words: Sequence[Word], language: str | None) -> None:
        self._text = text
        self._words = words
        self._caseless = is_caseless(language)
        self._capitalises_nouns = language in _CAPITALISED_NOUNS
        self._small = small_words(language)

    def find(self) -> list[Entity]:
        """The entities among these words."""
        cased = [word for word in self._words if word.spaced and word.text.lower() != word.text.upper()]
        if not any(map(_is_capitalised, cased)) or (len(cased) > 1 and all(word.text.isupper() for word in cased)):
            return []
        if self._reads_as_title(cased):
            return [self._entity(place, place) for place, word in enumerate(self._words) if _is_acronym(word)]
        self._bare = self._capitalises_nouns and self._small.isdisjoint(word.folded for word in cased)
        found: list[Entity] = []
        for first, last in self._runs():
            begin = self._without_small(first, last)
            if begin <= last and self._is_name(begin, last, first):
                found.append(self._entity(begin, last))
        return found

    def _reads_as_title(self, cased: Sequence[Word]) -> bool:
        content = [word for word in cased if word.folded not in self._small]
        if self._caseless or len(cased) < _TITLE_WORDS or not content or not all(map(_is_capitalised, content)):
            return False
        if any(map(self._is_raised, cased[1:])):
            return True
        return len(content) == len(cased) and len(content) >= _TITLE_WORDS and not self._lists_names()

    def _is_raised(self, word: Word) -> bool:
        """Nobody writes From or Your so, except in a title."""
        return word.folded in self._small and word.folded != "the" and len(word.text) > 1 and _is_capitalised(word)

    def _lists_names(self) -> bool:
        """Commas, initials and legal forms stand between and in names, not in a title."""
        return any(
            not _LIST_SIGNS.isdisjoint(self._gap_behind(place))
            or word.folded in marks.LEGAL_FORMS
            or self._is_initial(place)
            for place, word in enumerate(self._words)
        )

    def _is_initial(self, place: int) -> bool:
        word = self._words[place]
        return len(word.text) == 1 and word.text.isupper() and self._text.startswith(".", word.end)

    def _gap_behind(self, place: int) -> str:
        return self._text[self._words[place].end : self._words[place + 1].start] if place + 1 < len(self._words) else ""

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
            elif self._words[place].folded not in marks.INSIDE_NAMES or place - last > 2:
                break
            elif last == first and _is_acronym(self._words[first]):
                return last
        return last

    def _joined(self, place: int) -> bool:
        gap = self._gap_behind(place)
        if gap in _JOINING_GAPS or (gap in {".", ". "} and _takes_full_stop(self._words[place])):
            return True
        return gap in _LEGAL_GAPS and self._words[place + 1].folded in marks.LEGAL_FORMS

    def _without_small(self, first: int, last: int) -> int:
        while first <= last and self._words[first].folded in self._small:
            if _is_acronym(self._words[first]) or self._is_initial(first):
                break
            first += 1
        return first

    def _is_name(self, begin: int, last: int, first: int) -> bool:
        word = self._words[begin]
        if begin < last:
            return not self._bare or not any(_NOUN_DE.fullmatch(word.folded) for word in self._words[begin : last + 1])
        if _is_acronym(word):
            return True
        if self._capitalises_nouns:
            return False
        if begin != first or not self._opens_sentence(begin):
            return len(word.text) > 1
        return self._beside_name(last)

    def _opens_sentence(self, place: int) -> bool:
        if self._caseless:
            return False
        if place == 0:
            return True
        gap = self._gap_behind(place - 1)
        if gap.strip() == "." and _takes_full_stop(self._words[place - 1]):
            return False
        return not _SENTENCE_ENDS.isdisjoint(gap)

    def _beside_name(self, place: int) -> bool:
        """Alice and Bob: what stands beside a name is one."""
        return self._is_beside(place, 1) or self._is_beside(place, -1)

    def _is_beside(self, place: int, step: int) -> bool:
        middle, other = place + step, place + 2 * step
        if not 0 <= min(middle, other) <= max(middle, other) < len(self._words):
            return False
        name = self._words[other]
        return self._words[middle].folded in marks.COORDINATORS and _is_capitalised(name) and not _is_acronym(name)

    def _entity(self, first: int, last: int) -> Entity:
        start, end = self._words[first].start, self._words[last].end
        if first < last and len(self._words[last].text) == 1 and self._text.startswith(".", end):
            end += 1
        beside = first == last and _is_acronym(self._words[first]) and self._beside_name(first)
        return Entity(" ".join(self._text[start:end].split()), start, end, last - first + 1, beside_name=beside)
