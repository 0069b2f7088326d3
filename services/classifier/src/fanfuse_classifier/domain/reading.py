"""Everything one text says about itself, gathered once.

In: any string. Out: a `Reading`; no judgement of its shape.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from fanfuse_classifier.domain.code import asks_about_code
from fanfuse_classifier.domain.entities import Entity, find_entities
from fanfuse_classifier.domain.identifiers import Identifier, find_identifiers
from fanfuse_classifier.domain.language import detect_language
from fanfuse_classifier.domain.phrases import Phrase, find_phrases
from fanfuse_classifier.domain.scripts import count_scripts
from fanfuse_classifier.domain.text import normalise
from fanfuse_classifier.domain.words import Word, outside, read_words

_QUESTION_MARKS: Final = ("?", "؟", "՞", "⸮", "፧")


@dataclass(frozen=True)
class Reading:
    """The material of one text."""

    text: str
    """Normalised."""
    words: tuple[Word, ...]
    identifiers: tuple[Identifier, ...]
    phrases: tuple[Phrase, ...]
    entities: tuple[Entity, ...]
    scripts: Mapping[str, int]
    """Letters per script, most frequent first."""
    language: str | None
    code_intent: bool

    @cached_property
    def rest(self) -> tuple[Word, ...]:
        """Words outside identifiers and quoted phrases."""
        return outside(self.words, (*self.identifiers, *self.phrases))

    @cached_property
    def rest_units(self) -> float:
        """Length of the rest in words."""
        return sum(word.units for word in self.rest)

    @property
    def unspaced(self) -> bool:
        """True if most of the rest is written without blanks between words."""
        return 2 * sum(word.units for word in self.rest if not word.spaced) > self.rest_units

    @property
    def ends_as_question(self) -> bool:
        """True if a question mark ends the text, quotes and brackets aside."""
        return self.text.rstrip(" \n\"'”’»」』)]!").endswith(_QUESTION_MARKS)


def read(text: str) -> Reading:
    """Gather the features of a text."""
    text = normalise(text)
    words = read_words(text)
    identifiers = find_identifiers(text)
    phrases = find_phrases(text)
    scripts = count_scripts(text)
    language = _language(text, identifiers, scripts)
    return Reading(
        text=text,
        words=words,
        identifiers=identifiers,
        phrases=phrases,
        entities=find_entities(text, words, identifiers, phrases, language),
        scripts=scripts,
        language=language,
        code_intent=asks_about_code(text, words, identifiers),
    )


def _language(text: str, identifiers: Sequence[Identifier], scripts: Mapping[str, int]) -> str | None:
    if not identifiers:
        return detect_language(text, scripts)
    kept: list[str] = []
    place = 0
    for identifier in identifiers:
        kept.append(text[place : identifier.start])
        place = identifier.end
    prose = " ".join((*kept, text[place:]))
    return detect_language(prose, count_scripts(prose))
