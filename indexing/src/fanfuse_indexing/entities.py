"""Names that a text mentions. In: text and, if given, a gazetteer. Out: surface forms in order of first mention.

Deterministic, bounded by `limits`, linear in the length of the text; knows no language model and guesses no meaning.
"""

import re
from collections.abc import Container, Iterable, Iterator
from itertools import takewhile

from fanfuse_indexing import limits

_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞĢĪİĶĹĽŁŃŇŌŐŒŘŚŞŠŢŤŪŮŰŹŻŽΑ-ΩА-ЯЁЇІЄ"
_CAPITALISED = rf"[{_UPPER}][\w’'&-]{{0,40}}"
_LINKS = r"(?:of|de|da|di|du|la|le|van|von|der|den|del|al|bin|the|&)"

_CODE = re.compile(
    r"(?<![\w@/.-])(?:"
    r"[A-Za-z_]\w{1,60}(?:\.[A-Za-z_]\w{1,60}){1,8}"  # dotted: os.path.join
    r"|[A-Za-z_]\w{0,60}(?=\(\))"  # called: print()
    r"|[A-Z][a-z0-9]+(?:[A-Z]{1,8}[a-z0-9]{1,40}){1,8}[A-Z]{0,8}"  # CamelCase: BadZipFile
    r"|[a-z]+[A-Z]\w{1,60}"  # camelCase
    r"|_{0,2}[A-Za-z0-9]{1,40}(?:_[A-Za-z0-9]{1,40}){1,8}"  # snake_case, UPPER_CASE
    r")(?![\w/@])"
)
_IDENTIFIER = re.compile(
    r"(?<![\w-])(?:"
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?=[A-Z-]{0,40}\d)[A-Z][A-Z0-9]{0,20}(?:-[A-Z0-9]{1,20}){1,6}"
    r"|(?:RFC|ISO|PEP|DIN|IEEE) ?\d{1,6}"
    r")(?![\w-])"
)
_QUOTED = re.compile(
    r"[“\"«]([^“”\"«»\n]{2,80})[”\"»]|「([^「」\n]{1,40})」|《([^《》\n]{1,40})》|``?([^`\n]{2,80})``?"
)
_NAME = re.compile(rf"(?<![\w.]){_CAPITALISED}(?: (?:{_LINKS} ){{0,2}}{_CAPITALISED}){{1,5}}")
_SINGLE = re.compile(rf"(?<=[ (])[{_UPPER}](?:[^\W\d_]{{2,40}}|[{_UPPER}]{{1,11}})(?![\w.-]\w|\()")

_OPENER_WORDS = (
    "a an and are as at be but by can do does for from had has have he her his how i if in is it its may most my no "
    "not of on or our she so some such that the their them then there these they this those to under was we were what "
    "when where which while who whose why will with you your each all any also however note see use return returns"
)
_OPENERS = frozenset(_OPENER_WORDS.split())
_QUOTED_WORDS = 6
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+(?:[_'’-][^\W_]+)*|_+\w*")


class Gazetteer:
    """Known names, found in text by whole words (character by character in scripts written without spaces).

    Case is ignored; the longest name wins; what is found is returned as the gazetteer spells it.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names: dict[tuple[str, ...], str] = {}
        for name in names:
            key = tuple(_words(name))
            if key:
                self._names.setdefault(key, name)
        self._starts = {key[0] for key in self._names}
        self._longest = max(map(len, self._names), default=0)

    def find(self, text: str) -> Iterator[tuple[int, str]]:
        """Position and name of every mention, in order, without overlaps."""
        tokens = [(found.start(), found[0].casefold()) for found in _TOKEN.finditer(text)]
        place = 0
        while place < len(tokens):
            length = self._match(tokens, place) if tokens[place][1] in self._starts else 0
            if length:
                yield tokens[place][0], self._names[tuple(word for _, word in tokens[place : place + length])]
            place += length or 1

    def _match(self, tokens: list[tuple[int, str]], place: int) -> int:
        words = tuple(word for _, word in tokens[place : place + self._longest])
        return next((size for size in range(len(words), 0, -1) if words[:size] in self._names), 0)


def extract_entities(text: str, gazetteer: Gazetteer | None = None) -> tuple[str, ...]:
    """Up to `limits.MAX_ENTITIES` names: those of the gazetteer, code symbols, identifiers, quoted names, runs of
    capitalised words; where there is room, single capitalised words inside a sentence too.
    """
    head = text[: limits.MAX_ENTITY_TEXT_CHARS]
    taken = bytearray(len(head))
    strong = _in_order([*(gazetteer.find(head) if gazetteer else ()), *_found(head, taken)])
    room = limits.MAX_ENTITIES - len(strong)
    weak = _in_order(_single_words(head, taken), known={name.casefold() for name in strong}) if room > 0 else {}
    kept = [*tuple(strong.items())[: limits.MAX_ENTITIES], *tuple(weak.items())[: max(room, 0)]]
    return tuple(name for name, _ in sorted(kept, key=lambda mention: mention[1]))


def _in_order(mentions: Iterable[tuple[int, str]], known: Container[str] = ()) -> dict[str, int]:
    """First place of each name that is not known yet."""
    first: dict[str, int] = {}
    for place, name in sorted(mentions):
        if name.casefold() not in known:
            first.setdefault(name, place)
    return first


def _found(text: str, taken: bytearray) -> Iterator[tuple[int, str]]:
    """Names surely meant as such; `taken` marks the characters of all but the quoted ones."""
    for pattern, name_of in ((_IDENTIFIER, _whole), (_NAME, _name), (_CODE, _whole), (_QUOTED, _quoted)):
        for found in pattern.finditer(text):
            start, end = found.span()
            name = "" if pattern is _NAME and any(taken[start:end]) else name_of(found)
            if 0 < len(name) <= limits.MAX_ENTITY_CHARS:
                if pattern is not _QUOTED:
                    taken[start:end] = b"\1" * (end - start)
                yield start, name


def _single_words(text: str, taken: bytearray) -> Iterator[tuple[int, str]]:
    """Capitalised words that do not open a sentence."""
    for found in _SINGLE.finditer(text):
        start = found.start()
        inside = text[start - 1] == "(" or (start > 1 and (text[start - 2].isalnum() or text[start - 2] in ",;"))
        if inside and not taken[start] and found[0].casefold() not in _OPENERS:
            yield start, found[0]


def _whole(found: re.Match[str]) -> str:
    return found[0]


def _name(found: re.Match[str]) -> str:
    """Without the sentence opener at its start ("The Acme Corp"); "" unless two words are left."""
    words = found[0].split(" ")
    words = words[len(list(takewhile(lambda word: word.casefold() in _OPENERS, words))) :]
    kept = [word.removesuffix("'s").removesuffix("’s") for word in words]
    return " ".join(kept) if len(kept) > 1 else ""


def _quoted(found: re.Match[str]) -> str:
    name = next(filter(None, found.groups())).strip(" .,;:!?").removesuffix("()")
    letters = any(character.isalpha() for character in name)
    return name if letters and len(name.split()) <= _QUOTED_WORDS else ""


def _words(name: str) -> Iterator[str]:
    return (found[0].casefold() for found in _TOKEN.finditer(name))
