"""Pictures of a summary: means with their intervals, one row per maker of lists. In: lines. Out: SVG elements.

Nothing is loaded from anywhere, and colours follow the page (light or dark).
"""

import math
from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement

from fanfuse_evaluation import drawing
from fanfuse_evaluation.bootstrap import Interval
from fanfuse_evaluation.summary import Line

_ROW: Final = 26
_TOP: Final = 34
_PLOT: Final = 420
_NAMES: Final = 280
_SAID: Final = 200
_MARGIN: Final = 14


def draw(lines: Sequence[Line], measure: str, title: str) -> Element:
    """Means of a measure: a dot each, and a line from the low to the high end of its interval."""
    shown = [(line, line.means[measure]) for line in lines]
    low, high = _axis([one for _, one in shown])
    height = _TOP + _ROW * len(shown) + 26
    root = drawing.canvas(_NAMES + _PLOT + _SAID, height, title)
    for at in drawing.ticks(low, high):
        x = _x(at, low, high)
        drawing.line(root, (x, _TOP - 8), (x, height - 24), "grid")
        drawing.text(root, x, height - 8, f"{at:.{_digits(low, high)}f}", "tick")
    drawing.text(root, 0, 16, title, "heading")
    for number, (line, one) in enumerate(shown):
        _draw_row(root, _TOP + _ROW * number + _ROW / 2, line, one, (low, high))
    return root


def _draw_row(root: Element, y: float, line: Line, one: Interval, ends: tuple[float, float]) -> None:
    group = SubElement(root, "g", {"class": line.role.value})
    SubElement(group, "title").text = f"{line.name}: {one.mean:.4f}, 95 % interval {one.low:.4f} to {one.high:.4f}"
    drawing.text(group, 0, y + 4, line.name, "name")
    drawing.line(group, (_x(one.low, *ends), y), (_x(one.high, *ends), y), "interval")
    drawing.dot(group, _x(one.mean, *ends), y)
    said = f"{one.mean:.4f}  ({one.low:.3f} to {one.high:.3f})"
    drawing.text(group, _NAMES + _PLOT + _MARGIN, y + 4, said, "said")


def _axis(shown: Sequence[Interval]) -> tuple[float, float]:
    """Ends of the axis: what is shown, with some air; never of no length."""
    low, high = min(one.low for one in shown), max(one.high for one in shown)
    air = 0.05 * (high - low) or 0.05
    return max(0.0, low - air), high + air


def _digits(low: float, high: float) -> int:
    return max(1, -math.floor(math.log10(drawing.step(low, high))))


def _x(value: float, low: float, high: float) -> float:
    return _NAMES + _PLOT * (value - low) / (high - low)
