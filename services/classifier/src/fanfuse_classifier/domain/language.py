"""Language of a text, as an ISO 639-1 code, or None where it can't be told.

In: a normalised text, its words and its letters per script. Out: the script's language where the script has one; for
Latin, Cyrillic, Arabic and Devanagari English where its function words stand out, else the n-gram model of py3langid,
whose table is fixed: the same text always gets the same answer. A guess needs 0.6 unless it is English.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cache
from itertools import islice
from typing import Final

import numpy as np
from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

from fanfuse_classifier.domain.lexicon import languages_of_word, word_set
from fanfuse_classifier.domain.scripts import UNSPACED_SCRIPTS, script_of
from fanfuse_classifier.domain.words import Word

_OF_SCRIPT: Final = {
    "han": "zh", "hiragana": "ja", "katakana": "ja", "bopomofo": "zh", "hangul": "ko", "thai": "th", "lao": "lo",
    "tibetan": "bo", "myanmar": "my", "khmer": "km", "greek": "el", "hebrew": "he", "armenian": "hy", "georgian": "ka",
    "bengali": "bn", "gurmukhi": "pa", "gujarati": "gu", "oriya": "or", "tamil": "ta", "telugu": "te", "kannada": "kn",
    "malayalam": "ml", "sinhala": "si", "thaana": "dv", "ethiopic": "am", "mongolian": "mn", "cherokee": "chr",
}  # fmt: skip
_CANDIDATES: Final = {
    "latin": word_set(
        "en de fr es pt it nl sv da no fi pl cs sk hu ro tr vi id hr sl lt lv et ca gl eu ga eo af sq az bs cy is la "
        "ms mt sw tl lb"
    ),
    "cyrillic": word_set("ru uk be bg sr mk kk ky tg mn tt"),
    "arabic": word_set("ar fa ur ps ug"),
    "devanagari": word_set("hi mr ne sa"),
}
_DEFAULT: Final = {"cyrillic": "ru", "arabic": "ar", "devanagari": "hi"}

_CASED_SCRIPTS: Final = frozenset(("greek", "armenian", "cherokee"))
_CASELESS: Final = (
    frozenset(language for script, language in _OF_SCRIPT.items() if script not in _CASED_SCRIPTS)
    | _CANDIDATES["arabic"]
    | _CANDIDATES["devanagari"]
)
_MIN_CONFIDENCE: Final = 0.6
_MIN_SHARE: Final = 0.6
_MIN_SHARE_BESIDE_LATIN: Final = 0.4
"""Latin terms stand in texts of every other script; the reverse is rare."""
_UNSPACED_FACTOR: Final = 3
"""A Han character carries about as much as three letters of an alphabet."""
_MAX_CHARS: Final = 400
_MAX_WORDS: Final = 100
"""What is read of a long text: more changes no answer and costs time."""
_SHORT: Final = 2
_LONG_ENGLISH: Final = "long English"
_CLEAR_VOTES: Final = 2
_CLEAR_LEAD: Final = 3


@cache
def _identifier(script: str) -> LanguageIdentifier:
    """The model, asked for the languages of one script."""
    if script:
        narrowed = copy(_identifier(""))
        narrowed.set_languages(_CANDIDATES[script])
        # A text looks up some sixty rows of a hundred thousand: each must lie in one place, not one column apart.
        narrowed.nb_ptc = np.ascontiguousarray(narrowed.nb_ptc)
        return narrowed
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def detect_language(text: str, words: Sequence[Word], letters: Mapping[str, int]) -> str | None:
    """Language of most of the text; None without letters, for an even mix, or for Latin letters that fit several.

    `words` are the words of the text, `letters` counts its letters per script.
    """
    script = _main_script(letters if len(letters) == 1 else _without_names(letters, words))
    if script is None or script in _OF_SCRIPT:
        return _OF_SCRIPT.get(script) if script else None
    if script not in _CANDIDATES:
        return None
    votes = _votes((word.folded for word in words), _CANDIDATES[script])
    return "en" if _is_clearly_english(votes) else _guess(text[:_MAX_CHARS], script, votes) or _DEFAULT.get(script)


def is_caseless(language: str | None) -> bool:
    """True for a language written without capitals, so that a capital in such a text is a sign."""
    return language in _CASELESS


def _without_names(letters: Mapping[str, int], words: Iterable[Word]) -> Mapping[str, int]:
    """Beside another script a capitalised Latin word is a name, which belongs to no language."""
    if "latin" not in letters:
        return letters
    names = sum(len(word.text) for word in words if word.text[0].isupper() and script_of(word.text[0]) == "latin")
    return {**letters, "latin": max(0, letters["latin"] - names)}


def _main_script(letters: Mapping[str, int]) -> str | None:
    if len(letters) == 1:
        return _own(next(iter(letters)))
    kana = letters.get("hiragana", 0) + letters.get("katakana", 0)
    weights: Counter[str] = Counter()
    for script, count in letters.items():
        dense = script in UNSPACED_SCRIPTS or script == "hangul"
        # Japanese mixes three scripts; Han characters beside kana are its own.
        name = "hiragana" if script == "han" and kana else _own(script)
        weights[name] += count * (_UNSPACED_FACTOR if dense else 1)
    if not weights:
        return None
    script, weight = max(weights.items(), key=lambda item: (item[0] != "latin", item[1], item[0]))
    if weight >= _MIN_SHARE_BESIDE_LATIN * weights.total():
        return script
    return "latin" if weights["latin"] >= _MIN_SHARE * weights.total() else None


def _own(script: str) -> str:
    return "hiragana" if script == "katakana" else script


def _votes(folded: Iterable[str], candidates: frozenset[str]) -> dict[str, int]:
    """How many of the first words are function words, per language; long English ones once more."""
    votes = {"en": 0, _LONG_ENGLISH: 0}
    for word in islice(folded, _MAX_WORDS):
        for language in languages_of_word(word):
            if language in candidates:
                votes[language] = votes.get(language, 0) + 1
                # Two letters of English are a word of many languages that have no list here.
                if language == "en" and len(word) > _SHORT:
                    votes[_LONG_ENGLISH] += 1
    return votes


def _is_clearly_english(votes: Mapping[str, int]) -> bool:
    rival = max((count for name, count in votes.items() if name not in {"en", _LONG_ENGLISH}), default=0)
    return votes[_LONG_ENGLISH] >= max(_CLEAR_VOTES, _CLEAR_LEAD * rival)


def _guess(text: str, script: str, votes: Mapping[str, int]) -> str | None:
    folded = text.casefold()
    language, confidence = _identifier(script).classify(folded)
    most = max(votes.values())
    if language == "en" or (most and votes[_LONG_ENGLISH] == most > votes.get(language, 0)):
        return "en"
    if confidence >= _MIN_CONFIDENCE:
        return str(language)
    return _by_words(_identifier(script).rank(folded), votes, most) if most else None


def _by_words(ranked: Sequence[tuple[str, float]], votes: Mapping[str, int], most: int) -> str | None:
    """Where the letters leave it open, the words decide, unless they leave English open."""
    if votes["en"]:
        return "en" if votes["en"] == most else None
    left = [(name, p) for name, p in ranked if votes.get(name) == most]
    language, best = left[0]
    return language if best >= _MIN_CONFIDENCE * sum(p for _, p in left) else None
