"""Pictures of a summary: means with their intervals, one row per maker of lists. In: lines. Out: SVG elements.

Nothing is loaded from anywhere, and colours follow the page (light or dark).
"""

import math
from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

from fanfuse_evaluation.bootstrap import Interval
from fanfuse_evaluation.summary import Line

COLOURS: Final = """
:root { color-scheme: light dark; --ink: #1d2329; --faint: #d9dee3; --soft: #5d6873; --paper: #fff;
  --lane: #3b6ea5; --answer: #b3261e; --policy: #2e7d4f; --run: #8a5a00 }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --faint: #39424b; --soft: #9aa5b0; --paper: #14181c;
  --lane: #7fb0e4; --answer: #f28b82; --policy: #81c995; --run: #e0b050 } }
"""
LOOK: Final = """
.plot { font: 13px system-ui, sans-serif }
.plot text { fill: var(--ink) } .plot .tick { fill: var(--soft); text-anchor: middle; font-size: 12px }
.plot .heading { font-weight: 600 } .plot .said { fill: var(--soft); font-variant-numeric: tabular-nums }
.plot .grid { stroke: var(--faint) } .plot .interval { stroke-width: 2.5; stroke-linecap: round }
.lane .interval { stroke: var(--lane) } .lane circle { fill: var(--lane) }
.answer .interval { stroke: var(--answer) } .answer circle { fill: var(--answer) } .answer .name { font-weight: 600 }
.policy .interval { stroke: var(--policy) } .policy circle { fill: var(--policy) }
.run .interval { stroke: var(--run) } .run circle { fill: var(--run) }
"""
_ROW: Final = 26
_TOP: Final = 34
_PLOT: Final = 420
_NAMES: Final = 280
_SAID: Final = 200
_MARGIN: Final = 14
_TICKS: Final = 5


def draw(lines: Sequence[Line], measure: str, title: str) -> Element:
    """Means of a measure: a dot each, and a line from the low to the high end of its interval."""
    shown = [(line, line.means[measure]) for line in lines]
    low, high = _axis([one for _, one in shown])
    height = _TOP + _ROW * len(shown) + 26
    root = Element("svg", {"viewBox": f"0 0 {_NAMES + _PLOT + _SAID} {height}", "role": "img", "class": "plot"})
    SubElement(root, "title").text = title
    for at in _ticks(low, high):
        x = _x(at, low, high)
        _line(root, (x, _TOP - 8), (x, height - 24), "grid")
        _text(root, x, height - 8, f"{at:.{_digits(low, high)}f}", "tick")
    _text(root, 0, 16, title, "heading")
    for number, (line, one) in enumerate(shown):
        _draw_row(root, _TOP + _ROW * number + _ROW / 2, line, one, (low, high))
    return root


def picture(plot: Element) -> str:
    """A plot as a file of its own."""
    width, height = plot.attrib["viewBox"].split()[2:]
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height} | plot.attrib)
    SubElement(root, "style").text = COLOURS + LOOK
    SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "var(--paper)"})
    root.extend(plot)
    return tostring(root, encoding="unicode") + "\n"


def _draw_row(root: Element, y: float, line: Line, one: Interval, ends: tuple[float, float]) -> None:
    group = SubElement(root, "g", {"class": line.role.value})
    SubElement(group, "title").text = f"{line.name}: {one.mean:.4f}, 95 % interval {one.low:.4f} to {one.high:.4f}"
    _text(group, 0, y + 4, line.name, "name")
    _line(group, (_x(one.low, *ends), y), (_x(one.high, *ends), y), "interval")
    SubElement(group, "circle", {"cx": f"{_x(one.mean, *ends):.1f}", "cy": f"{y:.1f}", "r": "5"})
    said = f"{one.mean:.4f}  ({one.low:.3f} to {one.high:.3f})"
    _text(group, _NAMES + _PLOT + _MARGIN, y + 4, said, "said")


def _axis(shown: Sequence[Interval]) -> tuple[float, float]:
    """Ends of the axis: what is shown, with some air; never of no length."""
    low, high = min(one.low for one in shown), max(one.high for one in shown)
    air = 0.05 * (high - low) or 0.05
    return max(0.0, low - air), high + air


def _step(low: float, high: float) -> float:
    """1, 2 or 5 times a power of ten."""
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def _digits(low: float, high: float) -> int:
    return max(1, -math.floor(math.log10(_step(low, high))))


def _ticks(low: float, high: float) -> Iterator[float]:
    step = _step(low, high)
    for number in range(math.ceil(low / step), math.floor(high / step) + 1):
        yield number * step


def _x(value: float, low: float, high: float) -> float:
    return _NAMES + _PLOT * (value - low) / (high - low)


def _line(parent: Element, start: tuple[float, float], end: tuple[float, float], name: str) -> None:
    ends = {"x1": f"{start[0]:.1f}", "y1": f"{start[1]:.1f}", "x2": f"{end[0]:.1f}", "y2": f"{end[1]:.1f}"}
    SubElement(parent, "line", ends | {"class": name})


def _text(parent: Element, x: float, y: float, text: str, name: str) -> None:
    SubElement(parent, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "class": name}).text = text
