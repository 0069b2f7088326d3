"""The sections of an HTML page. In: its bytes. Out: one piece for the text under each heading; or `ExtractionError`.

Text as a reader of the page meets it, blocks on lines of their own, table cells parted by ` | `, pictures by their
alternative text. Scripts, styles, forms' controls and navigation are not text. Nothing is fetched or run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from fanfuse_indexing.chunking import cut_title, section_piece
from fanfuse_indexing.decoding import FALL_BACK, UndecodableError, clean, decode_page, plain_newlines
from fanfuse_indexing.documents import Piece
from fanfuse_indexing.extracted import Extracted, ExtractionError, Finding
from fanfuse_indexing.headings import Heading, cut_at_headings
from fanfuse_indexing.report import Code

_WITHOUT_TEXT: Final = frozenset(
    {"audio", "button", "canvas", "datalist", "embed", "head", "iframe", "input", "nav", "noembed", "noframes"}
    | {"noscript", "script", "select", "style", "svg", "template", "textarea", "video"}
)
_BLOCKS: Final = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "details", "dialog", "div", "dl"}
    | {"fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "main", "ol", "p", "pre"}
    | {"section", "summary", "table", "tbody", "tfoot", "thead", "ul"}
)
_LINES: Final = frozenset({"br", "dd", "dt", "li", "tr"})
_CELLS: Final = frozenset({"td", "th"})
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_CELL_END = "\x1f"
_BLANKS = re.compile(r"[ \t\r\n\f]+")


def read(data: bytes, name: str) -> Extracted:
    """The pieces of a page; `name` stands in for a missing title."""
    try:
        decoded = decode_page(data)
    except UndecodableError as error:
        raise ExtractionError(Code.UNDECODABLE, str(error)) from error
    guessed = Finding(Code.OTHER_ENCODING, "read as Windows-1252: it is not UTF-8 and names no encoding")
    findings = (guessed,) if decoded.encoding == FALL_BACK else ()
    return Extracted(tuple(pieces_of_html(decoded.text, name)), findings)


def pieces_of_html(markup: str, name: str) -> Iterator[Piece]:
    """The pieces of HTML text."""
    tree = LexborHTMLParser(plain_newlines(clean(markup)))
    title = cut_title(_title(tree)) or name
    page = _Page()
    if tree.body is not None:
        page.read(tree.body)
    page.end_line()
    for section in cut_at_headings(page.lines, page.headings):
        yield section_piece(section, title)


def _row(text: str) -> str:
    """One line of the cells of a row, or of text that is none; empty cells at its ends are left out."""
    cells = [_BLANKS.sub(" ", cell).strip() for cell in text.split(_CELL_END)]
    filled = [place for place, cell in enumerate(cells) if cell]
    return " | ".join(cells[filled[0] : filled[-1] + 1]) if filled else ""


def _title(tree: LexborHTMLParser) -> str:
    found = tree.css_first("title")
    return found.text() if found is not None else ""


@dataclass
class _Page:
    """Lines and headings met so far, on a walk without recursion: pages may be nested thousands of elements deep."""

    lines: list[str] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    _line: list[str] = field(default_factory=list)
    _mark: str = ""
    """Of a list item, before its first line."""
    _gap: bool = False
    """A blank line is due before the next text."""
    _verbatim: int = 0
    _at_cell_start: bool = False

    def read(self, root: LexborNode) -> None:
        """Walk the tree below `root`."""
        node: LexborNode | None = root
        path: list[LexborNode] = []
        while node is not None:
            below = self._enter(node) and node.first_child
            if below:
                path.append(node)
                node = below
                continue
            self._leave(node)
            while node.next is None and path:
                node = path.pop()
                self._leave(node)
            node = node.next if path else None

    def end_line(self) -> None:
        """Close the current line, if it has text."""
        text = "".join(self._line)
        self._line.clear()
        line = text.replace(_CELL_END, " ").rstrip() if self._verbatim else _row(text)
        if line:
            self.lines.extend(f"{self._mark}{line}".split("\n"))
            self._mark = ""

    def _enter(self, node: LexborNode) -> bool:
        """Open an element or take a text; False: what is below it is no text."""
        tag = node.tag or ""
        if node.is_text_node:
            self._take(node.text_content or "")
        elif tag == "img":
            self._take(node.attributes.get("alt") or "")
        elif tag in _CELLS:
            self._at_cell_start = True
        elif tag in _LINES or tag in _BLOCKS or tag in _HEADINGS:
            self._open(tag)
        return tag not in _WITHOUT_TEXT

    def _open(self, tag: str) -> None:
        if tag in _LINES:
            self.end_line()
            self._mark = "- " if tag == "li" else self._mark
        elif not self._at_cell_start:
            self._gap = True
        if tag == "pre" or tag in _HEADINGS:
            self._start_line()
            self._verbatim += tag == "pre"

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in _HEADINGS:
            self._end_heading(_HEADINGS[tag])
        elif tag in _CELLS:
            self._gap = self._gap and self._at_cell_start
            self._at_cell_start = False
            self._line.append(_CELL_END)
        elif tag in _LINES or tag == "pre":
            self.end_line()
            self._mark = "" if tag == "li" else self._mark
            self._verbatim -= tag == "pre"
        self._gap = self._gap or tag in _BLOCKS

    def _take(self, text: str) -> None:
        if text.strip():
            self._start_line()
            self._at_cell_start = False
        self._line.append(text.replace(_CELL_END, " "))

    def _start_line(self) -> None:
        """Part the next text from what came before it, where that is due."""
        if self._gap:
            self.end_line()
            self.lines.extend([""] if self.lines and self.lines[-1] else [])
            self._gap = False

    def _end_heading(self, level: int) -> None:
        start = len(self.lines)
        self.end_line()
        title = " ".join(" ".join(self.lines[start:]).split())
        if title:
            self.headings.append(Heading(start, level, title, len(self.lines) - start))
        self._gap = True
