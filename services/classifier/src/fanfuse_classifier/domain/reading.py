"""Everything one text says about itself, gathered once.

In: any string. Out: a `Reading`; no judgement of its shape.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from fanfuse_classifier.domain.code import asks_about_code, holds_code, without_log
from fanfuse_classifier.domain.entities import find_entities
from fanfuse_classifier.domain.entity import Entity
from fanfuse_classifier.domain.identifiers import Identifier, find_identifiers
from fanfuse_classifier.domain.language import detect_language
from fanfuse_classifier.domain.phrases import Phrase, find_phrases
from fanfuse_classifier.domain.scripts import count_scripts
from fanfuse_classifier.domain.words import Word, outside, read_text

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
    holds_code: bool
    """True if a piece of a program, a query or a shell command is in the text."""
    code_intent: bool

    @cached_property
    def rest(self) -> tuple[Word, ...]:
        """Words outside identifiers and quoted phrases."""
        if not self.identifiers and not self.phrases:
            return self.words
        return outside(self.words, (*self.identifiers, *self.phrases))

    @cached_property
    def rest_units(self) -> float:
        """Length of the rest in words."""
        return sum(word.units for word in self.rest)

    @cached_property
    def folded_rest(self) -> tuple[str, ...]:
        """The words of the rest, folded."""
        return tuple(word.folded for word in self.rest)

    @property
    def unspaced(self) -> bool:
        """True if most of the rest is written without blanks between words."""
        return 2 * sum(word.units for word in self.rest if not word.spaced) > self.rest_units

    @property
    def without_log(self) -> str | None:
        """The text without its log lines and stack traces; None for a text without any."""
        return without_log(self.text)

    @property
    def ends_as_question(self) -> bool:
        """True if a question mark ends the text, quotes and brackets aside, or opens it in Spanish."""
        return self.text.rstrip(" \n\"'”»」』)]!").endswith(_QUESTION_MARKS) or "¿" in self.text


def read(text: str) -> Reading:
    """Gather the features of a text."""
    text, words = read_text(text)
    identifiers = find_identifiers(text)
    phrases = find_phrases(text)
    scripts = count_scripts(text)
    language = _language(text, words, identifiers, scripts)
    code = holds_code(text)
    return Reading(
        text=text,
        words=words,
        identifiers=identifiers,
        phrases=phrases,
        entities=find_entities(text, words, identifiers, phrases, language),
        scripts=scripts,
        language=language,
        holds_code=code,
        code_intent=code or asks_about_code(words, identifiers),
    )


def _language(
    text: str, words: Sequence[Word], identifiers: Sequence[Identifier], scripts: Mapping[str, int]
) -> str | None:
    if not identifiers:
        return detect_language(text, words, scripts)
    kept: list[str] = []
    place = 0
    for identifier in identifiers:
        kept.append(text[place : identifier.start])
        place = identifier.end
    prose = " ".join((*kept, text[place:]))
    return detect_language(prose, outside(words, identifiers), count_scripts(prose))
