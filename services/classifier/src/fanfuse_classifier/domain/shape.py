"""`classify_shape`: is a query a list of keywords, a question or sentence, about named things, or a mix?

In: text, expansion terms, whether a HyDE vector exists. Out: a frozen `QueryShape` with the rule that decided. Same
input, same output; no input raises. It decides nothing about corpora or backends.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from fanfuse_classifier.domain import lexicon
from fanfuse_classifier.domain.identifiers import find_identifiers
from fanfuse_classifier.domain.reading import Reading, read
from fanfuse_classifier.domain.text import normalise
from fanfuse_classifier.domain.words import read_words
from fanfuse_contracts.classification import QueryShape
from fanfuse_contracts.enums import Shape
from fanfuse_contracts.query import QueryVector

MAX_FEATURES: Final = 64
"""Most identifiers, phrases or entities of one query; the first ones are kept."""

_FEW_WORDS: Final = 4.0
_SENTENCE_WORDS: Final = 5.0
_LONG: Final = 6.0
_SENTENCE_SHARE: Final = 0.25
_ENTITY_SHARE: Final = 0.5
_SENTENCE_ENDS: Final = (".", "!", "。", "।", "۔", "።", "။", "។")


class _Verdict(NamedTuple):
    shape: Shape
    reason: str


def classify_shape(
    text: str,
    expansion_terms: Sequence[str] = (),
    hyde_vector: QueryVector | Sequence[float] | None = None,
) -> QueryShape:
    """Shape and features of a query.

    `expansion_terms` are more words for the keyword side: their identifiers count as the text's own, and a question
    that brings as many terms as it has words of its own is MIXED. A `hyde_vector` is material for the vector side: a
    short keyword query that brings one is MIXED. Only its presence matters.
    """
    reading = read(text)
    shape, reason = _with_callers_material(_judge(reading), reading, expansion_terms, hyde_vector is not None)
    identifiers = [found.text for found in reading.identifiers]
    for term in expansion_terms:
        identifiers.extend(found.text for found in find_identifiers(normalise(term)))
    return QueryShape(
        shape=shape,
        reason=reason,
        identifiers=_first_distinct(identifiers),
        phrases=_first_distinct(phrase.text for phrase in reading.phrases),
        entities=_first_distinct(entity.text for entity in reading.entities),
        code_intent=reading.code_intent,
        scripts=tuple(reading.scripts),
        language=reading.language,
    )


def _first_distinct(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))[:MAX_FEATURES]


def _judge(reading: Reading) -> _Verdict:
    if not reading.words:
        return _Verdict(Shape.MIXED, "no_words")
    if reading.identifiers:
        return _judge_with_exact(reading, "identifier")
    if _names_fill_it(reading):
        return _Verdict(Shape.ENTITY_RICH, "names")
    if reading.phrases:
        return _judge_with_exact(reading, "phrase")
    if _asks(reading):
        return _Verdict(Shape.SEMANTIC, "question")
    if _is_one_name(reading):
        return _Verdict(Shape.ENTITY_RICH, "one_name")
    return _judge_unspaced(reading) if reading.unspaced else _judge_spaced(reading)


def _judge_with_exact(reading: Reading, what: str) -> _Verdict:
    """Exact material wants the keyword side; a question or sentence around it wants the vector side too."""
    if _asks(reading) and reading.rest:
        return _Verdict(Shape.MIXED, f"{what}_in_question")
    if _function_share(reading) >= _SENTENCE_SHARE and reading.rest_units >= _SENTENCE_WORDS:
        return _Verdict(Shape.MIXED, f"{what}_in_sentence")
    if reading.rest_units <= _FEW_WORDS:
        return _Verdict(Shape.KEYWORD_HEAVY, what)
    return _Verdict(Shape.MIXED, f"{what}_among_words")


def _judge_spaced(reading: Reading) -> _Verdict:
    count = len(reading.rest)
    if count >= _FEW_WORDS and reading.text.rstrip(" \n\"'”»").endswith(_SENTENCE_ENDS):
        return _Verdict(Shape.SEMANTIC, "sentence")
    if not lexicon.function_words(reading.language):
        return _judge_by_length(count)
    share = _function_share(reading)
    if share == 1.0:
        return _Verdict(Shape.MIXED, "function_words_only")
    if share == 0.0:
        return _Verdict(Shape.KEYWORD_HEAVY, "keywords")
    if count >= _SENTENCE_WORDS and share >= _SENTENCE_SHARE:
        return _Verdict(Shape.SEMANTIC, "sentence")
    return _Verdict(Shape.MIXED, "words_with_grammar")


def _judge_unspaced(reading: Reading) -> _Verdict:
    if reading.text.rstrip().endswith(_SENTENCE_ENDS) and reading.rest_units >= _FEW_WORDS:
        return _Verdict(Shape.SEMANTIC, "sentence")
    grammar = any(particle in reading.text for particle in lexicon.particles(reading.language))
    if reading.rest_units >= _LONG or (grammar and reading.rest_units >= _FEW_WORDS):
        return _Verdict(Shape.SEMANTIC, "sentence")
    if not grammar and reading.rest_units < _FEW_WORDS:
        return _Verdict(Shape.KEYWORD_HEAVY, "keywords")
    return _Verdict(Shape.MIXED, "words_with_grammar" if grammar else "some_words")


def _judge_by_length(count: int) -> _Verdict:
    if count >= _LONG:
        return _Verdict(Shape.SEMANTIC, "long")
    return _Verdict(Shape.MIXED, "some_words") if count >= _FEW_WORDS else _Verdict(Shape.KEYWORD_HEAVY, "few_words")


def _asks(reading: Reading) -> bool:
    """A question mark after words, an opening question word, or a marker of the language."""
    if not reading.rest:
        return False
    if reading.ends_as_question:
        return True
    folded = [word.folded for word in reading.rest]
    language = reading.language
    opens = reading.rest[0] is reading.words[0] and len(folded) > 1
    if opens and (folded[0] in lexicon.openers(language) or folded[0] in lexicon.openers("en")):
        return True
    if not lexicon.markers(language).isdisjoint(folded):
        return True
    padded = f" {' '.join(folded)} "
    if any(f" {phrase} " in padded for phrase in lexicon.question_phrases()):
        return True
    return any(part in padded for part in lexicon.question_parts(language))


def _function_share(reading: Reading) -> float:
    small = lexicon.function_words(reading.language)
    return sum(word.folded in small for word in reading.rest) / len(reading.rest) if reading.rest else 0.0


def _content_words(reading: Reading) -> float:
    small = lexicon.function_words(reading.language) | lexicon.openers(reading.language)
    return sum(word.units for word in reading.words if word.folded not in small)


def _names_fill_it(reading: Reading) -> bool:
    """Two names or more, acronyms aside, that make up at least half of the content words."""
    names = [entity.words for entity in reading.entities if not entity.is_acronym]
    return len(names) > 1 and sum(names) >= _ENTITY_SHARE * _content_words(reading)


def _is_one_name(reading: Reading) -> bool:
    """One name of several words, and nothing else."""
    return (
        len(reading.entities) == 1
        and reading.entities[0].words > 1
        and reading.entities[0].words >= _content_words(reading)
    )


def _with_callers_material(
    verdict: _Verdict, reading: Reading, expansion_terms: Sequence[str], has_hyde: bool
) -> _Verdict:
    if has_hyde and verdict.shape is Shape.KEYWORD_HEAVY and not (reading.identifiers or reading.phrases):
        return _Verdict(Shape.MIXED, f"{verdict.reason}_with_hyde_vector")
    if not has_hyde and verdict.shape is Shape.SEMANTIC:
        added = sum(word.units for term in expansion_terms for word in read_words(normalise(term)))
        if added and added >= _content_words(reading):
            return _Verdict(Shape.MIXED, f"{verdict.reason}_with_expansion_terms")
    return verdict
