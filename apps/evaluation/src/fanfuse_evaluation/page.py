"""The report as one HTML page: tables, pictures, and how it was made. In: figures and their summary. Out: text.

It holds no script and loads nothing: it can be mailed, and opened years later.
"""

from collections.abc import Iterable, Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

from fanfuse_evaluation.drawing import COLOURS, LOOK
from fanfuse_evaluation.figures import CollectionFigures
from fanfuse_evaluation.measures import MEASURES, NDCG
from fanfuse_evaluation.plots import draw
from fanfuse_evaluation.report import cells, header, remarks, sections
from fanfuse_evaluation.summary import Line, Summary

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--faint); white-space: nowrap }
th { white-space: normal; vertical-align: bottom; font-weight: 600 }
th:first-child, td:first-child { text-align: left }
tr.answer td, tr.answer th { font-weight: 600 }
.plot { width: 100%; height: auto; margin: 1rem 0 0 }
"""


def html(figures: Sequence[CollectionFigures], summary: Summary, title: str, how: Sequence[str]) -> str:
    """The whole page; `how`: lines that say how it was made."""
    page = Element("html", {"lang": "en"})
    head = SubElement(page, "head")
    SubElement(head, "meta", {"charset": "utf-8"})
    SubElement(head, "meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"})
    SubElement(head, "title").text = title
    SubElement(head, "style").text = COLOURS + _STYLE + LOOK
    body = SubElement(page, "body")
    SubElement(body, "h1").text = title
    _list(body, (*how, *remarks(figures, summary)))
    for heading, lines in sections(figures, summary):
        SubElement(body, "h2").text = heading
        _table(body, header(summary), lines)
        body.append(draw(lines, NDCG, f"{NDCG}, mean and 95 % interval"))
    SubElement(body, "p").text = f"{', '.join(MEASURES)}: as trec_eval computes them."
    return f"<!doctype html>\n{tostring(page, encoding='unicode', method='html')}\n"


def _list(parent: Element, texts: Iterable[str]) -> None:
    found = SubElement(parent, "ul")
    for text in texts:
        SubElement(found, "li").text = text


def _table(parent: Element, names: Sequence[str], lines: Sequence[Line]) -> None:
    table = SubElement(SubElement(parent, "div", {"class": "scroll"}), "table")
    head = SubElement(SubElement(table, "thead"), "tr")
    for name in names:
        SubElement(head, "th", {"scope": "col"}).text = name
    body = SubElement(table, "tbody")
    for line in lines:
        row = SubElement(body, "tr", {"class": line.role.value})
        for text in cells(line):
            SubElement(row, "td").text = text
