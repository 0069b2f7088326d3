"""Identifiers: exact-match material such as TRAVEL-2026-01, CVE-2026-1234, RFC 9110, 3.11.4 or pathlib.Path.

In: a normalised text. Out: each identifier whole, with its place, never cut. Time is linear in the text: it is cut into
maximal runs first, and each run is judged by patterns that can match in one way only.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fanfuse_classifier.domain.lexicon import CODE_NAMES, word_set
from fanfuse_classifier.domain.scripts import HANGUL, UNSPACED

# A particle may follow an identifier without a blank in these scripts.
_ATTACHED: Final = re.compile(f"[{UNSPACED}{HANGUL}]")
_URL: Final = re.compile(r"\b(?:https?|ftp)://[^\s\"'<>“”]+", re.IGNORECASE)
_NUMBERED: Final = re.compile(
    r"\b(?:RFC|PEP|ISO/IEC|ISO|IEC|IEEE|DIN|ANSI|NIST|CWE|BCP|STD|JEP|KEP|EIP|BIP|ADR|KB|CFR)[ -]\d{1,8}(?:[-.]\d+)?"
    r"(?![-.]?\w)",
    re.IGNORECASE,
)
_RUN: Final = re.compile(r"[\w#@/~.:+-]+")
_PART: Final = re.compile(r"[^/:@~+]+")

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_SCOPED: Final = re.compile(r"\w+(?:::\w+)+")
_PATH: Final = re.compile(r"[~.]{0,2}(?:/[\w.+-]+){2,}|(?:[\w.+-]+/)+[\w+-]+\.\w{1,5}")
_ISSUE: Final = re.compile(r"#\d{1,10}")
_VERSION: Final = re.compile(r"v\d+(?:\.\d+)*|\d+(?:\.\d+){2,}", re.IGNORECASE)
_DECIMAL: Final = re.compile(r"\d+\.\d+")
_HEX: Final = re.compile(r"0x[0-9a-f]+|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}", re.IGNORECASE)
_CAMEL: Final = re.compile(r"[a-z]{2,}(?:[A-Z][a-z0-9]+)+")
_CODE: Final = re.compile(r"(?=[^\W\d_]+\d)[A-Z0-9][\w]{3,}")
_SEPARATOR: Final = re.compile(r"[-._]")

_VERSION_WORDS: Final = frozenset(("version", "release", "v"))
_MAX_NAME: Final = 32
_EDGES: Final = ".,:;+-/@~"
_NO_CODE: Final = word_set("com org net edu gov pdf doc docx xls xlsx pptx txt csv md png jpg html htm zip")
_TIME_PREFIXES: Final = frozenset(("mid", "pre", "post", "non", "early", "late", "circa"))


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier; `symbol` where it reads as a name in code."""

    text: str
    start: int
    end: int
    symbol: bool = False


def find_identifiers(text: str) -> tuple[Identifier, ...]:
    """Every identifier, in order of place; none overlaps another."""
    masked = _ATTACHED.sub(" ", text)
    whole = [
        Identifier(match[0].rstrip(".,;:!?)]}"), match.start(), match.end())
        for pattern in (_URL, _NUMBERED)
        for match in pattern.finditer(masked)
    ]
    taken = {place for identifier in whole for place in range(identifier.start, identifier.end)}
    runs = (found for match in _RUN.finditer(masked) for found in _in_run(masked, match))
    return tuple(sorted((*whole, *(f for f in runs if f.start not in taken)), key=lambda found: found.start))


def _in_run(text: str, match: re.Match[str]) -> Iterator[Identifier]:
    run = match[0].rstrip(_EDGES)
    start = match.start()
    if any(pattern.fullmatch(run) for pattern in (_PATH, _ISSUE)):
        yield Identifier(run, start, start + len(run))
        return
    trimmed = run.lstrip(_EDGES + "#")
    start += len(run) - len(trimmed)
    if _EMAIL.fullmatch(trimmed) or _SCOPED.fullmatch(trimmed):
        yield Identifier(trimmed, start, start + len(trimmed), symbol="::" in trimmed)
        return
    for part in _PART.finditer(trimmed):
        name = part[0].strip("-.#")
        place = start + part.start() + part[0].find(name)
        if name and (_is_identifier(name) or is_symbol(name) or _is_version_after_name(text, name, place)):
            symbol = is_symbol(name) and name.rpartition(".")[2].casefold() not in _NO_CODE
            yield Identifier(name, place, place + len(name), symbol)


def is_symbol(name: str) -> bool:
    """True for names of code: pathlib.Path, read_text, __init__, readText; not for e.g., U.S. or plain words."""
    if _CAMEL.fullmatch(name):
        return True
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return False
    if len(parts) > 1:
        return max(map(len, parts)) > 1 and any(part.islower() for part in parts)
    return name.startswith("__") or "_" in name.strip("_")


def _is_identifier(name: str) -> bool:
    if any(pattern.fullmatch(name) for pattern in (_UUID, _VERSION, _HEX, _CODE)):
        return True
    parts = _SEPARATOR.split(name)
    if len(parts) < 2 or not all(parts) or not any(map(str.isdigit, name)):
        return False
    if name.replace("-", "").isdigit():
        return len(parts) > 2
    if not any(map(str.isalpha, name)) or parts[0].casefold() in _TIME_PREFIXES:
        return False
    # 10-year and 3-dimensional count something; 2024-Q3 and X-15 name something.
    return not (parts[0].isdigit() and all(map(str.isalpha, parts[1:])))


def _is_version_after_name(text: str, name: str, place: int) -> bool:
    """A number with one point is a version where it follows a name: Python 3.11, not 3.5 %."""
    if not _DECIMAL.fullmatch(name) or text[place + len(name) :].lstrip()[:1] == "%":
        return False
    before = text[max(0, place - _MAX_NAME) : place].split(" ")
    if len(before) < 2 or before[-1]:
        return False
    return before[-2][:1].isupper() or before[-2].casefold() in CODE_NAMES or before[-2].casefold() in _VERSION_WORDS
