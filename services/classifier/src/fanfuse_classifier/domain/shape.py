"""`classify_shape`: is a query a list of keywords, a question or sentence, about named things, or a mix?

In: text, expansion terms, whether a HyDE vector exists. Out: a frozen `QueryShape` with the rule that decided. Same
input, same output; no input raises. It decides nothing about corpora or backends.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from fanfuse_classifier.domain import lexicon, questions
from fanfuse_classifier.domain.code import opens_with_code
from fanfuse_classifier.domain.identifiers import find_identifiers
from fanfuse_classifier.domain.lexicon import CODE_NAMES
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
_SENTENCE_CONTENT: Final = 4.0
_LONG: Final = 6.0
_LONG_RUN: Final = 8.0
_CLAUSE_UNITS: Final = 3.0
_SENTENCE_SHARE: Final = 0.25
_ENTITY_SHARE: Final = 0.5
_FACT_SHARE: Final = 1 / 3
_SENTENCE_ENDS: Final = (".", "!", "。", "।", "۔", "።", "။", "។")
_CLAUSE_BREAKS: Final = re.compile("[,;。!]")


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
    return QueryShape.of_checked(
        {
            "shape": shape,
            "reason": reason,
            "identifiers": _first_distinct(identifiers),
            "phrases": _first_distinct([phrase.text for phrase in reading.phrases]),
            "entities": _first_distinct([entity.text for entity in reading.entities]),
            "code_intent": reading.code_intent,
            "scripts": tuple(reading.scripts),
            "language": reading.language,
        }
    )


def _first_distinct(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))[:MAX_FEATURES]


def _judge(reading: Reading) -> _Verdict:
    if not reading.words:
        return _Verdict(Shape.MIXED, "no_words")
    if (prose := reading.without_log) is not None:
        return _judge_log(prose)
    if reading.identifiers or reading.holds_code:
        return _judge_with_exact(reading, "identifier" if reading.identifiers else "code")
    if (verdict := _judge_names(reading)) is not None:
        return verdict
    if reading.phrases:
        return _judge_with_exact(reading, "phrase")
    if questions.asks(reading):
        return _Verdict(Shape.SEMANTIC, "question")
    return _judge_unspaced(reading) if reading.unspaced else _judge_spaced(reading)


def _judge_log(prose: str) -> _Verdict:
    """A pasted log or trace is looked up literally; a question or sentence beside it wants the vector side too."""
    beside = _judge(read(prose))
    if beside.shape is Shape.SEMANTIC or beside.reason.endswith(("_in_question", "_in_sentence")):
        return _Verdict(Shape.MIXED, "log_beside_sentence")
    return _Verdict(Shape.KEYWORD_HEAVY, "log")


def _judge_with_exact(reading: Reading, what: str) -> _Verdict:
    """Exact material wants the keyword side; a question or sentence around it wants the vector side too."""
    if questions.asks(reading) and reading.rest:
        return _Verdict(Shape.MIXED, f"{what}_in_question")
    if reading.holds_code and opens_with_code(reading.text):
        return _Verdict(Shape.KEYWORD_HEAVY, "code")
    if questions.function_share(reading) >= _SENTENCE_SHARE and reading.rest_units >= _SENTENCE_WORDS:
        return _Verdict(Shape.MIXED, f"{what}_in_sentence")
    if reading.rest_units <= _FEW_WORDS or reading.holds_code:
        return _Verdict(Shape.KEYWORD_HEAVY, what)
    return _Verdict(Shape.MIXED, f"{what}_among_words")


def _judge_names(reading: Reading) -> _Verdict | None:
    """Names that make up half of the content words: two, or one beyond doubt.

    A third is enough where a fact about the name is asked for. A how-to is about the way, not about the names in it,
    and what is to be defined may be a term as well as a name.
    """
    names = [entity for entity in reading.entities if not entity.is_acronym and entity.text.lower() not in CODE_NAMES]
    several = len(names) > 1
    if not several and not (names and names[0].is_full):
        return None
    asks_fact = any(name.is_full for name in names) and questions.asks_fact(reading)
    named, content = sum(name.words for name in names), questions.content_words(reading)
    if named < (_FACT_SHARE if asks_fact else _ENTITY_SHARE) * content:
        return None
    if questions.asks_way(reading):
        return _Verdict(Shape.MIXED, "names_in_how_to") if several else None
    if several:
        return _Verdict(Shape.ENTITY_RICH, "names")
    if questions.seeks_advice(reading) or (named >= content and questions.asks_definition(reading)):
        return None
    return _Verdict(Shape.ENTITY_RICH, "one_name")


def _judge_spaced(reading: Reading) -> _Verdict:
    count = len(reading.rest)
    if count >= _FEW_WORDS and reading.text.rstrip(" \n\"'”»").endswith(_SENTENCE_ENDS):
        return _Verdict(Shape.SEMANTIC, "sentence")
    if not lexicon.function_words(reading.language):
        return _judge_by_length(count)
    share = questions.function_share(reading)
    if share == 1.0:
        return _Verdict(Shape.MIXED, "function_words_only")
    if share == 0.0:
        return _Verdict(Shape.KEYWORD_HEAVY, "keywords")
    if count >= _SENTENCE_WORDS and share >= _SENTENCE_SHARE:
        clause = not lexicon.clause_words(reading.language).isdisjoint(reading.folded_rest)
        if clause or count * (1 - share) >= _SENTENCE_CONTENT:
            return _Verdict(Shape.SEMANTIC, "sentence")
    return _Verdict(Shape.MIXED, "words_with_grammar")


def _judge_unspaced(reading: Reading) -> _Verdict:
    units, text, language = reading.rest_units, reading.text.rstrip(), reading.language
    clause = _CLAUSE_BREAKS.search(text[:-1]) is not None or _holds(text, lexicon.clause_particles(language))
    run = max(word.units for word in reading.rest)
    ends = text.endswith(_SENTENCE_ENDS)
    if run >= _LONG_RUN or (clause and units >= _CLAUSE_UNITS) or (ends and units >= _FEW_WORDS):
        return _Verdict(Shape.SEMANTIC, "sentence")
    if clause or _holds(text, lexicon.links(language)):
        return _Verdict(Shape.MIXED, "words_with_grammar")
    return _Verdict(Shape.KEYWORD_HEAVY, "keywords") if run < _FEW_WORDS else _Verdict(Shape.MIXED, "some_words")


def _holds(text: str, parts: Iterable[str]) -> bool:
    return any(part in text for part in parts)


def _judge_by_length(count: int) -> _Verdict:
    if count >= _LONG:
        return _Verdict(Shape.SEMANTIC, "long")
    return _Verdict(Shape.MIXED, "some_words") if count >= _FEW_WORDS else _Verdict(Shape.KEYWORD_HEAVY, "few_words")


def _with_callers_material(
    verdict: _Verdict, reading: Reading, expansion_terms: Sequence[str], has_hyde: bool
) -> _Verdict:
    if has_hyde and verdict.shape is Shape.KEYWORD_HEAVY and not (reading.identifiers or reading.phrases):
        return _Verdict(Shape.MIXED, f"{verdict.reason}_with_hyde_vector")
    if not has_hyde and verdict.shape is Shape.SEMANTIC:
        added = sum(word.units for term in expansion_terms for word in read_words(normalise(term)))
        if added and added >= questions.content_words(reading):
            return _Verdict(Shape.MIXED, f"{verdict.reason}_with_expansion_terms")
    return verdict
