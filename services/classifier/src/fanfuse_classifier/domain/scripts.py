"""Which scripts a text is written in, and which of them put no blanks between words.

In: a normalised text. Out: script names, lower case, as in the Unicode character names.
"""

import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Final

HAN: Final = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
KANA: Final = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HANGUL: Final = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
_SOUTH_EAST_ASIAN: Final = "\u0e01-\u0e3a\u0e40-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3"

UNSPACED: Final = f"{HAN}{KANA}\u3105-\u312f{_SOUTH_EAST_ASIAN}"
"""Character class body: Chinese, Japanese, Thai, Lao, Tibetan, Burmese, Khmer; words have no blanks between them."""

UNSPACED_SCRIPTS: Final = frozenset(
    ("han", "hiragana", "katakana", "bopomofo", "thai", "lao", "tibetan", "myanmar", "khmer")
)

_NAMES: Final = (
    "LATIN GREEK CYRILLIC ARMENIAN HEBREW ARABIC SYRIAC THAANA DEVANAGARI BENGALI GURMUKHI GUJARATI ORIYA TAMIL TELUGU "
    "KANNADA MALAYALAM SINHALA THAI LAO TIBETAN MYANMAR GEORGIAN HANGUL ETHIOPIC KHMER MONGOLIAN CHEROKEE HIRAGANA "
    "KATAKANA BOPOMOFO"
)
_SCRIPTS: Final = {
    "CJK": "han",
    "KANGXI": "han",
    "HALFWIDTH": "katakana",
    "KATAKANA-HIRAGANA": "katakana",
    **{name: name.lower() for name in _NAMES.split()},
}


@lru_cache(maxsize=8_192)
def script_of(character: str) -> str | None:
    """Script of a letter, "other" for a letter of a script without a name here, None for anything else."""
    if unicodedata.category(character)[0] != "L":
        return None
    first_word = unicodedata.name(character, "?").partition(" ")[0]
    if first_word == "MODIFIER":
        return None
    return _SCRIPTS.get(first_word, "other")


def count_scripts(text: str) -> dict[str, int]:
    """Letters per script, most frequent first, then by name."""
    if text.isascii():
        letters = sum(map(str.isalpha, text))
        return {"latin": letters} if letters else {}
    counts: Counter[str] = Counter()
    for character, times in Counter(text).items():
        if (script := script_of(character)) is not None:
            counts[script] += times
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
