"""Can an embedding model make sense of a query's language?

In: the languages a model knows and what the classifier found. Out: None if it can, else a reason. Where the language is
unknown the main script decides: Latin text may go to an English model, Han text may not.
"""

from types import MappingProxyType
from typing import Final

from fanfuse_contracts.classification import QueryShape

DEFAULT_SCRIPTS: Final = frozenset({"latin"})

_LANGUAGES: Final = {
    "arabic": "ar fa ps sd ug ur",
    "armenian": "hy",
    "bengali": "as bn",
    "cyrillic": "be bg kk ky mk mn ru tg uk",
    "devanagari": "hi mr ne sa",
    "ethiopic": "am ti",
    "georgian": "ka",
    "greek": "el",
    "gujarati": "gu",
    "gurmukhi": "pa",
    "hangul": "ko",
    "hebrew": "he yi",
    "kannada": "kn",
    "khmer": "km",
    "lao": "lo",
    "malayalam": "ml",
    "myanmar": "my",
    "oriya": "or",
    "sinhala": "si",
    "tamil": "ta",
    "telugu": "te",
    "thaana": "dv",
    "thai": "th",
    "tibetan": "bo",
}

SCRIPTS: Final = MappingProxyType(
    {language: frozenset({script}) for script, languages in _LANGUAGES.items() for language in languages.split()}
    | {
        "ja": frozenset({"han", "hiragana", "katakana"}),
        "sr": frozenset({"cyrillic", "latin"}),
        "zh": frozenset({"han", "bopomofo"}),
    }
)
"""Scripts a language is written in (ISO 639-1 → Unicode script names, lower case); any other language: Latin."""


def language_problem(languages: tuple[str, ...] | None, classification: QueryShape) -> str | None:
    """None if a model for `languages` (None: any) fits the query, else why it does not."""
    if languages is None or classification.language in languages:
        return None
    known = ", ".join(languages) or "no language"
    if classification.language is not None:
        return f"the corpus's embedder knows {known}, the query is in {classification.language}"
    script = classification.scripts[0] if classification.scripts else None
    # Digits, signs and emoji belong to no script: they mean the same in every language.
    if script is None or any(script in SCRIPTS.get(language, DEFAULT_SCRIPTS) for language in languages):
        return None
    return f"the corpus's embedder knows {known}, the query is written in {script} script"
