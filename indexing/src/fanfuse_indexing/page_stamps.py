"""Which pages have text of their own. In: the text of each page. Out: the numbers of those that hold more than what
nearly all pages share, such as a watermark, a running head or the number of the page. Pure.
"""

import re
from collections import Counter
from collections.abc import Sequence

from fanfuse_indexing import limits

_NUMBER = re.compile(r"(?<!\d)\d{1,6}(?!\d)", re.ASCII)


Forms = frozenset[str]
"""A line as it stands, and with `#` for the number of its page."""


def own_pages(texts: Sequence[str]) -> list[int]:
    """The pages, from 0, that have text beyond the stamp which nearly all pages share."""
    least = max(limits.MIN_STAMPED_PAGES, limits.MIN_STAMPED_SHARE * len(texts))
    lines = [[line for part in text.split("\n") if (line := " ".join(part.split()))] for text in texts]
    offset = _page_offset(lines, least)
    pages = [[_forms(line, place, offset) for line in page] for place, page in enumerate(lines)]
    shared = Counter(form for page in pages for form in frozenset[str]().union(*page))
    stamp = frozenset(form for form, count in shared.items() if count >= least)
    return [place for place, page in enumerate(zip(lines, pages, strict=True)) if _has_own_text(*page, stamp)]


def _page_offset(pages: Sequence[Sequence[str]], least: float) -> int | None:
    """What `least` pages have to add to their place to get a number that stands on them."""
    numbers = [{int(found) for line in page for found in _NUMBER.findall(line)} for page in pages]
    offsets = Counter(number - place for place, found in enumerate(numbers) for number in found)
    return next((offset for offset, count in offsets.most_common(1) if count >= least), None)


def _forms(line: str, place: int, offset: int | None) -> Forms:
    numbers = _NUMBER.finditer(line) if offset is not None else ()
    own = [found.span() for found in numbers if int(found[0]) - place == offset]
    return frozenset([line, *(f"{line[:start]}#{line[end:]}" for start, end in own)])


def _has_own_text(lines: Sequence[str], forms: Sequence[Forms], stamp: Forms) -> bool:
    stamped = [not stamp.isdisjoint(form) for form in forms]
    own = sum(
        character.isalnum() for line, known in zip(lines, stamped, strict=True) if not known for character in line
    )
    shared = sum(len(line) for line, known in zip(lines, stamped, strict=True) if known)
    return own >= limits.MIN_OWN_CHARS or shared > limits.MAX_STAMP_CHARS
