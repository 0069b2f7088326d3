"""What a text asks for, if it asks: a fact, advice, a way, a definition; and how much of it is content.

In: a `Reading`. Out: yes or no, or a measure. No judgement of the shape.
"""

import re
from typing import Final

from fanfuse_classifier.domain import lexicon
from fanfuse_classifier.domain.reading import Reading

# 会不会, 是不是, 有没有: the verb, its negation and the verb again ask; so does a last 么.
_ASKS_ZH: Final = re.compile(r"([\u4e00-\u9fff])[不没沒]\1|么 *$")
_HOW_TO: Final = re.compile(
    r"\bhow (?:to|(?:do|can|should|could|would) (?:i|we|you|one))\b|\bcan i\b|\bwie (?:kann|muss|soll) (?:ich|man)\b"
    r"|\bcomment (?:puis-je|faire|je)\b|\bcómo (?:puedo|se puede)\b|\bкак (?:мне )?\w+(?:ть|ться)\b"
    r"|如何|怎么|怎麼|怎样|怎樣"
)
_DEFINITION: Final = re.compile(
    r"(?:what (?:is|are)|was (?:ist|sind)|qu'est-ce qu[e']|qué (?:es|son)|o que (?:é|são)|cos'è|wat is|что такое"
    r"|ما هو|ما هي)\b|.*(?:是什么|是什麼|とは)[? 。]*$|什么是|什麼是"
)


def asks(reading: Reading) -> bool:
    """A question mark after words, an opening question word, or a marker of the language."""
    if not reading.rest:
        return False
    if reading.ends_as_question or _opens_as_question(reading):
        return True
    folded, language = reading.folded_rest, reading.language
    if not lexicon.markers(language).isdisjoint(folded):
        return True
    padded = f" {' '.join(folded)} "
    if any(f" {phrase} " in padded for phrase in lexicon.question_phrases()):
        return True
    if any(part in padded for part in lexicon.question_parts(language)):
        return True
    return language == "zh" and _ASKS_ZH.search(padded) is not None


def _opens_as_question(reading: Reading) -> bool:
    first = reading.folded_rest[0]
    stands_first = reading.rest[0] is reading.words[0] and len(reading.rest) > 1
    return stands_first and (first in lexicon.openers(reading.language) or first in lexicon.openers("en"))


def asks_fact(reading: Reading) -> bool:
    """Who, when, where, which: the answer is a fact about what is named."""
    return bool(reading.rest) and reading.folded_rest[0] in lexicon.fact_words(reading.language)


def asks_way(reading: Reading) -> bool:
    """How to do something: what is named are the things at hand."""
    return _HOW_TO.search(reading.text.lower()) is not None


def asks_definition(reading: Reading) -> bool:
    """What something is: a term as well as a name."""
    return _DEFINITION.match(reading.text.lower()) is not None


def seeks_advice(reading: Reading) -> bool:
    """Is it wise, how so, why: the answer is no fact of what is named. How tall and how many ask for one."""
    opening = reading.folded_rest[:2]
    if len(opening) < 2 or (opening[0] == "how" and opening[1] not in lexicon.openers("en")):
        return False
    return opening[0] in lexicon.advice_openers()


def function_share(reading: Reading) -> float:
    """Share of the words that only hold a sentence together."""
    small = lexicon.function_words(reading.language)
    return sum(word in small for word in reading.folded_rest) / len(reading.rest) if reading.rest else 0.0


def content_words(reading: Reading) -> float:
    """How many words are none of grammar; in a script without blanks, half of the characters that are none."""
    small = lexicon.small_words(reading.language)
    grammar = lexicon.grammar_of_runs(reading.language)
    return sum(
        1.0 if word.spaced else len(grammar.sub("", word.text)) / 2
        for word in reading.words
        if word.folded not in small
    )
