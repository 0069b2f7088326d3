"""The picture of a timeline: an SVG document of its own, with no script, font or link outside it.

In: a title and bars. Out: SVG text. Names and times have columns of their own, so that nothing can overlap a bar.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from fanfuse_all_in_one.timeline import Bar

_ROW: Final = 24
_BAR: Final = 14
_PLOT: Final = 560
_TOP: Final = 64
_MARGIN: Final = 16
_CHARACTER: Final = 7.3
"""Width of a monospaced character at 12 px, with some air."""
_MOST_CHARACTERS: Final = 48
_TICKS: Final = 7
_MIN_BAR: Final = 2.0
_GOOD: Final = {"done": "#3b6ea5", "answered": "#2e8b57", "complete": "#2e8b57", "empty": "#8fbc8f", "cut": "#d9a400"}
_LOST: Final = "#c0392b"
_INK: Final = "#222222"
_FAINT: Final = "#dddddd"


def draw_timeline(title: str, bars: Sequence[Bar]) -> str:
    """The picture; every bar has a tooltip with its times and note."""
    end_ms = max([0.001, *(bar.to_ms for bar in bars if bar.to_ms is not None)])
    names = _MARGIN + _CHARACTER * max([len(_cut(bar.name)) for bar in bars], default=0) + _MARGIN
    said = _CHARACTER * max([len(_said(bar)) for bar in bars], default=0)
    width = max(names + _PLOT + _MARGIN + said + _MARGIN, 2 * _MARGIN + _CHARACTER * 1.2 * len(title))
    height = _TOP + _ROW * len(bars) + 3 * _MARGIN
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width:.0f} {height}",
            "width": f"{width:.0f}",
            "height": f"{height}",
            "font-family": "DejaVu Sans Mono, Menlo, Consolas, monospace",
            "font-size": "12",
            "fill": _INK,
        },
    )
    SubElement(root, "title").text = title
    SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    _text(root, _MARGIN, 26, title, **{"font-size": "14", "font-weight": "bold"})
    _axis(root, names, end_ms, len(bars))
    for number, bar in enumerate(bars):
        _row(root, names, end_ms, number, bar)
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def _axis(root: Element, left: float, end_ms: float, rows: int) -> None:
    bottom = _TOP + _ROW * rows
    for at_ms in _ticks(end_ms):
        x = left + _PLOT * at_ms / end_ms
        line = {"x1": f"{x:.1f}", "x2": f"{x:.1f}", "y1": str(_TOP - 6), "y2": str(bottom), "stroke": _FAINT}
        SubElement(root, "line", line)
        _text(root, x, _TOP - 12, f"{at_ms:g}", **{"text-anchor": "middle"})
    about = "ms since the broker stored the query"
    _text(root, left + _PLOT / 2, bottom + 24, about, **{"text-anchor": "middle", "fill": "#666666"})


def _ticks(end_ms: float) -> Iterator[float]:
    """From 0 in steps of 1, 2 or 5 times a power of ten."""
    rough = end_ms / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    for number in range(math.floor(end_ms / step + 1e-9) + 1):
        yield number * step


def _row(root: Element, left: float, end_ms: float, number: int, bar: Bar) -> None:
    y = _TOP + _ROW * number
    group = SubElement(root, "g")
    SubElement(group, "title").text = " · ".join(part for part in (bar.name, _said(bar), bar.note) if part)
    _text(group, _MARGIN, y + 16, _cut(bar.name), **({} if bar.row == "lane" else {"font-weight": "bold"}))
    if bar.from_ms is not None and bar.to_ms is not None:
        x = left + _PLOT * bar.from_ms / end_ms
        length = max(_MIN_BAR, _PLOT * (bar.to_ms - bar.from_ms) / end_ms)
        colour = _GOOD.get(bar.outcome, _LOST)
        look = {"fill": colour} if bar.exact else {"fill": colour, "fill-opacity": "0.35", "stroke-dasharray": "4 3"}
        box = {"x": f"{x:.1f}", "y": str(y + (_ROW - _BAR) // 2), "width": f"{length:.1f}", "height": str(_BAR)}
        SubElement(group, "rect", box | look | {"stroke": colour, "rx": "2"})
    _text(group, left + _PLOT + _MARGIN, y + 16, _said(bar))


def _said(bar: Bar) -> str:
    if bar.from_ms is None or bar.to_ms is None:
        return bar.outcome
    about = "" if bar.exact else "≤ "
    return f"{bar.from_ms:.1f} to {about}{bar.to_ms:.1f} ms{'' if bar.outcome == 'done' else f'  {bar.outcome}'}"


def _cut(name: str) -> str:
    return name if len(name) <= _MOST_CHARACTERS else f"{name[: _MOST_CHARACTERS - 1]}…"


def _text(parent: Element, x: float, y: float, text: str, **look: str) -> None:
    SubElement(parent, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}"} | look).text = text
