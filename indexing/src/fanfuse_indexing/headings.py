"""Cuts marked-up text at its headings. In: Markdown or reStructuredText. Out: sections with their heading path.

Pure. The lines of all sections, in order, are the lines of the text.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LINK = re.compile(r"!?\[([^\[\]]{0,300})\](?:\([^()]{0,500}\)|\[[^\[\]]{0,100}\])")
_MARKUP = re.compile(r"[*`]|<[^<>]{1,200}>")
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_FRONT_MATTER_END = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading at a line (from 0); `level` from 1, deeper is larger."""

    line: int
    level: int
    title: str
    lines: int = 1
    """Lines the heading itself takes."""


@dataclass(frozen=True, slots=True)
class Section:
    """Text under one heading, its heading included. `path`: titles from the top down; empty before the first."""

    path: tuple[str, ...]
    text: str
    levels: tuple[int, ...] = ()
    """Level of each title of the path."""
    bare: bool = False
    """True: headings and nothing else, at the end of the text."""


def markdown_sections(text: str, above: Section | None = None) -> list[Section]:
    """Sections of CommonMark text; YAML front matter belongs to what comes before the first heading. `above`: the
    section that this text continues.
    """
    lines = text.split("\n")
    skip = _front_matter_lines(text)
    tokens = _parser().parse("\n".join(lines[skip:]))
    headings = [
        Heading(skip + token.map[0], int(token.tag[1]), _plain(tokens[place + 1].content), token.map[1] - token.map[0])
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]
    return cut_at_headings(lines, headings, above)


def rst_sections(text: str) -> list[Section]:
    """Sections of reStructuredText: a line underlined (and perhaps overlined) by one repeated punctuation mark.

    Levels follow the order in which styles first appear (docutils, "Sections"). Anything else is left as text.
    """
    lines = text.split("\n")
    styles: list[str] = []
    headings: list[Heading] = []
    line = 1
    while line < len(lines):
        found = _rst_heading(lines, line)
        if found:
            style, first, count = found
            if style not in styles:
                styles.append(style)
            headings.append(Heading(first, styles.index(style) + 1, _plain(lines[line - 1].strip()), count))
        line += 2 if found else 1
    return cut_at_headings(lines, headings)


def _rst_heading(lines: Sequence[str], line: int) -> tuple[str, int, int] | None:
    """Style, first line and number of lines of the heading whose underline is at `line`."""
    title, adornment = lines[line - 1], lines[line].rstrip()
    if not _ADORNMENT.fullmatch(lines[line]) or not title.strip() or _ADORNMENT.fullmatch(title):
        return None
    if line >= 2 and lines[line - 2].rstrip() == adornment:
        return adornment[0] * 2, line - 2, 3
    if title[0].isspace() or len(adornment) < len(title.rstrip()):
        return None
    return adornment[0], line - 1, 2


def cut_at_headings(lines: Sequence[str], headings: Iterable[Heading], above: Section | None = None) -> list[Section]:
    """Sections from heading to heading; one that is a heading and nothing else opens the section after it."""
    sections: list[Section] = []
    path = list(zip(above.levels, above.path, strict=True)) if above else []
    start = body = 0
    for heading in headings:
        if any(line.strip() for line in lines[body : heading.line]):
            sections.append(_section(path, lines[start : heading.line]))
            start = heading.line
        path = [*(entry for entry in path if entry[0] < heading.level), (heading.level, heading.title)]
        body = heading.line + heading.lines
    sections.append(_section(path, lines[start:], bare=body > 0 and not any(line.strip() for line in lines[body:])))
    return [section for section in sections if section.text]


def _section(path: Iterable[tuple[int, str]], lines: Iterable[str], *, bare: bool = False) -> Section:
    named = [(level, title) for level, title in path if title]
    levels, titles = (level for level, _ in named), (title for _, title in named)
    return Section(tuple(titles), "\n".join(lines).strip(), tuple(levels), bare)


def _front_matter_lines(text: str) -> int:
    if not text.startswith("---\n"):
        return 0
    end = _FRONT_MATTER_END.search(text, 4)
    return text.count("\n", 0, end.end()) + 1 if end else 0


def _plain(title: str) -> str:
    return " ".join(_MARKUP.sub("", _LINK.sub(r"\1", title)).split())


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
