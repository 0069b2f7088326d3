"""Identifiers: exact-match material such as TRAVEL-2026-01, CVE-2026-1234, RFC 9110, § 823 BGB or pathlib.Path.

In: a normalised text. Out: each identifier whole, with its place, never cut. Time is linear in the text: forms that
hold blanks or signs are looked for first, the rest is cut into maximal runs, and each run is judged by patterns that
can match in one way only.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from fanfuse_classifier.domain.lexicon import CODE_NAMES, word_set
from fanfuse_classifier.domain.scripts import HAN, HANGUL, UNSPACED

_MASK = "\x1f"
"""Stands where a particle is left out: a blank for runs, and none for identifiers that hold blanks."""
# A particle may follow an identifier without a blank in these scripts.
_ATTACHED: Final = re.compile(f"[{UNSPACED}{HANGUL}]")

_YEAR: Final = r"(?:19|20)\d\d"
_LAW: Final = r"[A-ZÄÖÜ][a-zäöüß]*[A-Z]\w{0,10}"
_FORMS: Final = (
    # addresses: URL, Windows and UNC paths, IPv6, MAC, host and port
    r"[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s\"'<>“”]+|www\.[^\s\"'<>“”]+",
    r"[A-Za-z]:\\[^\s\"'<>|?*“”]+|\\\\[\w.$-]+\\[^\s\"'<>|?*“”]+",
    r"(?=[0-9A-Fa-f:]{0,40}\d)(?:(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}"
    r"|(?:[0-9A-Fa-f]{1,4}:){1,6}(?::[0-9A-Fa-f]{1,4}){1,6})(?![\w:])",
    r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![:-]?\w)",
    r"(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2}|:\d{1,5})(?![.:]?\w)",
    # numbers of papers, standards and accounts
    r"10\.\d{4,9}/[^\s\"'<>“”]+",
    r"(?i:arXiv:)\d{4}\.\d{4,5}(?:v\d+)?",
    r"(?i:RFC|PEP|ISO/IEC|ISO|IEC|IEEE|DIN|ANSI|NIST|CWE|BCP|STD|JEP|KEP|EIP|BIP|ADR|KB|CFR)[ -]\d{1,8}(?:[-.]\d+)?"
    r"(?![-.]?\w)",
    r"[A-Z]{2}\d{2}(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?(?!\w)",
    # a number behind an acronym or a name with an inner capital, unless it is a year: HTTP 503, GB/T 19001-2016
    rf"(?!USD|EUR|GBP|CNY|RMB|JPY|CHF)[A-Z]{{2,4}}(?:/[A-Z])? (?!{_YEAR}\b)\d{{3,6}}(?:[-.]\d{{1,6}})?"
    r"(?![-./:]?\w|%)",
    rf"[a-zA-Z][a-z]*[A-Z][a-z]+ (?!{_YEAR}\b)\d{{1,4}}(?![-.,]?\w|%)",
    # law: § 823 Abs. 1 BGB, Art. 6 DSGVO, 42 U.S.C. § 1983, 45 CFR 164.312, (EU) 2016/679, 95/46/EC
    r"\d{1,3} (?:U\.?S\.?C|C\.?F\.?R)\.?(?: §+)? ?\d[\w.-]*",
    rf"(?:§§? ?|(?:(?i:article|artikel|artículo|articolo|artigo|section)|Art|Sec|art\.|sec\.)\.? (?!{_YEAR}\b))\d[\w.]*"
    rf"(?: (?:Abs|Satz|Nr|lit|para)\.? ?\w{{1,3}}\b)*(?: {_LAW})?",
    r"\(E[UGC]\) (?i:(?:no|nr)\.? )?\d{1,4}/\d{2,4}|\d{2,4}/\d{1,4}/E[UGCW]G?\b",
    # moments
    rf"{_YEAR}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{{1,9}})?(?:Z|[+-]\d\d:?\d\d)?",
)
_FORM: Final = re.compile(rf"(?<!\w)(?:{'|'.join(_FORMS)})")
_MAY_HOLD_FORM: Final = re.compile(r"\d|://|www\.|\\")
_HAN_FORM: Final = re.compile(
    rf"第[0-9零〇一二三四五六七八九十百千]{{1,8}}[条條款](?:第[0-9零一二三四五六七八九十百]{{1,8}}[款项項])?"
    rf"|[{HAN}]{{1,4}}[〔\[(]{_YEAR}[〕\])]\d{{1,5}}号"
    rf"|[(〔]{_YEAR}[)〕][{HAN}]\d{{0,4}}[{HAN}]{{1,4}}\d{{1,6}}号"
)
_RUN: Final = re.compile(r"[\w#@/~.:+-]+")
_SIGNS: Final = r"\d_./@:#~"
_WORTH_READING: Final = re.compile(rf"[{_SIGNS}]|[a-z][A-Z]")
_MAY_HOLD_ANY: Final = re.compile(rf"[{_SIGNS}\\]|[a-z][A-Z]")
"""Stands in every ASCII text with an identifier."""
_PART: Final = re.compile(r"[^/:@~+]+")

_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_SCOPED: Final = re.compile(r"\w+(?:::\w+)+")
_WHOLE_RUN: Final = re.compile(r"[~.]{0,2}(?:/[\w.+-]+){2,}|(?:[\w.+-]+/)+[\w+-]+\.\w{1,5}|#\d{1,10}")
_EXACT: Final = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|v\d+(?:\.\d+)*|\d+(?:\.\d+){2,}"
    r"|0x[0-9a-f]+|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}",
    re.IGNORECASE,
)
_DECIMAL: Final = re.compile(r"\d+\.\d+")
_CAMEL: Final = re.compile(r"[a-z]{2,}(?:[A-Z][a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)*(?:Exception|Error)")
_CODE: Final = re.compile(r"(?=[^\W\d_]+\d)[A-Z0-9][\w]{3,}")
_SEPARATOR: Final = re.compile(r"[-._]")

_VERSION_WORDS: Final = frozenset(("version", "release", "v"))
_MAX_NAME: Final = 32
_EDGES: Final = ".,:;+-/@~"
_CLOSERS: Final = ".,;:!?)]}"
_NO_CODE: Final = word_set("com org net edu gov pdf doc docx xls xlsx pptx txt csv md png jpg html htm zip")
_TIME_PREFIXES: Final = frozenset(("mid", "pre", "post", "non", "early", "late", "circa"))


class Identifier(NamedTuple):
    """One identifier; `symbol` where it reads as a name in code."""

    text: str
    start: int
    end: int
    symbol: bool = False


def find_identifiers(text: str) -> tuple[Identifier, ...]:
    """Every identifier, in order of place; none overlaps another."""
    ascii_only = text.isascii()
    if ascii_only and not _MAY_HOLD_ANY.search(text):
        return ()
    masked = text if ascii_only else _ATTACHED.sub(_MASK, text)
    whole = list(_forms(masked))
    if not ascii_only:
        whole.extend(Identifier(match[0], *match.span()) for match in _HAN_FORM.finditer(text))
    found = [*whole]
    taken = {place for identifier in whole for place in range(identifier.start, identifier.end)}
    for match in _RUN.finditer(masked):
        if not match[0].isdecimal() and _WORTH_READING.search(match[0]):
            found.extend(f for f in _in_run(masked, match) if taken.isdisjoint((f.start, f.end - 1)))
    return tuple(sorted(found, key=lambda identifier: identifier.start))


def _forms(text: str) -> Iterator[Identifier]:
    if _MAY_HOLD_FORM.search(text):
        for match in _FORM.finditer(text):
            name = match[0].rstrip(_CLOSERS)
            yield Identifier(name, match.start(), match.start() + len(name))


def _in_run(text: str, match: re.Match[str]) -> Iterator[Identifier]:
    run = match[0].rstrip(_EDGES)
    start = match.start()
    if _WHOLE_RUN.fullmatch(run):
        yield Identifier(run, start, start + len(run))
        return
    trimmed = run.lstrip(_EDGES + "#")
    start += len(run) - len(trimmed)
    if _EMAIL.fullmatch(trimmed) or _SCOPED.fullmatch(trimmed):
        yield Identifier(trimmed, start, start + len(trimmed), symbol="::" in trimmed)
        return
    for part in _PART.finditer(trimmed):
        name = part[0].strip("-.#")
        if not name or not _WORTH_READING.search(name):
            continue
        place = start + part.start() + part[0].find(name)
        symbol = is_symbol(name)
        if symbol or _is_identifier(name) or _is_version_after_name(text, name, place):
            is_code = symbol and name.rpartition(".")[2].casefold() not in _NO_CODE
            yield Identifier(name, place, place + len(name), is_code)


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
    if _EXACT.fullmatch(name) or _CODE.fullmatch(name):
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
