"""Language of a text, as an ISO 639-1 code, or None where it can't be told.

In: a normalised text and its letters per script. Out: the script's language where the script has one; for Latin,
Cyrillic, Arabic and Devanagari the n-gram model of py3langid, whose table is fixed, so that the same text always gets
the same answer. English needs no confidence, every other Latin language needs 0.6 (figures in the README).
"""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Final

from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

from fanfuse_classifier.domain.lexicon import word_set
from fanfuse_classifier.domain.scripts import UNSPACED_SCRIPTS

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

_MIN_CONFIDENCE: Final = 0.6
_MIN_SHARE: Final = 0.6
_MIN_SHARE_BESIDE_LATIN: Final = 0.4
"""Latin terms stand in texts of every other script; the reverse is rare."""
_UNSPACED_FACTOR: Final = 3
"""A Han character carries about as much as three letters of an alphabet."""
_MAX_CHARS: Final = 1_000


@cache
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def detect_language(text: str, letters: Mapping[str, int]) -> str | None:
    """Language of most of the text; None without letters, for an even mix, or for Latin letters that fit several."""
    script = _main_script(letters)
    if script is None or script in _OF_SCRIPT:
        return _OF_SCRIPT.get(script) if script else None
    if script not in _CANDIDATES:
        return None
    language, confidence = _most_likely(text[:_MAX_CHARS], _CANDIDATES[script])
    if language == "en" or confidence >= _MIN_CONFIDENCE:
        return language
    return _DEFAULT.get(script)


def _main_script(letters: Mapping[str, int]) -> str | None:
    kana = letters.get("hiragana", 0) + letters.get("katakana", 0)
    weights: Counter[str] = Counter()
    for script, count in letters.items():
        dense = script in UNSPACED_SCRIPTS or script == "hangul"
        # Japanese mixes three scripts; Han characters beside kana are its own.
        name = "hiragana" if script == "katakana" or (script == "han" and kana) else script
        weights[name] += count * (_UNSPACED_FACTOR if dense else 1)
    if not weights:
        return None
    script, weight = max(weights.items(), key=lambda item: (item[0] != "latin", item[1], item[0]))
    if weight >= _MIN_SHARE_BESIDE_LATIN * weights.total():
        return script
    return "latin" if weights["latin"] >= _MIN_SHARE * weights.total() else None


def _most_likely(text: str, candidates: frozenset[str]) -> tuple[str, float]:
    ranked = [(language, float(p)) for language, p in _identifier().rank(text.casefold()) if language in candidates]
    total = sum(probability for _, probability in ranked)
    language, probability = ranked[0]
    return language, probability / total if total else 0.0
