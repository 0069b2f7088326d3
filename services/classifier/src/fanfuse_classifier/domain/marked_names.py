"""Names in scripts without capitals, where a word beside them marks them: 王芳教授, 北京大学, 山田さん, 김철수 씨.

In: a normalised text, its words outside identifiers and quotes, its language. Out: entities, which may overlap. What
nothing marks is no name. Every pattern reads a bounded stretch from each place.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from fanfuse_classifier.domain import name_words as marks
from fanfuse_classifier.domain.entity import Entity
from fanfuse_classifier.domain.lexicon import small_words
from fanfuse_classifier.domain.scripts import HAN
from fanfuse_classifier.domain.words import Word

_KATAKANA: Final = "\u30a1-\u30fa\u30fc-\u30ff"
_MAX_WORDS_BEHIND: Final = 3


_STEM_ZH: Final = rf"(?:(?![的和与與及在是了把被去到要]|有(?!限))[{HAN}])"
"""A character that may stand in a name: no particle, no light verb."""
_SEGMENT_ZH: Final = re.compile(f"{_STEM_ZH}+")
_DOTTED_ZH: Final = re.compile(
    rf"(?:{'|'.join(marks.OFFICES_ZH)})?(?P<name>{_STEM_ZH}{{1,8}}(?:[·•‧・]{_STEM_ZH}{{1,8}})+)"
)
_FAMILY_ZH: Final = f"(?:{'|'.join(marks.DOUBLE_FAMILY_NAMES_ZH)}|[{marks.FAMILY_NAMES_ZH}])"
_ADDRESSED_ZH: Final = re.compile(
    rf"(?P<name>{_FAMILY_ZH}[{HAN}]{{1,2}})(?:{'|'.join(marks.ADDRESSES_ZH)})"
    rf"|(?P<short>{_FAMILY_ZH}(?:{'|'.join(marks.ADDRESSES_ZH)}))"
)
_IN_OFFICE_ZH: Final = re.compile(rf"(?:{'|'.join(marks.OFFICES_ZH)})(?P<name>{_FAMILY_ZH}[{HAN}]{{1,2}})$")
_ORGANISATION_ZH: Final = re.compile(rf"(?P<name>(?P<stem>[{HAN}]{{2,12}})(?:{'|'.join(marks.ORGANISATIONS_ZH)}))")
_KIND_ZH: Final = re.compile(rf"(?:{'|'.join(marks.WHICH_ZH)}).*|(?:{'|'.join(marks.KINDS_ZH)})+")

_ADDRESSED_JA: Final = re.compile(
    rf"(?P<name>[{HAN}]{{2,6}}|[{_KATAKANA}・]{{2,14}})(?:{'|'.join(marks.ADDRESSES_JA)})(?![{HAN}])"
)
_ORGANISATION_JA: Final = re.compile(
    rf"(?P<stem>[{HAN}{_KATAKANA}]{{2,14}})(?:{'|'.join(marks.ORGANISATIONS_JA)})|株式会社[{HAN}{_KATAKANA}]{{2,14}}"
)
_KIND_JA: Final = re.compile(f"(?:{'|'.join(marks.KINDS_JA)})+")

_PARTICLE_KO: Final = f"(?:{'|'.join(marks.PARTICLES_KO)})?"
_ORGANISATION_KO: Final = re.compile(
    rf"(?P<name>(?P<stem>[가-힣]{{2,10}})(?:{'|'.join(marks.ORGANISATIONS_KO)})){_PARTICLE_KO}"
)
_PERSON_KO: Final = re.compile(rf"[{marks.FAMILY_NAMES_KO}][가-힣]{{1,3}}")
_ADDRESS_KO: Final = re.compile(rf"(?:{'|'.join(marks.ADDRESSES_KO)}){_PARTICLE_KO}")
_ADDRESSED_KO: Final = re.compile(
    rf"(?P<name>[{marks.FAMILY_NAMES_KO}][가-힣]{{2}})(?:{'|'.join(marks.ADDRESSES_KO)}){_PARTICLE_KO}"
)
_KIND_KO: Final = re.compile(f"(?:{'|'.join(marks.KINDS_KO)})+")


def find_marked_names(text: str, words: Sequence[Word], language: str | None) -> list[Entity]:
    """The marked names of a text in Chinese, Japanese, Korean, Arabic, Persian, Hebrew or Hindi."""
    if language == "zh":
        return _in_chinese(text, words)
    if language == "ja":
        return [entity for word in words if not word.spaced for entity in _in_japanese(word)]
    if language == "ko":
        return list(_in_korean(words))
    if language in marks.ADDRESSES_BEFORE:
        return list(_behind_their_mark(text, words, language))
    return []


def _cut(match: re.Match[str], group: str | int, offset: int) -> Entity:
    start, end = match.span(group)
    return Entity(match[group], offset + start, offset + end, (end - start) / 2, marked=True)


def _in_chinese(text: str, words: Sequence[Word]) -> list[Entity]:
    runs = [word for word in words if not word.spaced]
    starts = {word.start + place for word in runs for place in range(len(word.text))}
    found = [_cut(match, "name", 0) for match in _DOTTED_ZH.finditer(text) if match.start("name") in starts]
    for word in runs:
        for segment in _SEGMENT_ZH.finditer(word.text):
            found.extend(_in_segment(segment[0], word.start + segment.start()))
    return found


def _in_segment(segment: str, offset: int) -> Iterator[Entity]:
    place = 0
    for match in _ADDRESSED_ZH.finditer(segment):
        yield _cut(match, "name" if match["name"] else "short", offset)
        place = match.end()
    if person := _IN_OFFICE_ZH.search(segment, place):
        yield _cut(person, "name", offset)
        return
    house = _ORGANISATION_ZH.match(segment, place)
    if house and not _KIND_ZH.fullmatch(house["stem"]):
        yield _cut(house, "name", offset)


def _in_japanese(word: Word) -> Iterator[Entity]:
    for match in _ADDRESSED_JA.finditer(word.text):
        name = match["name"]
        if name[-1] not in marks.COMMON_ENDS_JA and not _KIND_JA.fullmatch(name):
            yield _cut(match, "name", word.start)
    for match in _ORGANISATION_JA.finditer(word.text):
        if not match["stem"] or not _KIND_JA.fullmatch(match["stem"]):
            yield _cut(match, 0, word.start)


def _in_korean(words: Sequence[Word]) -> Iterator[Entity]:
    for place, word in enumerate(words):
        following = words[place + 1].text if place + 1 < len(words) else ""
        if _PERSON_KO.fullmatch(word.text) and _ADDRESS_KO.fullmatch(following):
            yield Entity(word.text, word.start, word.end, 1, marked=True)
        elif name := _person_ko(word.text) or _organisation_ko(word.text):
            yield Entity(name, word.start, word.start + len(name), 1, marked=True)


def _person_ko(word: str) -> str | None:
    match = _ADDRESSED_KO.fullmatch(word)
    return match["name"] if match and match["name"] not in marks.ADDRESSES_KO else None


def _organisation_ko(word: str) -> str | None:
    match = _ORGANISATION_KO.fullmatch(word)
    return match["name"] if match and not _KIND_KO.fullmatch(match["stem"]) else None


def _behind_their_mark(text: str, words: Sequence[Word], language: str) -> Iterator[Entity]:
    people = marks.ADDRESSES_BEFORE[language]
    houses = marks.ORGANISATIONS_BEFORE.get(language, frozenset())
    small, kinds = small_words(language), marks.KINDS_AFTER.get(language, frozenset())
    place = 0
    while place < len(words):
        head = _without_and(words[place], language)
        length = 0
        if head.folded in people or head.folded in houses:
            limit = _MAX_WORDS_BEHIND if head.folded in people else 1
            length = _reach(words, place, limit, small | houses | kinds, language)
        if length:
            end = words[place + length].end
            yield Entity(" ".join(text[head.start : end].split()), head.start, end, length + 1, marked=True)
        place += length + 1


def _reach(words: Sequence[Word], head: int, limit: int, stops: frozenset[str], language: str) -> int:
    """How many words behind a mark belong to the name."""
    length = 0
    for word in words[head + 1 : head + 1 + limit]:
        if word.folded in stops or _without_and(word, language).folded in stops:
            break
        length += 1
    return length


def _without_and(word: Word, language: str) -> Word:
    """Arabic writes "and" as the first letter of the word behind it."""
    if language != "ar" or len(word.text) <= 3 or word.text[0] != marks.AND_AR:
        return word
    return word._replace(text=word.text[1:], folded=word.folded[1:], start=word.start + 1)
