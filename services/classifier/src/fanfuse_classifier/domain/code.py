"""Code in a text: does it ask about code, does it hold some, is it a pasted log?

In: a normalised text, its words and identifiers. Out: yes or no, and the text without its log lines. Words that people
use elsewhere (class, function, java) don't count. Every pattern reads a line once.
"""

import re
from collections.abc import Iterable
from typing import Final

from fanfuse_classifier.domain.identifiers import Identifier
from fanfuse_classifier.domain.lexicon import CODE_NAMES
from fanfuse_classifier.domain.words import Word

_CALL: Final = r"\w\((?!e?s\))[^()\s]{1,40}\)(?:[.;:{]|$)"
_SIGNS: Final = re.compile(r"[`(){}\[\]:=<>&|#-]|SELECT|INSERT|UPDATE|DELETE|import", re.ASCII)
_SNIPPET: Final = re.compile(
    r"`[^`\n]+`|[A-Za-z_]\(\)|::|->|=>|==|!=|&&|\|\||</|\{\}|\[\]"
    r"|\b(?:def|func|fn) \w+ ?\(|^(?:from \w+ )?import \w|\bfrom \w+ import\b|^#include\b"
    r"|\b(?:const|let|var) \w+ ?=|(?<!\S)--[a-z][\w-]+|(?<=\s)-[A-Za-z](?!\S)"
    rf"|{_CALL}|^\w+ = [\w\[({{\"']"
    r"|\bSELECT\b.{1,200}\bFROM\b|\bINSERT INTO\b|\bDELETE FROM\b|\bUPDATE \w+ SET\b",
    re.MULTILINE,
)
_STATEMENT: Final = re.compile(
    r"SELECT\b|INSERT INTO\b|DELETE FROM\b|UPDATE \w+ SET\b|(?:from [\w.]+ )?import \w|#include\b"
    r"|(?:def|func|fn) \w+ ?\(|(?:(?:const|let|var) )?\w+ ?= ?[\w\[({\"']|for \w+ in [\w.]+\("
)
_LOG_LINE: Final = re.compile(
    r"\[?(?:19|20)\d\d-\d\d-\d\d[T ]\d\d:\d\d|\[\d\d/[A-Z][a-z]{2}/\d{4}:|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d "
    r"|\d\d:\d\d:\d\d[.,]\d|\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}:"
    r"|[\[<(]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|SEVERE|CRITICAL|FATAL|PANIC)[\]>)]?"
    r"(?::|(?<=[\]>)])| \d| \[)"
    r"|Traceback \(most recent|\s*File \"[^\"\n]+\", line \d|\s*at [\w.$<>/]+ ?\(|Caused by:|Exception in thread"
    r"|\s*\.\.\. \d+ more|goroutine \d|panic: |thread '[^'\n]+' panicked|[\w.$]*(?:Error|Exception):"
)


def asks_about_code(words: Iterable[Word], identifiers: Iterable[Identifier]) -> bool:
    """True if a symbol or the name of a language or tool is in the text."""
    return any(identifier.symbol for identifier in identifiers) or any(word.folded in CODE_NAMES for word in words)


def holds_code(text: str) -> bool:
    """True if a piece of a program, a query or a shell command is in the text."""
    return _SIGNS.search(text) is not None and _SNIPPET.search(text) is not None


def opens_with_code(text: str) -> bool:
    """True if the text begins with a statement of a program or a query: its small words are no prose."""
    return _STATEMENT.match(text) is not None


def without_log(text: str) -> str | None:
    """What is left of a text without its log lines and stack traces; None for a text without any.

    A line that is indented behind such a line belongs to it.
    """
    kept: list[str] = []
    inside = found = False
    for line in text.split("\n"):
        is_log = _LOG_LINE.match(line) is not None
        inside = is_log or (inside and line[:1] == " ")
        found = found or is_log
        if not inside:
            kept.append(line)
    return "\n".join(kept) if found else None
